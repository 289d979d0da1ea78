"""Wrap JSON data, so that every text and number in it has an owner.

Data is wrapped lazily. The contents of a `LazyDict` or `LazyList` are raw until `open_data` wraps them in place.
"""

from __future__ import annotations

from typing import Any

from renderers.core.native import COMPILED, native
from renderers.core.plain_json import is_plain
from renderers.core.spans import Path
from renderers.errors import MessageError
from renderers.templating.texts import field_text, plain
from renderers.templating.values import (
    DataDict,
    DataList,
    FieldFloat,
    FieldInt,
    FieldText,
    LazyDict,
    LazyList,
    MessageList,
    Owner,
)

_new_text = str.__new__


def wrap_message(message: dict[str, Any], index: int) -> DataDict:
    """Wrap a message. Its fields are wrapped at once, and containers in them when they are read."""
    owner = (index, ())
    if message.__class__ is not dict or not is_plain(message):
        fields = [(_plain_key(key, owner), value) for key, value in dict.items(message)]
        wrapped = DataDict([(key, wrap(value, (index, (key,)))) for key, value in fields])
        wrapped._owner = owner
        return wrapped
    wrapped = DataDict(message)
    wrapped._owner = owner
    wrap_contents(wrapped, index, (), _TYPES)
    return wrapped


def wrap_plain_messages(messages: list[Any], wrapped: MessageList) -> None:
    """Append messages of exact types from the number of wrapped ones on, as `wrap_message` returns them.

    It ends at the first message of another type. Without the C extension, it leaves all of them to `wrap_message`.
    """
    if COMPILED:
        native.wrap_messages(messages, wrapped, DataDict, _TYPES)


def wrap(value: Any, owner: Owner) -> Any:
    """Wrap JSON data. Booleans and None stay as they are.

    Values of subclasses are copied to the base type without a call of their methods.

    Raises:
        MessageError: The value is not JSON data.

    >>> open_data(wrap({"content": "Hi"}, (0, ())))["content"]._owner
    (0, ('content',))
    """
    if is_plain(value):
        return _wrap_plain(value, owner)
    if isinstance(value, str):
        return field_text(plain(value), owner)
    if isinstance(value, int):
        return _wrap_plain(int.__int__(value), owner)
    if isinstance(value, float):
        return _wrap_plain(float.__float__(value), owner)
    message, path = owner
    wrapped: Any
    if isinstance(value, dict):
        wrapped = DataDict()
        for key, item in dict.items(value):
            name = _plain_key(key, owner)
            wrapped[name] = wrap(item, (message, (*path, name)))
    elif isinstance(value, list | tuple):
        items = list.__iter__(value) if isinstance(value, list) else tuple.__iter__(value)
        wrapped = DataList([wrap(item, (message, (*path, index))) for index, item in enumerate(items)])
    else:
        raise _message_error(f"is a {type(value).__name__}, but chat templates accept only JSON data", owner)
    wrapped._owner = owner
    return wrapped


def _wrap_plain(value: Any, owner: Owner) -> Any:
    kind = value.__class__
    wrapped: Any
    if kind is str:
        return field_text(value, owner)
    if kind is dict:
        wrapped = LazyDict(value)
    elif kind is list:
        wrapped = LazyList(value)
    elif kind is int:
        wrapped = FieldInt(value)
    elif kind is float:
        wrapped = FieldFloat(value)
    else:
        return value
    wrapped._owner = owner
    return wrapped


def _wrap_contents(container: Any, message: int, path: Path, _: tuple[type, ...]) -> None:
    """Wrap the values of a dict, or the items of a list, in place. Those that are wrapped stay as they are."""
    for key, item in container.items() if isinstance(container, dict) else enumerate(container):
        if item.__class__ is str:
            container[key] = text = _new_text(FieldText, item)
            text._owner = (message, (*path, key))
        elif item is not None:
            container[key] = _wrap_plain(item, (message, (*path, key)))


_TYPES = (FieldText, FieldInt, FieldFloat, LazyDict, LazyList)
wrap_contents = native.wrap_contents if COMPILED else _wrap_contents


def open_data(value: Any) -> Any:
    """Wrap the contents of a lazy container in place, and return it. Other values are returned unchanged."""
    kind = value.__class__
    if kind is LazyDict or kind is LazyList:
        message, path = value._owner
        wrap_contents(value, message, path, _TYPES)
        value.__class__ = DataDict if kind is LazyDict else DataList
    return value


def key_text(data: DataDict, key: str) -> FieldText:
    """Return a key of a dict as a text of its field."""
    message, path = data._owner
    return field_text(key, (message, (*path, key)))


def _plain_key(key: Any, owner: Owner) -> str:
    if not isinstance(key, str):
        raise _message_error(f"has the key {key!r}, but JSON keys must be strings", owner)
    return plain(key)


def _message_error(fault: str, owner: Owner) -> MessageError:
    return MessageError(fault, message=owner[0] if owner[0] >= 0 else None, path=owner[1])


def message_index(value: Any) -> int | None:
    """Return the index of the message that a value is; None if it is not a message."""
    if value.__class__ is not DataDict or value._owner[1] or value._owner[0] < 0:
        return None
    index: int = value._owner[0]
    return index
