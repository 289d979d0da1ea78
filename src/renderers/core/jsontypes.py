"""Types of JSON data that several layers share."""

from __future__ import annotations

from typing import Any, TypeAlias

JsonObject: TypeAlias = dict[str, Any]
"""A message, a tool or another JSON object."""

Arguments: TypeAlias = tuple[tuple[str, Any], ...]
"""Arguments of a program as hashable pairs, so that they can be part of a cache key."""


def exact_key(arguments: Arguments) -> tuple[tuple[str, str, Any], ...]:
    """Return a cache key of arguments that distinguishes `1`, `True` and `1.0`, which are equal.

    >>> exact_key((("x", True),))
    (('x', 'bool', True),)
    """
    return tuple((name, type(value).__name__, value) for name, value in arguments)
