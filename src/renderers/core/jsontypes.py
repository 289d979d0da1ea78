"""Types of JSON data that several layers share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

JsonObject: TypeAlias = dict[str, Any]
"""A message, a tool or another JSON object."""

Arguments: TypeAlias = tuple[tuple[str, Any], ...]
"""Arguments of a program as hashable pairs, so that they can be part of a cache key."""


class HashableDict(dict[str, Any]):
    """A JSON object in a cache key. It must not be changed."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(repr(self))


class HashableList(list[Any]):
    """A JSON array in a cache key. It must not be changed."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(repr(self))


def hashable(value: Any) -> Any:
    """Return JSON data that can be part of a cache key.

    >>> {hashable({"a": [1]}): 2}[hashable({"a": [1]})]
    2
    """
    if isinstance(value, Mapping):
        return HashableDict({name: hashable(item) for name, item in value.items()})
    return HashableList(map(hashable, value)) if isinstance(value, list | tuple) else value


def exact_key(arguments: Arguments) -> tuple[tuple[str, str, Any], ...]:
    """Return a cache key of arguments that distinguishes equal values with different texts, such as `1` and `True`.

    >>> exact_key((("x", True), ("y", -0.0)))
    (('x', 'True', True), ('y', '-0.0', -0.0))
    """
    return tuple((name, repr(value), value) for name, value in arguments)
