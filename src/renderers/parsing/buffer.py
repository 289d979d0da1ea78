"""The input of a scanner: tokens that were fed and not yet emitted, and the markers to search for in them."""

from __future__ import annotations

import sys
from bisect import bisect_left
from typing import NamedTuple

from renderers.parsing.grammar import SPACES
from renderers.parsing.pieces import NO_PIECES, Pieces

_NOWHERE = sys.maxsize


class MarkerSet(NamedTuple):
    """Markers to search for, as byte text. A marker that is a token is one character."""

    markers: tuple[str, ...]
    """The longest ones first."""
    multi_character: tuple[str, ...]
    """The markers of more than one character. A chunk can end within one of these."""
    any_ascii: bool
    """True if any marker can occur in ASCII text."""

    @classmethod
    def of(cls, *markers: str) -> MarkerSet:
        unique = tuple(sorted({*markers} - {""}, key=len, reverse=True))
        multi_character = tuple(marker for marker in unique if len(marker) > 1)
        return cls(unique, multi_character, any(map(str.isascii, unique)))

    def occurs_in(self, text: str) -> bool:
        return any(marker in text for marker in self.markers)

    def partial_suffix_length(self, text: str, start: int) -> int:
        """Return how many characters at the end of a text, from `start` on, are the beginning of a marker."""
        longest = len(self.markers[0]) if self.multi_character else 1
        for size in range(min(longest - 1, len(text) - start), 0, -1):
            if any(marker.startswith(text[-size:]) for marker in self.multi_character):
                return size
        return 0


class InputBuffer:
    """Tokens as pieces of byte text, numbered from `first_token` on.

    `position` is the first character that was not read.
    """

    def __init__(self, *, first_token: int = 0) -> None:
        self.byte_text = ""
        self.position = 0
        self.completion_start = 0
        """The first character of the completion. Tokens with a number below 0 belong to the prompt."""
        self._starts = NO_PIECES.starts
        self._first_token = first_token
        # The next occurrence of each marker that was searched for.
        self._occurrences: dict[str, int] = {}
        self.deferred: list[Pieces] = []
        """Tokens that are not searched before an awaited marker arrives."""
        self._awaited: MarkerSet
        self._overlap = ""

    def add(self, pieces: Pieces) -> bool:
        """Append tokens. Return False if they are deferred, so that there is nothing to read."""
        if not self.deferred:
            self._set(Pieces.joined([Pieces(self.byte_text, self._starts), pieces]) if self._starts else pieces)
            return True
        self.deferred.append(pieces)
        text = self._overlap + pieces.byte_text
        if self._awaited.occurs_in(text):
            self.resume()
            return True
        self._overlap = text[len(text) - self._awaited.partial_suffix_length(text, 0) :]
        return False

    def defer(self, awaited: MarkerSet) -> None:
        """Defer all tokens until one of some markers arrives."""
        self.discard_read()
        text = self.byte_text
        self._awaited, self._overlap = awaited, text[len(text) - awaited.partial_suffix_length(text, 0) :]
        self.deferred = [Pieces(text, self._starts)]
        self._set(NO_PIECES)

    def resume(self) -> None:
        if self.deferred:
            self._set(Pieces.joined(self.deferred))
            self.deferred = []

    def discard_read(self) -> None:
        """Drop the tokens that were read completely. A token that was read in part stays."""
        count = bisect_left(self._starts, self.position)
        if self._start_of(count) > self.position:
            count -= 1
        if count:
            start = self._start_of(count)
            self._first_token += count
            self._set(Pieces(self.byte_text, self._starts).after(count))
            self.position -= start

    def _start_of(self, index: int) -> int:
        """Return the first character of a token, or the end of the text for the token after the last one."""
        return self._starts[index] if index < len(self._starts) else len(self.byte_text)

    def _set(self, pieces: Pieces) -> None:
        self.byte_text, self._starts = pieces
        self._occurrences.clear()
        self.completion_start = self._start_of(-self._first_token) if self._first_token < 0 else 0

    def find(self, marker_set: MarkerSet, start: int | None = None) -> tuple[int, str] | None:
        """Return the first marker of a set and its position, from `start` or else from `position` on.

        Of two markers at the same position the longer one is returned. Occurrences are remembered,
        so that finding all markers takes one pass over the text for each of them.
        """
        if not marker_set.any_ascii and self.byte_text.isascii():
            return None
        start = self.position if start is None else start
        byte_text, occurrences = self.byte_text, self._occurrences
        first, first_marker = _NOWHERE, ""
        for marker in marker_set.markers:
            position = occurrences.get(marker, -1)
            if position < start:
                position = byte_text.find(marker, start)
                if position < 0:
                    position = _NOWHERE
                occurrences[marker] = position
            if position < first:
                first, first_marker = position, marker
        return (first, first_marker) if first < _NOWHERE else None

    def skip_spaces(self, limit: int) -> int:
        """Return the first position that is not whitespace. At most `limit` characters are skipped."""
        text = self.byte_text[self.position : self.position + limit]
        return self.position + len(text) - len(text.lstrip(SPACES))

    def token_at(self, position: int) -> int:
        """Return the number of the first token that begins at a position or after it."""
        return self._first_token + bisect_left(self._starts, position)
