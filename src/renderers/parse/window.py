"""The tokens that a scanner has been given and not yet told of, as one text, and which token each character is of."""

from __future__ import annotations

import re
import sys
from bisect import bisect_left
from typing import TYPE_CHECKING

from renderers.parse.grammar import SPACES
from renderers.parse.pieces import NO_PIECES, Pieces

if TYPE_CHECKING:
    from renderers.parse.tables import Watch

__all__ = ["Window"]

_SPACE = re.compile(f"[{SPACES}]*")


class Window:
    """Tokens as pieces of wire text, numbered from `first` on.

    `at` is the first character that has not been read.

    >>> window = Window()
    >>> window.add(Pieces.of(["Hel", "lo", "!"]))
    True
    >>> window.wire, window.token(3), window.token(4)
    ('Hello!', 1, 2)
    """

    def __init__(self, *, first: int = 0) -> None:
        self.wire = ""
        self.at = 0
        self.own = 0
        """The first character of the completion's own; those before it are of tokens below number 0, the prompt's."""
        self._starts = NO_PIECES.starts
        self._first = first
        # Where marks were found, the next one each.
        self._places: dict[str, int] = {}
        # What is not looked at before a mark that is awaited comes; None while all is looked at.
        self._held: list[Pieces] | None = None
        self._awaited: Watch
        self._overlap = ""

    def add(self, pieces: Pieces) -> bool:
        """Adds tokens; says whether there is anything to read, which there is not while nothing awaited comes."""
        if self._held is None:
            self._set(Pieces.joined([self._pieces, pieces]) if self._starts else pieces)
            return True
        self._held.append(pieces)
        text = self._overlap + pieces.wire
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
        self._held, self._awaited = [self._pieces], awaited
        self._set(NO_PIECES)

    def release(self) -> None:
        """Takes what was put aside back."""
        if self._held is not None:
            self._set(Pieces.joined(self._held))
            self._held = None

    def shrink(self) -> None:
        """Forgets the tokens that have been read as a whole."""
        place = bisect_left(self._starts, self.at)
        start = self._start(place)
        if start > self.at:
            # The token that is read in part stays.
            place -= 1
            start = self._start(place)
        if place:
            self._first += place
            self._set(self._pieces.after(place))
            self.at -= start

    @property
    def _pieces(self) -> Pieces:
        return Pieces(self.wire, self._starts)

    def _start(self, place: int) -> int:
        """Returns where a token begins, or where the next one would."""
        return self._starts[place] if place < len(self._starts) else len(self.wire)

    def _set(self, pieces: Pieces) -> None:
        self.wire, self._starts = pieces
        self._places.clear()
        self.own = self._start(-self._first) if self._first < 0 else 0

    def find(self, watch: Watch, at: int | None = None) -> tuple[int, str] | None:
        """Returns the first of some marks from a character on, by default the first that has not been read.

        Each is looked for once and then remembered, so that finding all of them takes one pass for each.
        """
        if not watch.in_ascii and self.wire.isascii():
            return None
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
    def end(self) -> int:
        """The number of the token that would be added next."""
        return self._first + len(self._starts)

    def skip_spaces(self, most: int) -> int:
        """Returns the first character from `at` on that is no space, looking at so many at most."""
        found = _SPACE.match(self.wire, self.at, self.at + most)
        return found.end() if found else self.at

    def token(self, at: int) -> int:
        """Returns the number of the first token that begins at a character or after it."""
        return self._first + bisect_left(self._starts, at)
