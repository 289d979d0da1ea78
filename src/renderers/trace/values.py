"""Data for a template, wrapped so that every string, number and container in it remembers its field."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from markupsafe import Markup

from renderers.errors import MessageError
from renderers.trace.text import (
    NOBODY,
    Owner,
    Run,
    Runs,
    TracedMarkup,
    TracedStr,
    Unsettled,
    coarse_owner,
    plain,
    runs_of,
)

__all__ = [
    "TracedDict",
    "TracedFloat",
    "TracedInt",
    "TracedList",
    "blur",
    "message_of",
    "owner_runs",
    "owners_in",
    "trace_value",
    "whole_message",
]


class TracedDict(dict[Any, Any]):
    """A dict that remembers its field, and is written as a traced string."""

    __slots__ = ("_owner",)
    _owner: Owner

    def __str__(self) -> str:
        return _written(dict.__repr__(self), _owner_of(self))


class TracedList(list[Any]):
    """A list that remembers its field, and is written as a traced string."""

    __slots__ = ("_owner",)
    _owner: Owner

    def __str__(self) -> str:
        return _written(list.__repr__(self), _owner_of(self))


class TracedInt(int):
    """An int that remembers its field, and is written as a traced string."""

    _owner: Owner

    def __str__(self) -> str:
        return _written(int.__repr__(self), _owner_of(self))


class TracedFloat(float):
    """A float that remembers its field, and is written as a traced string."""

    _owner: Owner

    def __str__(self) -> str:
        return _written(float.__repr__(self), _owner_of(self))


def trace_value(value: Any, owner: Owner) -> Any:
    """Wraps JSON data and all that is in it. Booleans and None cannot be wrapped, and stay as they are.

    Subclasses are taken for what they are made of: none of their methods is asked, and none reaches a template.

    >>> message = trace_value({"content": "Hi"}, Owner(0, ()))
    >>> runs_of(message["content"])[0].owner.path
    ('content',)
    """
    wrapped: Any
    if isinstance(value, str):
        return _written(plain(value), owner)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, dict):
        wrapped = TracedDict()
        for key, item in dict.items(value):
            inner = _below(owner, key)
            wrapped[_written(plain(key), inner) if isinstance(key, str) else key] = trace_value(item, inner)
    elif isinstance(value, list | tuple):
        items = list.__iter__(value) if isinstance(value, list) else tuple.__iter__(value)
        wrapped = TracedList(trace_value(item, _below(owner, at)) for at, item in enumerate(items))
    elif isinstance(value, int):
        wrapped = TracedInt(int.__int__(value))
    elif isinstance(value, float):
        wrapped = TracedFloat(float.__float__(value))
    else:
        raise MessageError(
            f"is a {type(value).__name__}, and a template takes JSON data",
            message=owner.message if owner.message >= 0 else None,
            path=owner.path,
        )
    wrapped._owner = owner
    return wrapped


def owner_runs(value: object, size: int) -> Runs:
    """Returns the runs of a text that was made of a value: one over all of it where the value is of one message."""
    owner = coarse_owner(owners_in(value))
    return () if owner is None else (Run(0, size, owner),)


def blur(result: Any, values: tuple[Any, ...]) -> Any:
    """Gives a plain text that was made of values the smallest owner that they have in common; the rest as it is."""
    if type(result) is str:
        return TracedStr(result, owner_runs(values, len(result)))
    if type(result) is Markup:
        return TracedMarkup(plain(result), owner_runs(values, len(result)))
    return result


def owners_in(value: object) -> Iterator[Owner | Unsettled]:
    """Yields whatever owns a value or a part of it, once for each part, however often it is there."""
    seen: set[int] = set()
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, TracedStr | TracedMarkup):
            yield from (run.owner for run in runs_of(part))
        elif isinstance(part, TracedDict | TracedList | TracedInt | TracedFloat):
            yield _owner_of(part)
        elif isinstance(part, dict | list | tuple) and id(part) not in seen:
            seen.add(id(part))
            waiting.extend((*part.keys(), *part.values()) if isinstance(part, dict) else part)


def message_of(value: object) -> int | None:
    """Returns the message that a value is, or is a part of, or was made from; None for none or several.

    >>> message_of(("city", trace_value("Paris", Owner(2, ("tool_calls",)))))
    2
    """
    found: int | None = None
    for owner in owners_in(value):
        if isinstance(owner, Owner) and owner.message >= 0:
            if found is not None and owner.message != found:
                return None
            found = owner.message
    return found


def whole_message(value: object) -> int | None:
    """Returns the number of a message, where the value is one as a whole."""
    if not isinstance(value, TracedDict) or _owner_of(value).path or _owner_of(value).message < 0:
        return None
    return _owner_of(value).message


def _owner_of(value: TracedDict | TracedList | TracedInt | TracedFloat) -> Owner:
    """Returns the owner; nobody for what a template made with a method of the type, such as `fromkeys`."""
    return getattr(value, "_owner", NOBODY)


def _written(text: str, owner: Owner) -> TracedStr:
    return TracedStr(text, (Run(0, len(text), owner),))


def _below(owner: Owner, key: str | int) -> Owner:
    return Owner(owner.message, (*owner.path, plain(key) if isinstance(key, str) else key))
