"""Data for a template, wrapped so that every string, number and container in it remembers its field."""

from __future__ import annotations

from typing import Any

from renderers.trace.text import Owner, Run, Runs, TracedMarkup, TracedStr, runs_of

__all__ = ["TracedDict", "TracedFloat", "TracedInt", "TracedList", "owner_runs", "trace_value"]


class TracedDict(dict[Any, Any]):
    """A dict that remembers its field."""

    __slots__ = ("_owner",)
    _owner: Owner


class TracedList(list[Any]):
    """A list that remembers its field."""

    __slots__ = ("_owner",)
    _owner: Owner


class TracedInt(int):
    """An int that remembers its field, and is written as a traced string."""

    _owner: Owner

    def __str__(self) -> str:
        return _written(int.__repr__(self), self._owner)


class TracedFloat(float):
    """A float that remembers its field, and is written as a traced string."""

    _owner: Owner

    def __str__(self) -> str:
        return _written(float.__repr__(self), self._owner)


def trace_value(value: Any, owner: Owner) -> Any:
    """Wraps JSON data and all that is in it. Booleans and None cannot be wrapped, and stay as they are.

    >>> message = trace_value({"content": "Hi"}, Owner(0, ()))
    >>> runs_of(message["content"])[0].owner.path
    ('content',)
    """
    kind = type(value)
    if kind is str:
        return _written(value, owner)
    if value is None or kind is bool:
        return value
    wrapped: Any
    if kind is dict:
        wrapped = TracedDict((_key(key, owner), trace_value(item, _below(owner, key))) for key, item in value.items())
    elif kind in (list, tuple):
        wrapped = TracedList(trace_value(item, _below(owner, at)) for at, item in enumerate(value))
    elif kind is int:
        wrapped = TracedInt(value)
    elif kind is float:
        wrapped = TracedFloat(value)
    else:
        raise TypeError(f"a template takes JSON data, and {'.'.join(map(str, owner.path))} is a {kind.__name__}")
    wrapped._owner = owner
    return wrapped


def owner_runs(value: object, size: int) -> Runs:
    """Returns the runs of a text that was made of a value: one over all of it where the value has one owner."""
    if isinstance(value, TracedDict | TracedList | TracedInt | TracedFloat):
        return (Run(0, size, value._owner),)
    owners = _owners_in(value)
    return tuple(Run(0, size, owner) for owner in owners) if len(owners) == 1 else ()


def _owners_in(value: object) -> set[Owner]:
    if isinstance(value, TracedStr | TracedMarkup):
        return {run.owner for run in runs_of(value)}
    if isinstance(value, TracedDict | TracedList | TracedInt | TracedFloat):
        return {value._owner}
    if isinstance(value, dict):
        return {owner for pair in value.items() for part in pair for owner in _owners_in(part)}
    if isinstance(value, list | tuple):
        return {owner for part in value for owner in _owners_in(part)}
    return set()


def _written(text: str, owner: Owner) -> TracedStr:
    return TracedStr(text, (Run(0, len(text), owner),))


def _key(key: Any, owner: Owner) -> Any:
    return _written(key, _below(owner, key)) if type(key) is str else key


def _below(owner: Owner, key: str | int) -> Owner:
    return Owner(owner.message, (*owner.path, key))
