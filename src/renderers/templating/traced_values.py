"""Data for a template, wrapped so that every string, number and container in it remembers its field."""

from __future__ import annotations

from typing import Any

from renderers.errors import MessageError
from renderers.templating.runs import HasOwner, Owner, Run, owner_of
from renderers.templating.traced_str import TracedStr, plain


class TracedDict(HasOwner, dict[Any, Any]):
    """A dict that remembers its field, and is written as a traced string."""

    __slots__ = ("_owner", "_size")

    def __str__(self) -> str:
        return _written(dict.__repr__(self), owner_of(self))


class TracedList(HasOwner, list[Any]):
    """A list that remembers its field, and is written as a traced string."""

    __slots__ = ("_owner", "_size")

    def __str__(self) -> str:
        return _written(list.__repr__(self), owner_of(self))


class TracedInt(HasOwner, int):
    """An int that remembers its field, and is written as a traced string."""

    def __str__(self) -> str:
        return _written(int.__repr__(self), owner_of(self))


class TracedFloat(HasOwner, float):
    """A float that remembers its field, and is written as a traced string."""

    def __str__(self) -> str:
        return _written(float.__repr__(self), owner_of(self))


def trace_value(value: Any, owner: Owner) -> Any:
    """Wraps JSON data and all that is in it. Booleans and None cannot be wrapped, and stay as they are.

    Subclasses are taken for what they are made of: none of their methods is asked, and none reaches a template.

    >>> message = trace_value({"content": "Hi"}, Owner(0, ()))
    >>> message["content"]._runs[0].owner.path
    ('content',)
    """
    wrapped: Any
    if isinstance(value, str):
        return _written(plain(value), owner)
    if value is None or isinstance(value, bool):
        return value
    message, path = owner
    if isinstance(value, dict):
        wrapped = TracedDict()
        for key, item in dict.items(value):
            if not isinstance(key, str):
                raise _fault(f"has the key {key!r}, and keys of JSON data are strings", owner)
            name = plain(key)
            inner = Owner(message, (*path, name))
            text = type(item) is str
            wrapped[_written(name, inner)] = _written(item, inner) if text else trace_value(item, inner)
    elif isinstance(value, list | tuple):
        items = list.__iter__(value) if isinstance(value, list) else tuple.__iter__(value)
        wrapped = TracedList([trace_value(item, Owner(message, (*path, at))) for at, item in enumerate(items)])
    elif isinstance(value, int):
        wrapped = TracedInt(int.__int__(value))
    elif isinstance(value, float):
        wrapped = TracedFloat(float.__float__(value))
    else:
        raise _fault(f"is a {type(value).__name__}, and a template takes JSON data", owner)
    wrapped._owner = owner
    return wrapped


def message_index(value: object) -> int | None:
    """Returns the number of a message, where the value is one as a whole."""
    if not isinstance(value, TracedDict) or owner_of(value).path or owner_of(value).message < 0:
        return None
    return owner_of(value).message


def _fault(fault: str, owner: Owner) -> MessageError:
    return MessageError(fault, message=owner.message if owner.message >= 0 else None, path=owner.path)


def _written(text: str, owner: Owner) -> TracedStr:
    return TracedStr(text, (Run(0, len(text), owner),))
