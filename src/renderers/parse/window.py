"""The tokens that a scanner has been given and not yet told of, as one text, and which token each character is of."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from renderers.parse.grammar import SPACES
from renderers.tokenizer.wire import FREE, UNKNOWN

if TYPE_CHECKING:
    from renderers.parse.tables import Watch

__all__ = ["Window"]

_SPACE = re.compile(f"[{SPACES}]*")
_FAR = 32
_MARKS = frozenset({UNKNOWN, *FREE})


class Window:
    """Tokens as pieces of wire text, numbered from `first` on.

    `at` is the first character that has not been read.

    >>> window = Window()
    >>> window.add(["Hel", "lo", "!"])
    True
    >>> window.wire, window.token(3), window.token(4)
    ('Hello!', 1, 2)
    """

    def __init__(self, *, first: int = 0) -> None:
        self.wire = ""
        self.at = 0
        self._pieces: Sequence[str] = ()
        self._first = first
        # Where marks were found, the next one each.
        self._places: dict[str, int] = {}
        # A character that a token begins with, and that token's place: from there others are looked for.
        self._near = (0, 0)
        # What is not looked at before a mark that is awaited comes; None while all is looked at.
        self._held: list[str] | None = None
        self._awaited: Watch
        self._overlap = ""

    def add(self, pieces: Sequence[str]) -> bool:
        """Adds tokens; says whether there is anything to read, which there is not while nothing awaited comes."""
        if self._held is None:
            self._set([*self._pieces, *pieces] if self._pieces else pieces, self.wire + "".join(pieces))
            return True
        self._held += pieces
        text = self._overlap + "".join(pieces)
        if not self._awaited.within(text):
            self._overlap = self._awaited.end_of(text)
            return False
        self.release()
        return True

    @property
    def holds(self) -> bool:
        """Whether all tokens are put aside."""
        return self._held is not None

    def hold(self, awaited: Watch) -> None:
        """Puts all tokens aside until one of some marks comes."""
        self.shrink()
        self._overlap = awaited.end_of(self.wire)
        self._held, self._awaited = list(self._pieces), awaited
        self._set((), "")

    def release(self) -> None:
        """Takes what was put aside back."""
        if self._held is not None:
            self._set(self._held, "".join(self._held))
            self._held = None

    def shrink(self) -> None:
        """Forgets the tokens that have been read as a whole."""
        place = self.token(self.at) - self._first
        start = self._near[0]
        if start > self.at:
            # The token that is read in part stays.
            place -= 1
            start -= len(self._pieces[place])
        if place:
            self._set(self._pieces[place:], self.wire[start:])
            self._first += place
            self.at -= start

    def _set(self, pieces: Sequence[str], wire: str) -> None:
        self._pieces, self.wire = pieces, wire
        self._near = (0, 0)
        self._places.clear()

    def find(self, watch: Watch, at: int | None = None) -> tuple[int, str] | None:
        """Returns the first of some marks from a character on, by default the first that has not been read.

        Each is looked for once and then remembered, so that finding all of them takes one pass for each.
        """
        start = self.at if at is None else at
        first, found = sys.maxsize, ""
        for mark in watch.marks:
            place = self._places.get(mark, -1)
            if place < start:
                place = self.wire.find(mark, start)
                self._places[mark] = place = sys.maxsize if place < 0 else place
            if place < first or (place == first and len(mark) > len(found)):
                first, found = place, mark
        return (first, found) if first < sys.maxsize else None

    @property
    def own(self) -> int:
        """The first character of the completion's own; those before it are of tokens below number 0, the prompt's."""
        return len("".join(self._pieces[: -self._first])) if self._first < 0 else 0

    @property
    def end(self) -> int:
        """The number of the token that would be added next."""
        return self._first + len(self._pieces)

    def skip_spaces(self, most: int) -> int:
        """Returns the first character from `at` on that is no space, looking at so many at most."""
        found = _SPACE.match(self.wire, self.at, self.at + most)
        return found.end() if found else self.at

    def token(self, at: int) -> int:
        """Returns the number of the first token that begins at a character or after it."""
        start, place = self._near
        if start != at:
            pieces = self._pieces
            start, place = self._jumped(at)
            while start < at:
                start += len(pieces[place])
                place += 1
            while start > at and start - len(pieces[place - 1]) >= at:
                place -= 1
                start -= len(pieces[place])
            while place and start == at and not pieces[place - 1]:
                place -= 1
            self._near = (start, place)
        return self._first + place

    def _jumped(self, at: int) -> tuple[int, int]:
        """Returns where a token begins and its place, to look from for one that is further on.

        Marks are found by searching for them, which is faster than counting.
        """
        start, place = self._near
        if at == len(self.wire):
            return at, len(self._pieces)
        mark = self.wire[at]
        if at - start < _FAR or mark not in _MARKS:
            return start, place
        place -= 1
        for _ in range(self.wire.count(mark, start, at) + 1):
            place = self._pieces.index(mark, place + 1)
        return at, place
