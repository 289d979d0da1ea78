"""Strings that keep provenance through all string operations of a template.

A `TracedStr` is a `str` with runs: parts that have an owner. Text outside of the runs is template text. Every
operation returns exactly the text that it returns for plain strings. An operation that cannot track single characters
returns a coarse result: one run with the common owner of all inputs, or none if there is no common owner.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, SupportsIndex, TypeVar

from markupsafe import Markup

from renderers.templating.runs import (
    HasRuns,
    Owner,
    PendingOwner,
    Run,
    Runs,
    cut_runs,
    gap_free_prefix,
    join_runs,
    joined_gap_free_prefix,
    owner_runs,
    runs_of,
    spaced_runs,
)

T = TypeVar("T", bound="_Traced")

_PERCENT_S = re.compile(r"%(?:%|s|\((\w+)\)s)")


def plain(text: str) -> str:
    """Return the text without runs, as an exact `str`.

    >>> type(plain(TracedStr("a")))
    <class 'str'>
    """
    # str(text) would call TracedStr.__str__, which keeps the runs.
    return str.__str__(text)


def join_traced(parts: Iterable[str]) -> TracedStr:
    """Join traced and plain strings, and keep their runs.

    >>> hello = TracedStr("Hello", (Run(0, 5, Owner(0, ("content",))),))
    >>> runs_of(join_traced(["<", hello, ">"]))[0][:2]
    (1, 6)
    """
    pieces = list(parts)
    return TracedStr("".join(map(plain, pieces)), join_runs(pieces), joined_gap_free_prefix(pieces))


def fill_gaps(text: str, owner: Owner | PendingOwner) -> str:
    """Return a text with the parts that no run covers given to an owner.

    >>> hello = TracedStr("<Hello>", (Run(1, 6, Owner(0, ("content",))),))
    >>> [run[:2] for run in runs_of(fill_gaps(hello, Owner(-1, ())))]
    [(0, 1), (1, 6), (6, 7)]
    """
    gap_free = gap_free_prefix(text)
    runs = list(runs_of(text)[:gap_free])
    end = runs[-1].end if runs else 0
    for run in itertools.islice(runs_of(text), gap_free, None):
        if end < run.start:
            runs.append(Run(end, run.start, owner))
        runs.append(run)
        end = run.end
    if end < len(text):
        runs.append(Run(end, len(text), owner))
    if not runs:
        return text
    kind = TracedMarkup if isinstance(text, Markup) else TracedStr
    return kind(plain(text), tuple(runs), len(runs))


def coarsen(result: Any, value: object) -> Any:
    """Return a plain text with the common owner of the value that it is derived from. Other results are unchanged."""
    if type(result) is str:
        return TracedStr(result, owner_runs(value, len(result)))
    if type(result) is Markup:
        return TracedMarkup(plain(result), owner_runs(value, len(result)))
    return result


def to_traced_text(value: object) -> str:
    """Return a value as text. The text of a container that the template built has the common owner of its contents."""
    text: str = value if isinstance(value, str) else coarsen(str(value), value)
    return text


class _Traced(HasRuns, str):
    """Base of `TracedStr` and `TracedMarkup`, which differ in `_escape`."""

    __slots__ = ()

    def _escape(self, other: Any) -> Any:
        """Return another string as it is when combined with this one: escaped for markup."""
        return other

    def __new__(cls: type[T], text: str = "", runs: Runs = (), gap_free: int = 0) -> T:
        self = str.__new__(cls, text)
        self._runs = runs
        self._gap_free = gap_free
        return self

    def _make(self: T, text: str, runs: Runs, gap_free: int = 0) -> T:
        return type(self)(text, runs, gap_free)

    def _only_owner(self) -> Owner | PendingOwner | None:
        """Return the owner if a single run covers the string, else None."""
        return self._runs[0].owner if len(self._runs) == 1 and self._runs[0][:2] == (0, len(self)) else None

    def _slice(self: T, start: int, end: int) -> T:
        return self._make(str.__getitem__(self, slice(start, end)), cut_runs(self._runs, start, end))

    def _slices(self: T, parts: Iterable[str], *, gap: int | None) -> list[T]:
        """Return the slices of consecutive parts, `gap` characters apart, or at their next occurrence if None."""
        slices, offset = [], 0
        for part in parts:
            start = str.find(self, part, offset) if gap is None else offset
            slices.append(self._slice(start, start + len(part)))
            offset = start + len(part) + (gap or 0)
        return slices

    def _coarsened(self: T, text: str, *others: object) -> T:
        return self._make(text, owner_runs((self, *others), len(text)))

    # ==================
    # Slicing and splitting
    # ==================

    def __getitem__(self: T, key: SupportsIndex | slice) -> T:
        if not isinstance(key, slice):
            text = str.__getitem__(self, key)
            index = range(len(self))[key.__index__()]
            return self._make(text, cut_runs(self._runs, index, index + 1))
        start, stop, step = key.indices(len(self))
        if step == 1:
            return self._slice(start, max(start, stop))
        text = str.__getitem__(self, key)
        if (owner := self._only_owner()) is not None:
            return self._make(text, (Run(0, len(text), owner),))
        return self._make(text, join_runs([self[index] for index in range(start, stop, step)]))

    def __iter__(self: T) -> Iterator[T]:
        return (self[index] for index in range(len(self)))

    def strip(self: T, chars: str | None = None, /) -> T:
        return self.lstrip(chars).rstrip(chars)

    def lstrip(self: T, chars: str | None = None, /) -> T:
        return self._slice(len(self) - len(str.lstrip(self, chars)), len(self))

    def rstrip(self: T, chars: str | None = None, /) -> T:
        return self._slice(0, len(str.rstrip(self, chars)))

    def removeprefix(self: T, prefix: str, /) -> T:
        return self._slice(len(self) - len(str.removeprefix(self, prefix)), len(self))

    def removesuffix(self: T, suffix: str, /) -> T:
        return self._slice(0, len(str.removesuffix(self, suffix)))

    def split(self: T, sep: str | None = None, maxsplit: SupportsIndex = -1) -> list[T]:  # type: ignore[override]
        return self._slices(str.split(self, sep, maxsplit), gap=None if sep is None else len(sep))

    def rsplit(self: T, sep: str | None = None, maxsplit: SupportsIndex = -1) -> list[T]:  # type: ignore[override]
        return self._slices(str.rsplit(self, sep, maxsplit), gap=None if sep is None else len(sep))

    def splitlines(self: T, keepends: bool = False) -> list[T]:  # type: ignore[override]
        lines = self._slices(str.splitlines(self, True), gap=0)
        if keepends:
            return lines
        return [line._slice(0, len(text)) for line, text in zip(lines, str.splitlines(self), strict=True)]

    def partition(self: T, sep: str, /) -> tuple[T, T, T]:
        before, middle, after = self._slices(str.partition(self, sep), gap=0)
        return before, middle, after

    def rpartition(self: T, sep: str, /) -> tuple[T, T, T]:
        before, middle, after = self._slices(str.rpartition(self, sep), gap=0)
        return before, middle, after

    # ==================
    # Joining and formatting
    # ==================

    def __add__(self: T, other: Any) -> T:
        # A Markup on the right escapes a plain string on its left.
        if not isinstance(other, str) or (hasattr(other, "__html__") and not hasattr(self, "__html__")):
            return NotImplemented
        pieces = [self, self._escape(other)]
        return self._make("".join(map(plain, pieces)), join_runs(pieces), joined_gap_free_prefix(pieces))

    def __radd__(self: T, other: Any) -> T:
        if not isinstance(other, str) or (hasattr(other, "__html__") and not hasattr(self, "__html__")):
            return NotImplemented
        pieces = [self._escape(other), self]
        return self._make("".join(map(plain, pieces)), join_runs(pieces))

    def __mul__(self: T, count: SupportsIndex) -> T:
        text = str.__mul__(self, count)
        if (owner := self._only_owner()) is not None:
            return self._make(text, (Run(0, len(text), owner),))
        return self._make(text, join_runs([self] * (len(text) // len(self) if self else 1)))

    __rmul__ = __mul__

    def join(self: T, parts: Iterable[str], /) -> T:
        escaped = [self._escape(part) for part in parts]
        text = plain(self).join(escaped)
        pieces = [piece for part in escaped for piece in (self, part)][1:]
        return self._make(text, join_runs(pieces))

    def replace(self: T, old: str, new: str, count: SupportsIndex = -1, /) -> T:
        new = self._escape(new)
        text = plain(self).replace(plain(old), plain(new), count)
        if not old:
            return self._coarsened(text, new)
        if new and not runs_of(new) and (owner := self._only_owner()) is not None:
            return self._make(text, spaced_runs(plain(self).split(old, count), len(new), owner))
        pieces: list[str] = []
        for part in self.split(old, count):
            pieces += [new, part]
        return self._make(text, join_runs(pieces[1:]))

    def __mod__(self: T, values: Any) -> T:
        return self._formatted(plain(self) % _plain_values(values), values)

    def _formatted(self: T, text: str, values: Any) -> T:
        """Return the formatted text with runs. Formats other than `%s` and `%(name)s` give a coarse result."""
        pieces: list[str] = []
        positional = list(values) if isinstance(values, tuple) else [values]
        offset = 0
        for match in _PERCENT_S.finditer(plain(self)):
            pieces.append(self._slice(offset, match.start()))
            offset = match.end()
            if match.group() == "%%":
                pieces.append("%")
            elif match.group(1) is not None and isinstance(values, Mapping):
                pieces.append(to_traced_text(values.get(match.group(1))))
            elif positional:
                pieces.append(to_traced_text(positional.pop(0)))
        pieces.append(self._slice(offset, len(self)))
        exact = "".join(map(plain, pieces)) == text
        return self._make(text, join_runs(pieces)) if exact else self._coarsened(text, *positional)

    # ==================
    # Case and padding
    # ==================

    def _changed(self: T, text: str) -> T:
        if len(text) == len(self):
            return self._make(text, self._runs)
        return self._coarsened(text)

    def lower(self: T) -> T:
        return self._changed(str.lower(self))

    def upper(self: T) -> T:
        return self._changed(str.upper(self))

    def swapcase(self: T) -> T:
        return self._changed(str.swapcase(self))

    def casefold(self: T) -> T:
        return self._changed(str.casefold(self))

    def capitalize(self: T) -> T:
        return self._changed(str.capitalize(self))

    def title(self: T) -> T:
        return self._changed(str.title(self))

    def translate(self: T, table: Any, /) -> T:
        return self._changed(str.translate(self, table))

    def expandtabs(self: T, tabsize: SupportsIndex = 8) -> T:
        return self._changed(str.expandtabs(self, tabsize))

    def ljust(self: T, width: SupportsIndex, fillchar: str = " ", /) -> T:
        return self._make(str.ljust(self, width, fillchar), self._runs)

    def rjust(self: T, width: SupportsIndex, fillchar: str = " ", /) -> T:
        text = str.rjust(self, width, fillchar)
        return self._make(text, join_runs([" " * (len(text) - len(self)), self]))

    def center(self: T, width: SupportsIndex, fillchar: str = " ", /) -> T:
        text = str.center(self, width, fillchar)
        padding = len(text) - len(self)
        # CPython puts the odd fill character on the left if the width is odd too.
        left = padding // 2 + (padding & len(text) & 1)
        return self._make(text, join_runs([" " * left, self]))

    def zfill(self: T, width: SupportsIndex, /) -> T:
        text = str.zfill(self, width)
        return self._make(text, join_runs([" " * (len(text) - len(self)), self]))


class TracedStr(_Traced):
    """A `str` with runs.

    >>> content = TracedStr("  Hello ", (Run(0, 8, Owner(0, ("content",))),))
    >>> turn = "<" + content.strip() + ">"
    >>> turn, turn._runs[0][:2]
    ('<Hello>', (1, 6))
    """

    __slots__ = ("_gap_free", "_runs")

    def __str__(self) -> str:
        return self


class TracedMarkup(_Traced, Markup):  # type: ignore[misc]
    """A `Markup` with runs. It escapes the strings it is combined with, as `Markup` does."""

    __slots__ = ("_gap_free", "_runs")

    def __str__(self) -> str:
        return TracedStr(plain(self), self._runs)

    def __repr__(self) -> str:
        return f"Markup({plain(self)!r})"

    def __iter__(self) -> Iterator[TracedStr]:  # type: ignore[override]
        # Iteration over a Markup yields plain strings.
        return iter(TracedStr(plain(self), self._runs))

    def _escape(self, other: Any) -> Any:
        escaped = plain(Markup.escape(other))
        if isinstance(other, str) and escaped == plain(other):
            return other
        return TracedStr(escaped, owner_runs(other, len(escaped)))

    def __mod__(self, values: Any) -> TracedMarkup:
        return self._formatted(plain(Markup(plain(self)) % _plain_values(values)), values)


def _plain_values(values: Any) -> Any:
    """Return the right operand of `%` with exact strings in place of traced ones."""
    if isinstance(values, tuple):
        return tuple(map(_plain_values, values))
    if isinstance(values, Markup):
        return Markup(plain(values))
    return plain(values) if isinstance(values, str) else values
