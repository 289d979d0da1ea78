"""Upper bounds on the size of the result of an operation, computed before it runs.

Nothing here allocates memory in proportion to the result. A value that a container holds several times is measured
once and counted each time.
"""

from __future__ import annotations

import math
import re
import string
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from renderers.templating.texts import plain
from renderers.templating.values import DictView, NamespaceValue

ITEM = 64
"""The characters that a list item counts as: about its memory."""
LARGE = 256
"""Results of at most this many characters are not charged."""

_LEAF = 32
"""The characters that a value other than a string, integer or container counts as."""
_DIGITS = re.compile(r"\d+")
_PERCENT = re.compile(r"[%)][#0\- +]*(\*|\d+)?(?:\.(\*|\d+))?[hlL]?[a-zA-Z%]")
"""Width and precision of a `%` format. Keys may contain brackets, so a match starts at the end of the key."""
_TEMPLATE_CONTAINERS = frozenset({dict, list, tuple, NamespaceValue, DictView})


def is_template_container(value: Any) -> bool:
    """Return True for a container that the template built, False for one that the caller passed."""
    return value.__class__ in _TEMPLATE_CONTAINERS


def size_of_text(value: Any) -> int:
    """Return the approximate length of a value as text.

    >>> size_of_text(["a", "bc"])
    9
    """
    return len(value) if isinstance(value, str) else _fold(value, _size_of_leaf, _size_of_parts, {})


def depth_of(value: Any) -> int:
    """Return the nesting depth of containers.

    >>> depth_of([1, {"a": []}])
    3
    """
    return _fold(value, lambda _: 0, lambda depths: 1 + max(depths, default=0), {})


def longest_text(value: Any) -> int:
    """Return the length of the longest text in a value.

    >>> longest_text([{"a": {"bcd": 1}}])
    3
    """
    return _fold(value, lambda leaf: len(leaf) if isinstance(leaf, str) else 0, _most, {})


def weight(value: Any) -> tuple[int, int]:
    """Return the number of values in a container that the template built, and the number of values visited.

    A value counts once for each occurrence. Containers that the caller passed are not visited.

    >>> pair = [1, 2]
    >>> weight([pair, pair])
    (7, 6)
    """
    parts = _parts(value)
    if _TEMPLATE_CONTAINERS.isdisjoint(map(type, parts)) and is_template_container(value):
        return 1 + len(parts), 1 + len(parts)
    visited = 0

    def combine(weights: list[int]) -> int:
        nonlocal visited
        visited += 1 + len(weights)
        return 1 + sum(weights)

    return _fold(value, lambda _: 1, combine, {}, is_template_container), visited


def bits_of_binary(operator: str, left: Any, right: Any) -> int:
    """Return an upper bound on the bits of the result of `+`, `*` or `**`; 0 unless both operands are integers.

    >>> bits_of_binary("**", 10, 1_000_000)
    4000000
    """
    if not isinstance(left, int) or not isinstance(right, int):
        return 0
    if operator == "**":
        return left.bit_length() * max(right, 0)
    return left.bit_length() + right.bit_length()


def size_of_percent(template: str, values: Any) -> int:
    """Return an upper bound on the size of the result of a `%` format, including its widths.

    >>> size_of_percent("%(x)s" * 100, {"x": "a" * 1000}) > 100_000
    True
    """
    fields = [match.groups() for match in _PERCENT.finditer(plain(template))]
    widths = [width for field in fields for width in field if width]
    starred = _numbers(values if isinstance(values, tuple) else (values,)) if "*" in widths else []
    # Each value of a tuple is used once; a value of a dict may be used by every field.
    times = 1 if isinstance(values, tuple) else len(fields)
    fixed = sum(_number(width) for width in widths if width != "*")
    return len(template) + times * size_of_text(values) + fixed + sum(starred)


def size_of_format(template: str, values: tuple[Any, ...]) -> int:
    """Return an upper bound on the size of the result of `str.format`, including widths and nested fields.

    >>> size_of_format("{:>{width}}", ("a", 1000)) > 1000
    True
    """
    try:
        fields = [(field, spec or "") for _, field, spec, _ in string.Formatter().parse(plain(template))]
    except ValueError:
        # The call itself raises this error.
        return 0
    count = sum(field is not None for field, _ in fields)
    widths = sum(_number(digits) for _, spec in fields for digits in _DIGITS.findall(spec))
    nested = sum(spec.count("{") for _, spec in fields)
    largest = _fold(values, _largest, _most, {}) if nested else 0
    return len(template) + count * size_of_text(values) + widths + nested * largest


def size_of_replacing(text: str, old: str, new: str) -> int:
    """Return an upper bound on the size of a text after a replacement, where each occurrence counts as an item.

    >>> size_of_replacing("aba", "a", "xyz") == 3 + 2 * (3 + ITEM)
    True
    """
    return len(text) + str.count(text, old) * (len(new) + ITEM)


def size_of_method(name: str, text: str, values: tuple[Any, ...]) -> int:
    """Return an upper bound on the size of the result of a method of a text, or of the data it scans.

    >>> size_of_method("center", "a", (1_000_000,))
    1000001
    """
    size = len(text) + sum(len(value) for value in values if isinstance(value, str))
    if name in {"center", "ljust", "rjust", "zfill"}:
        return size + max(_numbers(values), default=0)
    if name == "expandtabs":
        return size + str.count(text, "\t") * max(_numbers(values), default=8)
    if name == "translate":
        return size * max((size_of_text(to) for table in values for to in _parts(table)), default=1)
    return size


def size_of_sum(values: Iterable[Any]) -> int:
    """Return the size of all intermediate lists when lists are added up one by one.

    >>> size_of_sum([[1, 2], [3], 4]) == ITEM * (2 + 3 + 3)
    True
    """
    total = size = 0
    for value in values:
        size += ITEM * len(value) if isinstance(value, list | tuple) else 0
        total += size
    return total


def size_of_widths(template: Any) -> int:
    """Return the length of a format plus all numbers in it, which may be widths.

    >>> size_of_widths("%10Y")
    14
    """
    return len(template) + sum(map(_number, _DIGITS.findall(template))) if isinstance(template, str) else 0


def _fold(
    value: Any,
    leaf: Callable[[Any], int],
    combine: Callable[[list[int]], int],
    measured: dict[int, int],
    descends: Callable[[Any], bool] | None = None,
) -> int:
    """Measure a value from its parts. Each container is measured once, by its identity."""
    is_container = isinstance(value, dict | list | tuple | NamespaceValue | DictView)
    if not is_container or (descends is not None and not descends(value)):
        return leaf(value)
    if id(value) not in measured:
        measured[id(value)] = combine([_fold(part, leaf, combine, measured, descends) for part in _parts(value)])
    return measured[id(value)]


def _parts(value: Any) -> Sequence[Any]:
    """Return the direct contents of a container."""
    if value.__class__ is NamespaceValue:
        value = value.values
    if isinstance(value, dict):
        return [*value.keys(), *value.values()]
    if isinstance(value, DictView):
        return value.items
    return value if isinstance(value, list | tuple) else ()


def _size_of_leaf(value: Any) -> int:
    if isinstance(value, str):
        return len(value)
    return 2 + value.bit_length() // 3 if isinstance(value, int) else _LEAF


def _size_of_parts(sizes: list[int]) -> int:
    return 2 + sum(sizes) + 2 * len(sizes)


def _largest(value: Any) -> int:
    """Return the largest width that a nested field can take from a value."""
    if isinstance(value, str):
        return max(map(_number, _DIGITS.findall(value)), default=0)
    return math.ceil(min(abs(value), 2**62)) if isinstance(value, int | float) else 0


def _most(numbers: list[int]) -> int:
    return max(numbers, default=0)


def _numbers(values: Iterable[Any]) -> list[int]:
    return [abs(value) for value in values if isinstance(value, int)]


def _number(digits: str) -> int:
    # Longer numbers exceed every limit, and int() refuses thousands of digits.
    return int(digits[:20])
