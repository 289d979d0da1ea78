"""Read dataclasses, named tuples and enums from their JSON form, by the annotations of their fields."""

from __future__ import annotations

import dataclasses
import enum
import functools
import types
import typing
from typing import Any, TypeVar

from renderers.core.text import describe_type

T = TypeVar("T")


def read_typed(kind: type[T], value: Any) -> T:
    """Return an object of a class from JSON data, such as that of `dataclasses.asdict`.

    Fields that are missing have their defaults. Values of JSON types are returned as they are.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: The data does not fit the class.

    >>> from renderers.core.completions import ParsedPart, Region
    >>> read_typed(ParsedPart, ["content", 0, 3]).region is Region.CONTENT
    True
    """
    read: T = _read(kind, value)
    return read


def _read(kind: Any, value: Any) -> Any:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        present = [argument for argument in arguments if argument is not types.NoneType]
        return value if value is None or len(present) > 1 else _read(present[0], value)
    if origin is list:
        return _read_items(arguments[0], value)
    if origin is tuple:
        if arguments[1:] == (...,):
            return tuple(_read_items(arguments[0], value))
        return tuple(_read(argument, item) for argument, item in zip(arguments, value, strict=True))
    if not isinstance(kind, type):
        return value
    if dataclasses.is_dataclass(kind):
        hints = _hints(kind)
        return kind(**{name: _read(hints[name], item) for name, item in value.items()})
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return kind(*(_read(hint, item) for hint, item in zip(_hints(kind).values(), value, strict=False)))
    return kind(value) if issubclass(kind, enum.Enum) else value


def _read_items(kind: Any, values: Any) -> list[Any]:
    if not isinstance(values, list):
        raise TypeError(f"a list was expected, and not {describe_type(values)}")
    # Token ids and logprobs are long.
    return values if kind in (int, float, str, Any) else [_read(kind, item) for item in values]


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)
