"""Join the byte texts of tokens to one text, with the positions of tokens and markers, in Python or in C."""

from __future__ import annotations

import itertools
import re
from array import array
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from renderers.core.native import native
from renderers.tokenizer.encoding.byte_text import FREE, UNKNOWN

_CACHED_TEXTS = 2**18
MARKER_CHARACTERS = re.compile(f"[{UNKNOWN}{''.join(FREE)}]")
"""The characters that stand for tokens in byte text, and the one for ids that are not tokens."""

# The entries of the table in C: see `src/native/join.c`.
_ENTRY = 16
_MARKER, _LONG = b"\xfe", b"\xff"
_SIZES = [bytes([size + 1]) for size in range(_ENTRY)]
_LARGEST_TABLE = 2**20
_SMALLEST_TABLE = 2**12


class Pieces(NamedTuple):
    """The byte text of tokens, the position of each token, and the positions of all marker characters.

    Positions count from the beginning of the whole input, of which this is a part.

    >>> Pieces.of(["Hel", "lo", "", "!"])
    Pieces(byte_text='Hello!', starts=array('Q', [0, 3, 5, 5]), marks=[])
    """

    byte_text: str
    starts: array[int]
    marks: list[int]

    @classmethod
    def of(cls, texts: Sequence[str], first: int = 0) -> Pieces:
        """Return the pieces of some texts. The first one begins at a position of the input."""
        byte_text = "".join(texts)
        starts = array("Q", itertools.accumulate(map(len, texts), initial=first))
        starts.pop()
        marks = (
            [] if byte_text.isascii() else [first + match.start() for match in MARKER_CHARACTERS.finditer(byte_text)]
        )
        return cls(byte_text, starts, marks)


NO_PIECES = Pieces.of([])


class PieceTexts(dict[int, str]):
    """The byte texts of the ids that were joined so far, looked up in the vocabulary when first needed.

    `overrides` are byte texts of certain ids. Texts beyond a number are not kept: any number may be an id.

    >>> PieceTexts({0: "Hel", 1: "lo"}, {1: "p", 2: "!"}).join([0, 1, 2]).byte_text
    'Help!'
    """

    def __init__(self, texts: Mapping[int, str], overrides: Mapping[int, str]) -> None:
        super().__init__(overrides)
        self._texts = texts

    def __missing__(self, number: int) -> str:
        text = self._texts[number]
        if len(self) < _CACHED_TEXTS:
            self[number] = text
        return text

    def join(self, ids: list[Any], first: int = 0) -> Pieces | None:
        """Return the pieces of some ids. None if any of them is not a number that can be an id."""
        try:
            return Pieces.of(list(map(self.__getitem__, array("I", ids))), first)
        except Exception:
            # An object that is not a number can raise anything.
            return None


class PieceTable:
    """The same texts in a form that the C extension joins. An id is added when it is first needed.

    Threads can share it: the texts of ids never move, and adding an id twice changes nothing.

    >>> table = PieceTable({0: "Hel", 1: "lo"}, {1: "p"})
    >>> table.join([0, 1]).byte_text, table.join([-1]) is None
    ('Help', True)
    """

    def __init__(self, texts: Mapping[int, str], overrides: Mapping[int, str]) -> None:
        self._texts, self._overrides = texts, overrides
        self._entries = bytearray(_SMALLEST_TABLE * _ENTRY)
        self._long_texts = bytearray()

    def join(self, ids: list[Any], first: int = 0) -> Pieces | None:
        """Return the pieces of some ids. None if any of them is not a plain int, or has no entry in the table.

        An id that is not in the vocabulary may have none, and neither has a marker that takes two bytes.
        """
        joined = native.join(ids, self._entries, self._long_texts, first)
        if isinstance(joined, list):
            self._add(joined)
            joined = native.join(ids, self._entries, self._long_texts, first)
            if isinstance(joined, list):
                return None
        byte_text, starts, marks = joined
        return Pieces(byte_text, array("Q", starts), marks)

    def _add(self, missing: list[Any]) -> None:
        """Add ids, up to the first one that cannot have an entry."""
        entries, texts, overrides = self._entries, self._texts, self._overrides
        for number in missing:
            if type(number) is not int or not 0 <= number < _LARGEST_TABLE:
                return
            text, at = overrides.get(number) or texts[number], number * _ENTRY
            if at >= len(entries):
                if text == UNKNOWN:
                    return
                entries.extend(bytes(max(len(entries), at + _ENTRY - len(entries))))
            elif entries[at]:
                continue
            entry = _SIZES[len(text)] + text.encode() if text.isascii() and len(text) < _ENTRY else self._entry_of(text)
            if entry is None:
                return
            entries[at : at + len(entry)] = entry

    def _entry_of(self, text: str) -> bytes | None:
        """Return the entry for a text that is not a short one in ASCII. None if there is none."""
        try:
            data = text.encode("latin-1")
        except UnicodeEncodeError:
            return None
        if MARKER_CHARACTERS.search(text):
            return _MARKER + data if len(data) == 1 else None
        if len(data) < _ENTRY:
            return _SIZES[len(data)] + data
        self._long_texts += data
        # Another thread may have added a text as well, so this one is not always at the end.
        place = array("I", [self._long_texts.find(data), len(data)])
        return _LONG.ljust(place.itemsize, b"\0") + place.tobytes()
