"""The input of a scanner: tokens that were fed and not yet emitted, and the markers to search for in them."""

from __future__ import annotations

import itertools
import sys
from array import array
from bisect import bisect_left
from collections.abc import Callable
from typing import NamedTuple

from renderers.core.native import native
from renderers.parsing.grammar import SPACES
from renderers.parsing.pieces import MARKER_CHARACTERS, NO_PIECES, Pieces

_NOWHERE = sys.maxsize
_find_start = bisect_left if native is None else native.find_start
"""Find the first of the positions of tokens that is not below a position, between two indices."""


def find_starts_in_python(positions: array[int], wanted: list[int], /) -> list[int]:
    """Return for each of some positions the index of the first of the positions of tokens that is not below it.

    >>> find_starts_in_python(array("Q", [0, 3, 5]), [0, 1, 6])
    [0, 1, 3]
    """
    return [bisect_left(positions, position) for position in wanted]


find_starts = find_starts_in_python if native is None else native.find_starts


def find_mark_in_python(text: str, marks: list[int], characters: str, start: int, offset: int, /) -> int:
    """Return the first position in a text from `start` on with one of some characters. -1 if there is none.

    `marks` are the positions to look at, in ascending order. They count from `offset` characters before the text.

    >>> find_mark_in_python("a|b/c", [11, 13], "/", 0, 10)
    3
    """
    for index in range(bisect_left(marks, start + offset), len(marks)):
        position = marks[index] - offset
        if text[position] in characters:
            return position
    return -1


find_mark = find_mark_in_python if native is None else native.find_mark


class MarkerSet(NamedTuple):
    """Markers to search for, as byte text. A marker that is a token is one character."""

    markers: tuple[str, ...]
    """The longest ones first."""
    tokens: str
    """The markers that are tokens, which are one character each."""
    texts: tuple[str, ...]
    """All other markers."""
    beginnings: frozenset[str]
    """The texts that are the beginning of a marker. A chunk can end with one of these."""

    @classmethod
    def of(cls, *markers: str) -> MarkerSet:
        unique = tuple(sorted({*markers} - {""}, key=len, reverse=True))
        tokens = [marker for marker in unique if MARKER_CHARACTERS.fullmatch(marker)]
        texts = tuple(marker for marker in unique if marker not in tokens)
        return cls(
            unique, "".join(tokens), texts, frozenset(text[:size] for text in texts for size in range(1, len(text)))
        )

    def occurs_in(self, text: str) -> bool:
        return any(map(text.__contains__, self.markers))

    def partial_suffix_length(self, text: str, start: int) -> int:
        """Return how many characters at the end of a text, from `start` on, are the beginning of a marker."""
        if not self.beginnings:
            return 0
        end = text[max(start, len(text) - len(self.texts[0]) + 1) :]
        for size in range(len(end), 0, -1):
            if end[-size:] in self.beginnings:
                return size
        return 0


class AwaitedMarkers:
    """Know whether one of some markers has arrived in a text that arrives in pieces, or a number of characters."""

    __slots__ = ("_limit", "_markers", "_overlap")

    def __init__(self, markers: MarkerSet, overlap: str, limit: int) -> None:
        """`overlap` is the end of the text so far, if it is the beginning of a marker."""
        self._markers, self._overlap, self._limit = markers, overlap, limit

    def have_arrived(self, piece: str) -> bool:
        text = self._overlap + piece
        self._overlap = text[len(text) - self._markers.partial_suffix_length(text, 0) :]
        self._limit -= len(piece)
        return self._limit <= 0 or self._markers.occurs_in(text)


class InputBuffer:
    """Tokens as pieces of byte text, numbered from 0 on, after the tokens of a prompt with numbers below 0.

    `position` is the first character that was not read. `end` is the position of the whole input, prompt included,
    at which the next piece begins.
    """

    def __init__(self, prefill: Pieces = NO_PIECES) -> None:
        self.byte_text, self._starts, self._marks = prefill
        self.position = 0
        self.end = self.completion_start = len(prefill.byte_text)
        """The first character of the completion. Tokens with a number below 0 belong to the prompt."""
        self._first_token = -len(prefill.starts)
        # The position of the text in the whole input.
        self._offset = 0
        # The next occurrence of each text that was searched for, or the complement of a position that it is not before.
        self._occurrences: dict[str, int] = {}
        # The next token of each set of tokens that was searched for.
        self._token_occurrences: dict[str, int] = {}
        # The last position in the whole input that a token was searched for, and the index of that token.
        self._known, self._known_index = -1, 0
        self.deferred: list[Pieces] = []
        """Tokens that are not searched before an awaited text arrives."""
        self._has_arrived: Callable[[str], bool]

    def add(self, pieces: Pieces) -> bool:
        """Append tokens. Return False if they are deferred, so that there is nothing to read."""
        byte_text, starts, marks = pieces
        self.end += len(byte_text)
        if not self.deferred:
            if self._starts:
                byte_text, starts, marks = self.byte_text + byte_text, self._starts + starts, self._marks + marks
            self.byte_text, self._starts, self._marks = byte_text, starts, marks
            self._forget_occurrences()
            return True
        self.deferred.append(pieces)
        if self._has_arrived(byte_text):
            self.resume()
            return True
        return False

    def defer(self, awaited: MarkerSet, *, limit: int = sys.maxsize) -> None:
        """Defer all tokens until one of some markers arrives, or `limit` more characters."""
        text = self.byte_text
        overlap = text[len(text) - awaited.partial_suffix_length(text, self.position) :]
        self.defer_until(AwaitedMarkers(awaited, overlap, limit).have_arrived)

    def defer_until(self, has_arrived: Callable[[str], bool]) -> None:
        """Defer all tokens until a function of the text of each further chunk returns True."""
        self.discard_read()
        self._has_arrived = has_arrived
        self.deferred = [Pieces(self.byte_text, self._starts, self._marks)]
        self.byte_text, self._starts, self._marks = NO_PIECES

    def resume(self) -> None:
        if self.deferred:
            texts, starts, marks = zip(*self.deferred, strict=True)
            self.byte_text = "".join(texts)
            self._starts = array("Q", itertools.chain.from_iterable(starts))
            self._marks = list(itertools.chain.from_iterable(marks))
            self._forget_occurrences()
            self.deferred = []

    def discard_read(self) -> None:
        """Drop the tokens that were read completely. A token that was read in part stays."""
        starts, read_to = self._starts, self._offset + self.position
        count = _find_start(starts, read_to, 0, len(starts))
        start = starts[count] if count < len(starts) else self._offset + len(self.byte_text)
        if start > read_to:
            count -= 1
            start = starts[count]
        if count:
            size = start - self._offset
            self._first_token += count
            self._offset = start
            self.position -= size
            self.completion_start = max(0, self.completion_start - size)
            self.byte_text, self._starts = self.byte_text[size:], starts[count:]
            self._marks = self._marks and self._marks[bisect_left(self._marks, start) :]
            self._forget_occurrences()

    def _forget_occurrences(self) -> None:
        self._occurrences.clear()
        self._token_occurrences.clear()
        self._known, self._known_index = -1, 0

    @property
    def is_empty(self) -> bool:
        return not (self._starts or self.deferred)

    def skip_token(self) -> None:
        """Count a token that was read without the buffer, which must be empty."""
        self._first_token += 1

    def find(self, marker_set: MarkerSet, start: int | None = None) -> tuple[int, str] | None:
        """Return the first marker of a set and its position, from `start` or else from `position` on.

        Of two markers at the same position the longer one is returned. Occurrences are remembered, so that finding all
        of them takes one pass over the input for each text, and one over the tokens for each set.
        """
        start = self.position if start is None else start
        byte_text, (_, tokens, texts, _) = self.byte_text, marker_set
        first, first_marker = _NOWHERE, ""
        if self._marks:
            first = self._token_occurrences.get(tokens, -1)
            if first < start:
                first = find_mark(byte_text, self._marks, tokens, start, self._offset)
                self._token_occurrences[tokens] = first = first if first >= 0 else _NOWHERE
            if first < _NOWHERE:
                first_marker = byte_text[first]
        if texts:
            occurrences = self._occurrences
            for marker in texts:
                position = occurrences.get(marker, -1)
                if position < start:
                    position = max(start, ~position)
                    if position <= first:
                        # An occurrence after another marker is not needed yet.
                        position = byte_text.find(marker, position, first + len(marker))
                        if position < 0:
                            position = _NOWHERE if first == _NOWHERE else ~(first + 1)
                        occurrences[marker] = position
                    if position < 0:
                        continue
                if position < first or (position == first and len(first_marker) == 1):
                    first, first_marker = position, marker
        return (first, first_marker) if first < _NOWHERE else None

    def has_marker(self, start: int, end: int) -> bool:
        """Return True if a marker character is between two positions."""
        marks = self._marks
        index = bisect_left(marks, start + self._offset)
        return index < len(marks) and marks[index] < end + self._offset

    def skip_spaces(self, limit: int) -> int:
        """Return the first position that is not whitespace. At most `limit` characters are skipped."""
        text = self.byte_text[self.position : self.position + limit]
        return self.position + len(text) - len(text.lstrip(SPACES))

    def offset_of(self, position: int) -> int:
        """Return the position in the whole input, which does not change when tokens are discarded."""
        return self._offset + position

    def token_at(self, position: int) -> int:
        """Return the number of the first token that begins at a position or after it."""
        position += self._offset
        distance = position - self._known
        if distance:
            starts, index = self._starts, self._known_index
            if distance == 1 and index + 1 < len(starts) and starts[index] < position <= starts[index + 1]:
                # After a marker that is a token.
                index += 1
            elif distance > 0:
                index = _find_start(starts, position, index, len(starts))
            else:
                index = _find_start(starts, position, 0, index)
            self._known, self._known_index = position, index
        return self._first_token + self._known_index
