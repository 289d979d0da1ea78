"""Join the byte texts of tokens to one text, with the positions of tokens and markers, in Python or in C."""

from __future__ import annotations

import itertools
import re
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from renderers.core.native import native
from renderers.core.token_ids import find_invalid_id
from renderers.tokenizer.encoding.byte_text import FREE, UNKNOWN, ByteTexts

_CACHED_TEXTS = 2**18
_NARROW_MARKERS = "".join(character for character in (UNKNOWN, *FREE) if character <= "\xff")
# A range, because a list of thousands of characters takes milliseconds to compile.
MARKER_CHARACTERS = re.compile(f"[{_NARROW_MARKERS}\u0100-{FREE[-1]}]")
"""The characters that stand for tokens in byte text, and the one for ids that are not tokens."""

_NEW_IDS_UNTIL_FILLED, _NEW_IDS_UNTIL_READ = 2**15, 2**12
"""The number of new ids that take as long as the texts of a whole vocabulary, computed or read from a file."""
_TOKENS_PER_NEW_ID = 2**8
"""The number of tokens that are joined again in the time of a new id."""

_new = tuple.__new__
"""Creates a named tuple in half the time of its constructor."""

# The entries of the table in C: see `src/native/table.h`.
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


class PieceTexts(Mapping[int, str]):
    """The byte texts of the ids that were joined so far, looked up in the vocabulary when first needed.

    `overrides` are byte texts of certain ids. Texts beyond a number are not kept: any number may be an id.

    >>> PieceTexts({0: "Hel", 1: "lo"}, {1: "p", 2: "!"}).join([0, 1, 2]).byte_text
    'Help!'
    """

    def __init__(self, texts: Mapping[int, str], overrides: Mapping[int, str]) -> None:
        self._texts = texts
        # The garbage collector does not visit the entries of a dict of texts, but it does those of a subclass.
        self._kept: dict[int, str] = dict(overrides)

    def __getitem__(self, number: int) -> str:
        try:
            return self._kept[number]
        except KeyError:
            text = self._texts[number]
        if len(self._kept) < _CACHED_TEXTS:
            self._kept[number] = text
        return text

    def __iter__(self) -> Iterator[int]:
        return iter(self._kept)

    def __len__(self) -> int:
        return len(self._kept)

    def join(self, ids: list[int], first: int = 0) -> Pieces | None:
        """Return the pieces of some ids. None if any of them is negative or larger than an id can be."""
        try:
            return Pieces.of(list(map(self.__getitem__, array("I", ids))), first)
        except OverflowError:
            return None


class PieceTable:
    """The same texts in a form that the C extension joins. An id is added when it is first needed.

    `vocabulary` returns the texts of a whole vocabulary, or None. They are added once enough tokens were joined to
    repay the time that it takes, which is less if the texts are `stored` in a file. `size` is a number of ids to make
    room for at once. Threads can share a table: adding an id twice changes nothing.

    >>> table = PieceTable({0: "Hel", 1: "lo"}, {1: "p"})
    >>> table.join([0, 1]).byte_text, table.join([-1]) is None
    ('Help', True)
    """

    def __init__(
        self,
        texts: Mapping[int, str],
        overrides: Mapping[int, str],
        vocabulary: Callable[[], ByteTexts | None] = lambda: None,
        *,
        stored: bool = False,
        size: int = _SMALLEST_TABLE,
    ) -> None:
        self._texts, self._overrides, self._vocabulary = texts, overrides, vocabulary
        # One attribute, so that threads always see entries with their own long texts.
        self._table = bytearray(min(size, _LARGEST_TABLE) * _ENTRY), bytearray()
        self._new_until_filled = _NEW_IDS_UNTIL_READ if stored else _NEW_IDS_UNTIL_FILLED

    def join(self, ids: list[Any], first: int = 0) -> Pieces | None:
        """Return the pieces of some ids. None if any of them has no entry in the table, or is not an id.

        An id that is not in the vocabulary may have none, and neither has a marker that takes two bytes.
        """
        entries, long_texts = self._table
        joined = native.join(ids, entries, long_texts, first)
        if isinstance(joined, list):
            if find_invalid_id(joined) >= 0:
                return None
            self._add(joined, entries, long_texts)
            self._count(len(joined) + len(ids) // _TOKENS_PER_NEW_ID)
            joined = native.join(ids, entries, long_texts, first)
            if isinstance(joined, list):
                return None
        byte_text, starts, marks = joined
        return _new(Pieces, (byte_text, array("Q", starts), marks))

    def text(self, ids: list[Any]) -> str | None:
        """Return the byte text of some ids. None if any of them has no entry in the table yet, or is not an id."""
        entries, long_texts = self._table
        joined = native.join(ids, entries, long_texts, 0)
        return None if isinstance(joined, list) else joined[0]

    def _count(self, new_ids: int) -> None:
        """Count new ids. Add the whole vocabulary when there were enough."""
        if self._new_until_filled >= 0:
            self._new_until_filled -= new_ids
            vocabulary = self._vocabulary() if self._new_until_filled < 0 else None
            if vocabulary is not None and len(vocabulary) <= _LARGEST_TABLE:
                self._table = self._filled(vocabulary)

    def _filled(self, vocabulary: ByteTexts) -> tuple[bytearray, bytearray]:
        """Return the table of a whole vocabulary."""
        texts = vocabulary.joined.encode("latin-1")
        entries = bytearray(len(vocabulary) * _ENTRY)
        native.fill(entries, texts, vocabulary.ends, _NARROW_MARKERS.encode("latin-1"))
        for number in self._overrides:
            # They are added when they are first needed.
            entries[number * _ENTRY : (number + 1) * _ENTRY] = bytes(_ENTRY) if number < len(vocabulary) else b""
        return entries, bytearray(texts)

    def _add(self, missing: list[int], entries: bytearray, long_texts: bytearray) -> None:
        """Add ids, up to the first one that cannot have an entry."""
        texts, overrides = self._texts, self._overrides
        for number in dict.fromkeys(missing):
            if not 0 <= number < _LARGEST_TABLE:
                return
            text, at = overrides.get(number) or texts[number], number * _ENTRY
            if at >= len(entries):
                if text == UNKNOWN:
                    return
                entries.extend(bytes(max(len(entries), at + _ENTRY - len(entries), _SMALLEST_TABLE)))
            elif entries[at]:
                continue
            entry = _entry_of(text, long_texts)
            if entry is None:
                return
            entries[at : at + len(entry)] = entry


def _entry_of(text: str, long_texts: bytearray) -> bytes | None:
    """Return the entry for a text. Add it to the long texts if it is one. None if it can have no entry."""
    if text.isascii() and len(text) < _ENTRY:
        return _SIZES[len(text)] + text.encode()
    try:
        data = text.encode("latin-1")
    except UnicodeEncodeError:
        return None
    if MARKER_CHARACTERS.search(text):
        return _MARKER + data if len(data) == 1 else None
    if len(data) < _ENTRY:
        return _SIZES[len(data)] + data
    long_texts += data
    # Another thread may have added a text as well, so this one is not always at the end.
    place = array("I", [long_texts.find(data), len(data)])
    return _LONG.ljust(place.itemsize, b"\0") + place.tobytes()
