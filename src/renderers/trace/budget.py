"""What a template may use up: steps and characters, counted before they are spent.

A template is a program of somebody else's. Nothing can stop a single call into C, so every operation that can make much
out of little says beforehand how much it will make.
"""

from __future__ import annotations

import functools
import re
import string
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from jinja2.utils import Namespace

from renderers.errors import TemplateLimitError
from renderers.trace.text import plain

__all__ = [
    "LIMITS",
    "Budget",
    "Limits",
    "bits_of_binary",
    "size_of_binary",
    "size_of_method",
    "size_of_replacing",
    "size_of_text",
    "weight",
    "width_of_percent",
]

_DIGITS = re.compile(r"\d+")
_PERCENT = re.compile(r"[%)][#0\- +]*(\*|\d+)?(?:\.(\*|\d+))?[hlL]?[a-zA-Z%]")
"""What a `%` format asks for. Its key may have brackets of its own, so it is found from where that ends."""
_EACH = 16
"""How often a template may do something for each pair of messages."""
_ITEM = 64
"""How many characters an item of a list counts as: about what it costs."""
_PADDING = frozenset({"center", "ljust", "rjust", "zfill"})
_EMPTY: dict[Any, Any] = {}
_ITEMS = type(_EMPTY.items())
_VIEWS: tuple[type, ...] = (type(_EMPTY.keys()), type(_EMPTY.values()), _ITEMS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one run of a template may use at most, and how large its text may be."""

    steps: int = 5_000_000
    """Iterations, calls, filters and pieces of output."""
    characters: int = 2**28
    """Characters of all strings that it makes; an item of a list counts as 64."""
    bits: int = 2**16
    """Bits of one number."""
    source: int = 2**20
    """Characters of the template's own text."""
    nesting: int = 100
    """Blocks and brackets of the template's own text that are open at the same time."""
    range: int = 100_000
    """Numbers that one `range` gives."""


LIMITS = Limits()


class Budget:
    """What one run has used so far.

    Some templates go through all messages for each of them, or write a text anew for each. So a long
    conversation gets more, for as many messages as there are: `messages` says how many, `size` how long
    they are, and is asked only where the limit alone does not do.
    """

    __slots__ = ("_extended", "_left", "_messages", "_most_steps", "_size", "_steps", "limits")

    def __init__(self, limits: Limits, *, messages: int = 0, size: Callable[[], int] = int) -> None:
        self.limits = limits
        self._messages = messages
        self._size = functools.cache(size)
        self._steps = 0
        self._most_steps = limits.steps
        self._left = limits.characters
        self._extended = False

    def step(self, count: int = 1) -> None:
        """Counts steps before they are taken."""
        self._steps += count
        if self._steps > self._most_steps and self._steps > self._all_steps():
            raise TemplateLimitError("steps", self.limits.steps)

    def _all_steps(self) -> int:
        # A step for every character, as some templates go through texts letter by letter.
        self._most_steps = self.limits.steps + _EACH * self._messages**2 + self._size()
        return self._most_steps

    def grow(self, size: int) -> None:
        """Counts characters before they are made."""
        self.check(size)
        self._left -= size
        if self._left < 0 and not self._extended:
            self._left += _EACH * self._messages * self._size()
            self._extended = True
        if self._left < 0:
            raise TemplateLimitError("characters", self.limits.characters)

    def number(self, bits: int) -> None:
        """Refuses a number that is too large."""
        if bits > self.limits.bits:
            raise TemplateLimitError("bits", self.limits.bits)

    def check(self, size: int) -> None:
        """Refuses a single thing that is too large."""
        if size > self.limits.characters:
            raise TemplateLimitError("characters", self.limits.characters)


def size_of_binary(operator: str, left: Any, right: Any) -> int:
    """Returns how large the result of `+`, `*`, `**` or `%` can be at most.

    >>> size_of_binary("*", "ab", 1_000_000)
    2000000
    """
    if operator == "%":
        return size_of_text(right) + len(left) + width_of_percent(left, right) if isinstance(left, str | bytes) else 0
    if isinstance(left, int) and isinstance(right, int):
        return 0
    if operator == "+":
        return _size(left) + _size(right)
    if operator == "*" and isinstance(right, int):
        return _size(left) * max(right, 0)
    if operator == "*" and isinstance(left, int):
        return _size(right) * max(left, 0)
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


def size_of_method(name: str, receiver: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> int:
    """Returns how large a method's result can be at most, for the methods that can make much out of little.

    >>> size_of_method("center", "a", (1_000_000,), {})
    1000001
    """
    values = (*args, *kwargs.values())
    if isinstance(receiver, int):
        return max(_numbers(values), default=1) if name == "to_bytes" else 1
    if not isinstance(receiver, str | bytes):
        return 1
    size = len(receiver)
    if name in _PADDING:
        return max(_numbers(values), default=0) + size
    if name == "expandtabs":
        return size + _count(receiver, "\t") * max(_numbers(values), default=8)
    if name == "replace" and len(values) > 1:
        return size_of_replacing(receiver, values[0], values[1])
    if name in {"format", "format_map"} and isinstance(receiver, str):
        return size + size_of_text(values) + width_of_format(receiver, values)
    if name == "join":
        return size_of_text(values) + size * sum(map(_length, values))
    if name == "translate":
        return size * max((_length(to) for table in values for to in _parts(table)), default=1)
    if name in {"split", "rsplit", "splitlines"}:
        # Without a separator there is at most a piece for every second character.
        return size + _ITEM * (_count(receiver, args[0]) if args else size // 2 + 1)
    return size


def size_of_replacing(text: Any, old: Any, new: Any) -> int:
    """Returns how large a text can get where something in it is replaced.

    >>> size_of_replacing("aba", "a", "xyz")
    9
    """
    return len(text) + _count(text, old if isinstance(old, bytes) else str(old)) * len(str(new))


def size_of_text(value: Any, known: dict[int, int] | None = None) -> int:
    """Returns about how many characters a value is as text, however often parts of it are parts of others.

    >>> size_of_text(["a", "bc"])
    9
    """
    if isinstance(value, str):
        return len(value)
    if not _holds_parts(value):
        return 8
    known = {} if known is None else known
    if id(value) not in known:
        known[id(value)] = 2 + sum(size_of_text(part, known) + 2 for part in _parts(value))
    return known[id(value)]


def weight(value: Any, known: dict[int, int] | None = None) -> int:
    """Returns how many values are in what a template put together, each as often as it is there.

    >>> pair = [1, 2]
    >>> weight([pair, pair])
    7
    """
    # What callers sent is of other types, and is as large as it is.
    if type(value) not in (dict, list, tuple, Namespace, *_VIEWS) and not isinstance(value, Namespace):
        return 1
    known = {} if known is None else known
    if id(value) not in known:
        known[id(value)] = 1 + sum(weight(part, known) for part in _parts(value))
    return known[id(value)]


def width_of_percent(form: Any, values: Any) -> int:
    """Returns the sum of all widths and precisions that a `%` asks for, in its text and by `*` in its values.

    >>> width_of_percent("10 of %5s and %-10.3f", ())
    18
    """
    text = plain(form) if isinstance(form, str) else form.decode("latin-1")
    asked = [one for match in _PERCENT.finditer(text) for one in match.groups() if one]
    starred = _numbers(values if isinstance(values, tuple) else (values,)) if "*" in asked else []
    return sum(_number(one) for one in asked if one != "*") + sum(starred)


def width_of_format(form: str, values: tuple[Any, ...]) -> int:
    """Returns the sum of all widths and precisions that a `str.format` asks for, in its text and by fields in fields.

    >>> width_of_format("10 of {0:>5} and {x:.3f}", ())
    8
    """
    try:
        specs = [spec for _, _, spec, _ in string.Formatter().parse(plain(form)) if spec]
    except ValueError:
        # It is not a format, and the call itself will say so.
        return 0
    asked = sum(_number(digits) for spec in specs for digits in _DIGITS.findall(spec))
    return asked + (sum(_numbers_inside(values)) if any("{" in spec for spec in specs) else 0)


def _holds_parts(value: Any) -> bool:
    return isinstance(value, (dict, list, tuple, Namespace, *_VIEWS))


def _parts(value: Any) -> Iterable[Any]:
    """Returns what is directly in a container that templates can have."""
    if isinstance(value, Namespace):
        value = object.__getattribute__(value, "_Namespace__attrs")
    if isinstance(value, dict):
        value = value.items()
    if isinstance(value, _ITEMS):
        # Not the pairs: they are made anew each time, and only what stays can be known by its identity.
        return [part for pair in value for part in pair]
    return value if _holds_parts(value) else ()


def _count(text: str | bytes, part: Any) -> int:
    """Returns how often a part is in a text, where it is one that can be."""
    if isinstance(text, bytes):
        text, part = text.decode("latin-1"), part.decode("latin-1") if isinstance(part, bytes) else part
    return str.count(text, part) if isinstance(part, str) else 0


def _length(value: Any) -> int:
    return len(value) if isinstance(value, str | bytes | list | tuple | dict | range) else 1


def _size(value: Any) -> int:
    return _length(value) * (_ITEM if isinstance(value, list | tuple) else 1)


def _numbers(values: Iterable[Any]) -> list[int]:
    return [abs(value) for value in values if isinstance(value, int)]


def _numbers_inside(values: Iterable[Any]) -> Iterable[int]:
    """Yields all numbers that a field in a field could come to, also those in texts, lists and dicts."""
    for value in values:
        if isinstance(value, int):
            yield abs(value)
        elif isinstance(value, str):
            yield from (_number(digits) for digits in _DIGITS.findall(value))
        elif isinstance(value, dict | list | tuple):
            yield from _numbers_inside(_parts(value))


def _number(digits: str) -> int:
    # Longer ones are far beyond any limit, and int() refuses thousands of digits.
    return int(digits[:20])
