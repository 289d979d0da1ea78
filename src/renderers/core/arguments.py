"""Check arguments of callers: renderers, dicts and numbers."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from typing import Any

from renderers.core.text import describe_type


def check_renderer(renderer: object, methods: Iterable[str] = ("render", "render_ids")) -> None:
    """Raise a `TypeError` if an object has not these methods of a renderer."""
    if isinstance(renderer, type) or not all(callable(getattr(renderer, name, None)) for name in methods):
        raise TypeError(f"renderer must be the result of create_renderer, not {describe_type(renderer)}")


def check_mapping(name: str, value: object) -> dict[str, Any]:
    """Return a new dict of a mapping. It is empty for None.

    Raises:
        TypeError: The value is neither.
    """
    if not isinstance(value, Mapping | None):
        raise TypeError(f"{name} must be a dict, not {describe_type(value)}")
    return dict(value or {})


def check_optional_str(name: str, value: object) -> None:
    """Raise a `TypeError` if a value is neither a str nor None."""
    if not isinstance(value, str | None):
        raise TypeError(f"{name} must be a str or None, not {describe_type(value)}")


def check_int(name: str, value: Any, *, least: int | None = None) -> int:
    """Return an int, also for one of another class, such as NumPy's.

    Raises:
        ValueError: The value is not an int, is a bool, or is less than `least`.

    >>> check_int("retries", 3, least=0)
    3
    """
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None or (least is not None and number < least):
        raise ValueError(f"{name} must be an int{'' if least is None else f' from {least} on'}, not {value!r}")
    return number
