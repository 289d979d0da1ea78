"""Read dataclasses, named tuples and enums from their JSON form, by the annotations of their fields."""

from __future__ import annotations

import collections.abc
import dataclasses
import enum
import functools
import types
import typing
from typing import Any, TypeVar

from renderers.core.text import describe_type

T = TypeVar("T")

_SCALARS: dict[Any, frozenset[type]] = {
    bool: frozenset({bool}),
    int: frozenset({int}),
    float: frozenset({int, float}),
    str: frozenset({str}),
    types.NoneType: frozenset({types.NoneType}),
}
"""The types of JSON data that are accepted for each type of a field."""


def read_typed(kind: type[T], value: Any) -> T:
    """Return an object of a class from JSON data, such as that of `dataclasses.asdict`.

    Fields that are missing have their defaults.

    Raises:
        TypeError, ValueError: The data does not fit the class.

    >>> from renderers.core.completions import ParsedPart, Region
    >>> read_typed(ParsedPart, ["content", 0, 3]).region is Region.CONTENT
    True
    """
    read: T = _read(kind, value)
    return read


def _read(kind: Any, value: Any) -> Any:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any:
        return value
    if kind in _SCALARS:
        return _checked(value, type(value) in _SCALARS[kind], kind)
    if origin in (types.UnionType, typing.Union):
        return _read_union(arguments, value)
    if origin is typing.Literal:
        return _checked(value, value in arguments, kind)
    if origin in (dict, collections.abc.Mapping):
        return _checked(value, type(value) is dict, kind)
    if origin is list:
        return _read_items(arguments[0], value)
    if origin is tuple and arguments[1:] == (...,):
        return tuple(_read_items(arguments[0], value))
    if origin is tuple or hasattr(kind, "_fields"):
        hints = arguments or tuple(_hints(kind).values())
        items = _checked(value, isinstance(value, list) and len(value) <= len(hints), kind)
        read = [_read(hint, item) for hint, item in zip(hints, items, strict=bool(arguments))]
        return kind(*read) if hasattr(kind, "_fields") else tuple(read)
    if dataclasses.is_dataclass(kind):
        return _read_fields(kind, _checked(value, isinstance(value, dict), kind))
    assert issubclass(kind, enum.Enum)
    return kind(value)


def _read_fields(kind: Any, values: dict[str, Any]) -> Any:
    """Return an object of a dataclass. Errors name the field."""
    hints, read = _hints(kind), {}
    for field in dataclasses.fields(kind):
        if field.name in values:
            try:
                read[field.name] = _read(hints[field.name], values[field.name])
            except (TypeError, ValueError) as error:
                raise TypeError(f"{field.name}: {error}") from error
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise TypeError(f"{field.name} is missing")
    unknown = values.keys() - read.keys()
    if unknown:
        raise TypeError(f"{min(unknown)} is not a known field")
    return kind(**read)


def _read_union(kinds: tuple[Any, ...], value: Any) -> Any:
    """Return the value of the first of some kinds that it fits."""
    for kind in kinds[:-1]:
        try:
            return _read(kind, value)
        except (TypeError, ValueError):
            continue
    return _read(kinds[-1], value)


def _read_items(kind: Any, values: Any) -> list[Any]:
    _checked(values, isinstance(values, list), list)
    if kind in _SCALARS:
        # Token ids and logprobs are long, so they are not read one by one.
        wrong = {*map(type, values)} - _SCALARS[kind]
        return values if not wrong else [_read(kind, item) for item in values]
    return values if kind is Any else [_read(kind, item) for item in values]


def _checked(value: Any, is_valid: bool, kind: Any) -> Any:
    if not is_valid:
        raise TypeError(f"{describe_type(value)} does not fit {getattr(kind, '__name__', kind)}")
    return value


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)
