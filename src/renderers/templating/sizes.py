"""Upper bounds on the size of the result of an operation, computed before it runs.

Nothing here allocates memory in proportion to the result. A value that a container holds several times is measured
once and counted each time.
"""

from __future__ import annotations

import math
import re
import string
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import jinja2

from renderers.templating.runs import HasOwner, runs_of
from renderers.templating.sandbox import TemplateNamespace, values_in
from renderers.templating.traced_str import plain

ITEM = 64
"""The characters that a list item counts as: about its memory."""

_LEAF = 32
"""The characters that a value other than a string, integer or container counts as."""
_NAME = 128
"""An upper bound on the length of a Unicode character name, the longest replacement of an encoding error."""
_CODECS = frozenset({"ascii", "latin-1", "utf-8", "utf8", "utf-16", "utf-32"})
_UNKNOWN = 2**62
_DIGITS = re.compile(r"\d+")
_PERCENT = re.compile(r"[%)][#0\- +]*(\*|\d+)?(?:\.(\*|\d+))?[hlL]?[a-zA-Z%]")
"""Width and precision of a `%` format. Keys may contain brackets, so a match starts at the end of the key."""
_PADDING = frozenset({"center", "ljust", "rjust", "zfill"})
_EMPTY: dict[Any, Any] = {}
_ITEMS = type(_EMPTY.items())
_VIEWS: tuple[type, ...] = (type(_EMPTY.keys()), type(_EMPTY.values()), _ITEMS)
_CONTAINERS: tuple[type, ...] = (dict, list, tuple, TemplateNamespace, *_VIEWS)
_TEMPLATE_CONTAINERS = frozenset(_CONTAINERS)
_SIZED: tuple[type, ...] = (str, bytes, range, dict, list, tuple, *_VIEWS)


def size_of_binary(operator: str, left: Any, right: Any) -> int:
    """Return an upper bound on the size of the result of `+`, `*`, `**` or `%`.

    >>> size_of_binary("*", "ab", 1_000_000)
    2000000
    """
    if operator == "%":
        return size_of_percent(left, right) if isinstance(left, str | bytes) else 0
    if isinstance(left, int) and isinstance(right, int):
        return 0
    if operator == "+":
        return size_of(left) + size_of(right) + _size_of_runs(right)
    if operator == "*" and isinstance(right, int):
        return (size_of(left) + _size_of_runs(left)) * max(right, 0)
    if operator == "*" and isinstance(left, int):
        return (size_of(right) + _size_of_runs(right)) * max(left, 0)
    return 0


def bits_of_binary(operator: str, left: Any, right: Any) -> int:
    """Return an upper bound on the bits of the result of `+`, `*` or `**`; 0 unless both operands are integers.

    >>> bits_of_binary("**", 10, 1_000_000)
    4000000
    """
    if not isinstance(left, int) or not isinstance(right, int) or operator == "%":
        return 0
    if operator == "**":
        return left.bit_length() * max(right, 0)
    return left.bit_length() + right.bit_length()


def size_of_percent(template: str | bytes, values: Any) -> int:
    """Return an upper bound on the size of the result of a `%` format, including its widths.

    >>> size_of_percent("%(x)s" * 100, {"x": "a" * 1000}) > 100_000
    True
    """
    text = plain(template) if isinstance(template, str) else template.decode("latin-1")
    fields = [match.groups() for match in _PERCENT.finditer(text)]
    widths = [width for field in fields for width in field if width]
    starred = _numbers(values if isinstance(values, tuple) else (values,)) if "*" in widths else []
    # Each value of a tuple is used once; a value of a dict may be used by every field.
    times = 1 if isinstance(values, tuple) else len(fields)
    fixed = sum(_number(width) for width in widths if width != "*")
    return len(text) + times * size_of_text(values) + fixed + sum(starred)


def size_of_method(name: str, receiver: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> int:
    """Return an upper bound on the size of the result of a method, or of the data it scans.

    >>> size_of_method("center", "a", (1_000_000,), {})
    1000001
    """
    values = (*args, *kwargs.values())
    if isinstance(receiver, str | bytes):
        return _size_of_text_method(name, receiver, args, values)
    if isinstance(receiver, int):
        return max(_numbers(values), default=1) if name == "to_bytes" else 1
    if name in {"count", "index"}:
        return size_of_text(receiver) >> 3
    return size_of(receiver) if name == "copy" else 1 + sum(map(size_of, values))


def _size_of_text_method(name: str, receiver: str | bytes, args: tuple[Any, ...], values: tuple[Any, ...]) -> int:
    size = len(receiver) + sum(len(value) for value in values if isinstance(value, str | bytes))
    if name in {"strip", "lstrip", "rstrip"} and args and isinstance(args[0], str | bytes):
        # Each character is searched in all characters to strip.
        return len(receiver) * (1 + len(args[0]))
    if name in {"encode", "decode"} and values:
        # Codecs written in Python are slow, and an error handler may write the name of a character.
        return size * (size if str(values[0]).lower() not in _CODECS else _NAME if len(values) > 1 else 1)
    if name in _PADDING:
        return max(_numbers(values), default=0) + size
    if name == "expandtabs":
        return size + _count(receiver, "\t") * max(_numbers(values), default=8)
    if name == "replace" and len(values) > 1:
        return size_of_replacing(receiver, values[0], values[1])
    if name in {"format", "format_map"} and isinstance(receiver, str):
        return size + _size_of_format(receiver, values)
    if name == "join":
        return size_of_text(values) + size * sum(map(length_of, values))
    if name == "translate":
        return size * max((length_of(to) for table in values for to in _parts(table)), default=1)
    if name in {"split", "rsplit", "splitlines"}:
        # Without a separator there is at most one piece per two characters.
        return size + ITEM * (_count(receiver, args[0]) if args else size // 2 + 1)
    return size


def size_of_replacing(text: Any, old: Any, new: Any) -> int:
    """Return an upper bound on the size of a text after a replacement, where each occurrence counts as an item.

    >>> size_of_replacing("aba", "a", "xyz") == 3 + 2 * (3 + ITEM)
    True
    """
    return len(text) + _count(text, old if isinstance(old, bytes) else str(old)) * (len(str(new)) + ITEM)


def size_of_sum(values: Iterable[Any]) -> int:
    """Return the size of all intermediate lists when lists are added up one by one.

    >>> size_of_sum([[1, 2], [3], 4]) == ITEM * (2 + 3 + 3)
    True
    """
    total = size = 0
    for value in values:
        size += size_of(value) if isinstance(value, list | tuple) else 0
        total += size
    return total


def size_of_widths(template: Any) -> int:
    """Return the length of a format plus all numbers in it, which may be widths.

    >>> size_of_widths("%10Y")
    14
    """
    return len(template) + sum(map(_number, _DIGITS.findall(template))) if isinstance(template, str) else 0


def size_of(value: Any) -> int:
    """Return the characters that a value counts as, without the contents of its items."""
    return length_of(value) * (ITEM if isinstance(value, _SIZED) and not isinstance(value, str | bytes) else 1)


def _size_of_runs(value: Any) -> int:
    """Return the characters that shifting the runs of a string counts as; 0 if a single run covers the string."""
    runs = runs_of(value)
    return 0 if not runs or runs[0][:2] == (0, len(value)) else ITEM * len(runs)


def size_of_joined(values: Iterable[Any]) -> int:
    """Return the size of the result of `~`, including the runs that are shifted.

    >>> size_of_joined(["ab", 1, "c"])
    5
    """
    return sum(size_of_text(value) + (_size_of_runs(value) if index else 0) for index, value in enumerate(values))


def length_of(value: Any) -> int:
    """Return the length of a string or container; 1 for anything else."""
    sized: Any = value
    return len(sized) if isinstance(value, _SIZED) else 1


def size_of_text(value: Any) -> int:
    """Return the approximate length of a value as text.

    >>> size_of_text(["a", "bc"])
    9
    """
    if isinstance(value, str):
        return len(value)
    size: int | None = getattr(value, "_size", None) if isinstance(value, HasOwner) else None
    if size is None:
        size = _fold(value, _size_of_leaf, _size_of_parts, {})
        if isinstance(value, HasOwner):
            object.__setattr__(value, "_size", size)
    return size


def longest_word(value: Any) -> int:
    """Return the length of the longest word of a text.

    >>> longest_word("a bcd e")
    3
    """
    return max((len(word) for word in str.split(value)), default=0) if isinstance(value, str) else 0


def depth_of(value: Any) -> int:
    """Return the nesting depth of containers.

    >>> depth_of([1, {"a": []}])
    3
    """
    return _fold(value, lambda _: 0, lambda depths: 1 + max(depths, default=0), {})


def widest_key(value: Any) -> int:
    """Return the length of the longest key of all dicts in a value.

    >>> widest_key([{"a": {"bcd": 1}}])
    3
    """
    widest, stack = 0, [value]
    seen: set[int] = set()
    while stack:
        container = stack.pop()
        if _is_container(container) and id(container) not in seen:
            seen.add(id(container))
            keys = container.keys() if isinstance(container, dict) else ()
            widest = max(widest, *map(size_of_text, keys), 0)
            stack.extend(container.values() if isinstance(container, dict) else _parts(container))
    return widest


def weight(value: Any) -> tuple[int, int]:
    """Return the number of values in a container that the template built, and the number of values visited.

    A value counts once for each occurrence. Containers that the caller passed are not visited.

    >>> pair = [1, 2]
    >>> weight([pair, pair])
    (7, 6)
    """
    visited = 0

    def combine(weights: list[int]) -> int:
        nonlocal visited
        visited += 1 + len(weights)
        return 1 + sum(weights)

    # Containers of the caller have other types, and cannot grow.
    return _fold(value, lambda _: 1, combine, {}, is_template_container), visited


def is_template_container(value: Any) -> bool:
    """Return True for a container that the template built, False for one that the caller passed."""
    return type(value) in _TEMPLATE_CONTAINERS


def _is_container(value: Any) -> bool:
    """Return True for any container that a template can hold."""
    return isinstance(value, _CONTAINERS)


def _fold(
    value: Any,
    leaf: Callable[[Any], int],
    combine: Callable[[list[int]], int],
    measured: dict[int, int],
    descends: Callable[[Any], bool] = _is_container,
) -> int:
    """Measure a value from its parts. Each container is measured once, by its identity."""
    if isinstance(value, str) or not descends(value):
        return leaf(value)
    if id(value) not in measured:
        measured[id(value)] = combine([_fold(part, leaf, combine, measured, descends) for part in _parts(value)])
    return measured[id(value)]


def _size_of_leaf(value: Any) -> int:
    if isinstance(value, str | bytes):
        return len(value)
    return 2 + value.bit_length() // 3 if isinstance(value, int) else _LEAF


def _size_of_parts(sizes: list[int]) -> int:
    return 2 + sum(sizes) + 2 * len(sizes)


def _parts(value: Any) -> Iterable[Any]:
    """Return the direct contents of a container."""
    if isinstance(value, TemplateNamespace):
        value = values_in(value)
    if isinstance(value, dict):
        value = value.items()
    if isinstance(value, _ITEMS):
        # Not the pairs: they are temporary objects, and `_fold` needs stable identities.
        return [part for pair in value for part in pair]
    return value if _is_container(value) else ()


def _size_of_format(template: str, values: tuple[Any, ...]) -> int:
    """Return an upper bound on the text that `str.format` inserts, including widths and nested fields."""
    try:
        fields = [(field, spec or "") for _, field, spec, _ in string.Formatter().parse(plain(template))]
    except ValueError:
        # The call itself raises this error.
        return 0
    reads_attributes = any("." in (field or "") or ("." in spec and "{" in spec) for field, spec in fields)
    if reads_attributes and _fold(values, _is_unknown, _most, {}):
        return _UNKNOWN
    count = sum(field is not None for field, _ in fields)
    widths = sum(_number(digits) for _, spec in fields for digits in _DIGITS.findall(spec))
    nested = sum(spec.count("{") for _, spec in fields)
    return count * size_of_text(values) + widths + (nested * _fold(values, _largest, _most, {}) if nested else 0)


def _largest(value: Any) -> int:
    """Return the largest width that a nested field can take from a value."""
    if isinstance(value, str):
        return max(map(_number, _DIGITS.findall(value)), default=0)
    return math.ceil(min(abs(value), _UNKNOWN)) if isinstance(value, int | float) else 0


def _is_unknown(value: Any) -> bool:
    """Return True if attributes of a value can be of any size, such as those of a cycler or a loop."""
    return not isinstance(value, str | bytes | int | float | jinja2.Undefined | None)


def _most(numbers: list[int]) -> int:
    return max(numbers, default=0)


def _count(text: str | bytes, part: Any) -> int:
    """Return how many times a part occurs in a text; 0 if it is of another type."""
    if isinstance(text, bytes):
        text, part = text.decode("latin-1"), part.decode("latin-1") if isinstance(part, bytes) else part
    return str.count(text, part) if isinstance(part, str) else 0


def _numbers(values: Iterable[Any]) -> list[int]:
    return [abs(value) for value in values if isinstance(value, int)]


def _number(digits: str) -> int:
    # Longer numbers exceed every limit, and int() refuses thousands of digits.
    return int(digits[:20])
