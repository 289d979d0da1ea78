"""Wrap JSON data so that every string, number and container in it stores the field that it came from."""

from __future__ import annotations

from typing import Any

from renderers.errors import MessageError
from renderers.templating.runs import HasOwner, Owner, Run, owner_of
from renderers.templating.traced_str import TracedStr, plain


class TracedDict(HasOwner, dict[Any, Any]):
    """A dict with an owner. `str()` returns a traced string."""

    __slots__ = ("_owner", "_size")

    def __str__(self) -> str:
        return _traced(dict.__repr__(self), owner_of(self))


class TracedList(HasOwner, list[Any]):
    """A list with an owner. `str()` returns a traced string."""

    __slots__ = ("_owner", "_size")

    def __str__(self) -> str:
        return _traced(list.__repr__(self), owner_of(self))


class TracedInt(HasOwner, int):
    """An int with an owner. `str()` returns a traced string."""

    def __str__(self) -> str:
        return _traced(int.__repr__(self), owner_of(self))


class TracedFloat(HasOwner, float):
    """A float with an owner. `str()` returns a traced string."""

    def __str__(self) -> str:
        return _traced(float.__repr__(self), owner_of(self))


def trace_value(value: Any, owner: Owner) -> Any:
    """Wrap JSON data recursively. Booleans and None cannot be subclassed and are returned unchanged.

    Values of subclasses are copied to the base type without a call of their methods, so that templates cannot reach
    these methods either.

    Raises:
        MessageError: The value is not JSON data.

    >>> message = trace_value({"content": "Hi"}, Owner(0, ()))
    >>> message["content"]._runs[0].owner.path
    ('content',)
    """
    wrapped: Any
    if isinstance(value, str):
        return _traced(plain(value), owner)
    if value is None or isinstance(value, bool):
        return value
    message, path = owner
    if isinstance(value, dict):
        wrapped = TracedDict()
        for key, item in dict.items(value):
            if not isinstance(key, str):
                raise _message_error(f"has the key {key!r}, but JSON keys must be strings", owner)
            name = plain(key)
            inner = Owner(message, (*path, name))
            value_is_text = type(item) is str
            wrapped[_traced(name, inner)] = _traced(item, inner) if value_is_text else trace_value(item, inner)
    elif isinstance(value, list | tuple):
        items = list.__iter__(value) if isinstance(value, list) else tuple.__iter__(value)
        wrapped = TracedList([trace_value(item, Owner(message, (*path, index))) for index, item in enumerate(items)])
    elif isinstance(value, int):
        wrapped = TracedInt(int.__int__(value))
    elif isinstance(value, float):
        wrapped = TracedFloat(float.__float__(value))
    else:
        raise _message_error(f"is a {type(value).__name__}, but chat templates accept only JSON data", owner)
    wrapped._owner = owner
    return wrapped


def message_index(value: object) -> int | None:
    """Return the index of the message that a value is; None if it is not a message."""
    if not isinstance(value, TracedDict) or owner_of(value).path or owner_of(value).message < 0:
        return None
    return owner_of(value).message


def _message_error(fault: str, owner: Owner) -> MessageError:
    return MessageError(fault, message=owner.message if owner.message >= 0 else None, path=owner.path)


def _traced(text: str, owner: Owner) -> TracedStr:
    return TracedStr(text, (Run(0, len(text), owner),))
