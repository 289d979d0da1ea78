"""How much an operation of a template makes at most, found before it is done.

Nothing here makes anything that grows with what it measures. What is in a container several times is measured once and
counted as often as it is there.
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
"""How many characters an item of a list counts as: about what it costs."""

_LEAF = 32
"""How many characters a value that is no text, number or container counts as."""
_NAME = 128
"""How many characters the name of a character has at most, and more than any other way to write it."""
_CODECS = frozenset({"ascii", "latin-1", "utf-8", "utf8", "utf-16", "utf-32"})
_UNKNOWN = 2**62
_DIGITS = re.compile(r"\d+")
_PERCENT = re.compile(r"[%)][#0\- +]*(\*|\d+)?(?:\.(\*|\d+))?[hlL]?[a-zA-Z%]")
"""What a `%` format asks for. Its key may have brackets of its own, so it is found from where that ends."""
_PADDING = frozenset({"center", "ljust", "rjust", "zfill"})
_EMPTY: dict[Any, Any] = {}
_ITEMS = type(_EMPTY.items())
_VIEWS: tuple[type, ...] = (type(_EMPTY.keys()), type(_EMPTY.values()), _ITEMS)
_CONTAINERS: tuple[type, ...] = (dict, list, tuple, TemplateNamespace, *_VIEWS)
_TEMPLATE_CONTAINERS = frozenset(_CONTAINERS)
_SIZED: tuple[type, ...] = (str, bytes, range, dict, list, tuple, *_VIEWS)


def size_of_binary(operator: str, left: Any, right: Any) -> int:
    """Returns how large the result of `+`, `*`, `**` or `%` can be at most.

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
    """Returns how many bits the result of `+`, `*` or `**` has at most, where both sides are whole numbers.

    >>> bits_of_binary("**", 10, 1_000_000)
    4000000
    """
    if not isinstance(left, int) or not isinstance(right, int) or operator == "%":
        return 0
    if operator == "**":
        return left.bit_length() * max(right, 0)
    return left.bit_length() + right.bit_length()


def size_of_percent(form: str | bytes, values: Any) -> int:
    """Returns how large the result of a `%` format can be at most, with the widths that it asks for.

    >>> size_of_percent("%(x)s" * 100, {"x": "a" * 1000}) > 100_000
    True
    """
    text = plain(form) if isinstance(form, str) else form.decode("latin-1")
    fields = [match.groups() for match in _PERCENT.finditer(text)]
    asked = [one for field in fields for one in field if one]
    starred = _numbers(values if isinstance(values, tuple) else (values,)) if "*" in asked else []
    # A tuple's values are written once each, and those of a dict as often as they are named.
    times = 1 if isinstance(values, tuple) else len(fields)
    return len(text) + times * size_of_text(values) + sum(_number(one) for one in asked if one != "*") + sum(starred)


def size_of_method(name: str, receiver: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> int:
    """Returns how large a method's result can be at most, or what it goes through is.

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
    size = len(receiver) + sum(len(one) for one in values if isinstance(one, str | bytes))
    if name in {"strip", "lstrip", "rstrip"} and args and isinstance(args[0], str | bytes):
        # Each character is looked for among all that are to go.
        return len(receiver) * (1 + len(args[0]))
    if name in {"encode", "decode"} and values:
        # Python's own codecs take their time, and what cannot be encoded may become its name.
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
        # Without a separator there is at most a piece for every second character.
        return size + ITEM * (_count(receiver, args[0]) if args else size // 2 + 1)
    return size


def size_of_replacing(text: Any, old: Any, new: Any) -> int:
    """Returns how large a text can get where something in it is replaced, and each piece of it is an item.

    >>> size_of_replacing("aba", "a", "xyz") == 3 + 2 * (3 + ITEM)
    True
    """
    return len(text) + _count(text, old if isinstance(old, bytes) else str(old)) * (len(str(new)) + ITEM)


def size_of_sum(values: Iterable[Any]) -> int:
    """Returns how large all the lists are that are made when lists are added up one by one.

    >>> size_of_sum([[1, 2], [3], 4]) == ITEM * (2 + 3 + 3)
    True
    """
    total = whole = 0
    for value in values:
        whole += size_of(value) if isinstance(value, list | tuple) else 0
        total += whole
    return total


def size_of_widths(form: Any) -> int:
    """Returns the size of a text and of all numbers in it, which may be widths.

    >>> size_of_widths("%10Y")
    14
    """
    return len(form) + sum(map(_number, _DIGITS.findall(form))) if isinstance(form, str) else 0


def size_of(value: Any) -> int:
    """Returns how many characters a value counts as, without what is in its items."""
    return length_of(value) * (ITEM if isinstance(value, _SIZED) and not isinstance(value, str | bytes) else 1)


def _size_of_runs(value: Any) -> int:
    """Returns how many characters the runs of a string count as, where each has to be moved; one over all has not."""
    runs = runs_of(value)
    return 0 if not runs or runs[0][:2] == (0, len(value)) else ITEM * len(runs)


def size_of_joined(values: Iterable[Any]) -> int:
    """Returns how large what `~` makes is, with the runs that are moved to other places in it.

    >>> size_of_joined(["ab", 1, "c"])
    5
    """
    return sum(size_of_text(value) + (_size_of_runs(value) if at else 0) for at, value in enumerate(values))


def length_of(value: Any) -> int:
    """Returns the length of what templates can have and has one; 1 for anything else."""
    sized: Any = value
    return len(sized) if isinstance(value, _SIZED) else 1


def size_of_text(value: Any) -> int:
    """Returns about how many characters a value is as text, however often parts of it are parts of others.

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
    """Returns how long the longest stretch of a text without a space is.

    >>> longest_word("a bcd e")
    3
    """
    return max((len(word) for word in str.split(value)), default=0) if isinstance(value, str) else 0


def depth_of(value: Any) -> int:
    """Returns how deep containers are in each other.

    >>> depth_of([1, {"a": []}])
    3
    """
    return _fold(value, lambda _: 0, lambda depths: 1 + max(depths, default=0), {})


def widest_key(value: Any) -> int:
    """Returns the length of the longest key of all dicts in a value.

    >>> widest_key([{"a": {"bcd": 1}}])
    3
    """
    widest, waiting = 0, [value]
    seen: set[int] = set()
    while waiting:
        container = waiting.pop()
        if _is_container(container) and id(container) not in seen:
            seen.add(id(container))
            keys = container.keys() if isinstance(container, dict) else ()
            widest = max(widest, *map(size_of_text, keys), 0)
            waiting.extend(container.values() if isinstance(container, dict) else _parts(container))
    return widest


def weight(value: Any) -> tuple[int, int]:
    """Returns how many values are in what a template put together, and how many had to be looked at to know.

    A value counts as often as it is there. What is no container of the template's own is not looked at.

    >>> pair = [1, 2]
    >>> weight([pair, pair])
    (7, 6)
    """
    looked = 0

    def whole(weights: list[int]) -> int:
        nonlocal looked
        looked += 1 + len(weights)
        return 1 + sum(weights)

    # What callers sent is of other types, and is as large as it is.
    return _fold(value, lambda _: 1, whole, {}, is_template_container), looked


def is_template_container(value: Any) -> bool:
    """Says whether a value is a container that a template put together, not one that a caller sent."""
    return type(value) in _TEMPLATE_CONTAINERS


def _is_container(value: Any) -> bool:
    """Says whether a value is a container that templates can have."""
    return isinstance(value, _CONTAINERS)


def _fold(
    value: Any,
    leaf: Callable[[Any], int],
    whole: Callable[[list[int]], int],
    known: dict[int, int],
    opened: Callable[[Any], bool] = _is_container,
) -> int:
    """Measures a value by its parts: each container once, by its identity."""
    if isinstance(value, str) or not opened(value):
        return leaf(value)
    if id(value) not in known:
        known[id(value)] = whole([_fold(part, leaf, whole, known, opened) for part in _parts(value)])
    return known[id(value)]


def _size_of_leaf(value: Any) -> int:
    if isinstance(value, str | bytes):
        return len(value)
    return 2 + value.bit_length() // 3 if isinstance(value, int) else _LEAF


def _size_of_parts(sizes: list[int]) -> int:
    return 2 + sum(sizes) + 2 * len(sizes)


def _parts(value: Any) -> Iterable[Any]:
    """Returns what is directly in a container."""
    if isinstance(value, TemplateNamespace):
        value = values_in(value)
    if isinstance(value, dict):
        value = value.items()
    if isinstance(value, _ITEMS):
        # Not the pairs: they are made anew each time, and only what stays can be known by its identity.
        return [part for pair in value for part in pair]
    return value if _is_container(value) else ()


def _size_of_format(form: str, values: tuple[Any, ...]) -> int:
    """Returns what a `str.format` puts in at most, with the widths that it asks for, also by fields in fields."""
    try:
        fields = [(field, spec or "") for _, field, spec, _ in string.Formatter().parse(plain(form))]
    except ValueError:
        # It is not a format, and the call itself will say so.
        return 0
    asks = any("." in (field or "") or ("." in spec and "{" in spec) for field, spec in fields)
    if asks and _fold(values, _is_unknown, _most, {}):
        return _UNKNOWN
    count = sum(field is not None for field, _ in fields)
    widths = sum(_number(digits) for _, spec in fields for digits in _DIGITS.findall(spec))
    nested = sum(spec.count("{") for _, spec in fields)
    return count * size_of_text(values) + widths + (nested * _fold(values, _largest, _most, {}) if nested else 0)


def _largest(value: Any) -> int:
    """Returns the largest number that a field in a field could take from a value."""
    if isinstance(value, str):
        return max(map(_number, _DIGITS.findall(value)), default=0)
    return math.ceil(min(abs(value), _UNKNOWN)) if isinstance(value, int | float) else 0


def _is_unknown(value: Any) -> bool:
    """Says whether attributes of a value may be anything, as those of a cycler or a loop."""
    return not isinstance(value, str | bytes | int | float | jinja2.Undefined | None)


def _most(numbers: list[int]) -> int:
    return max(numbers, default=0)


def _count(text: str | bytes, part: Any) -> int:
    """Returns how often a part is in a text, where it is one that can be."""
    if isinstance(text, bytes):
        text, part = text.decode("latin-1"), part.decode("latin-1") if isinstance(part, bytes) else part
    return str.count(text, part) if isinstance(part, str) else 0


def _numbers(values: Iterable[Any]) -> list[int]:
    return [abs(value) for value in values if isinstance(value, int)]


def _number(digits: str) -> int:
    # Longer ones are far beyond any limit, and int() refuses thousands of digits.
    return int(digits[:20])
