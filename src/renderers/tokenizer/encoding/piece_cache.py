"""A cache of encoded texts that recur: turn headers, tool definitions, the growing history of a conversation."""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar, cast

V = TypeVar("V")
_CAPACITY = 2**24
_ENTRY = 200
"""The bytes of an entry of places besides their numbers: the objects, and their places in a dict."""


class TokenPlaces(NamedTuple):
    """The start and end of each token of a piece, in bytes or in characters."""

    starts: array[int]
    ends: array[int]
    in_bytes: bool
    """True if places are bytes of the UTF-8 form, False if they are characters. In ASCII text they are the same."""

    @classmethod
    def of_offsets(cls, offsets: Sequence[tuple[int, int]]) -> TokenPlaces:
        """Return the places of tokens from their first characters and the characters after their last."""
        starts, ends = ([place[at] for place in offsets] for at in (0, 1))
        return cls(array("I", starts), array("I", ends), in_bytes=False)


PackedIds = bytes
"""The ids of a text as unsigned integers of 32 bits. The garbage collector does not visit a cache of bytes."""


def pack_ids(ids: Iterable[int]) -> PackedIds:
    """Return ids as bytes.

    >>> list(unpack_ids(pack_ids([7, 8])))
    [7, 8]
    """
    return array("I", ids).tobytes()


def unpack_ids(packed: PackedIds) -> memoryview[int]:
    """Return a view of packed ids as ints."""
    return memoryview(packed).cast("I")


def size_of_places(places: TokenPlaces) -> int:
    """Return the bytes of the places of tokens."""
    return _ENTRY + 2 * 4 * len(places.starts)


class PieceCache(Generic[V]):
    """Two-generation cache from text to an encoded form, bounded by 2 × `capacity` bytes.

    A full generation replaces the older one, and a text that is used again moves to the new one. Threads share the
    cache without a lock: two that miss the same text both encode it, to the same ids.

    >>> cache = PieceCache(lambda texts: map(len, texts), size=int.__sizeof__)
    >>> cache.lookup(["bc", "d", "bc"])
    [2, 1, 2]
    """

    def __init__(
        self, encode: Callable[[list[str]], Iterable[V]], *, size: Callable[[V], int], capacity: int = _CAPACITY
    ) -> None:
        """Take the function that encodes texts, and one that returns the bytes of an encoded form."""
        self._encode = encode
        self._size_of = size
        self._capacity = capacity
        self._young: dict[str, V] = {}
        self._old: dict[str, V] = {}
        self._size = 0

    def lookup(self, texts: Sequence[str]) -> list[V]:
        """Return the encoded form of each text. Those that are not cached are encoded in one call."""
        young = self._young
        # No encoded form is None.
        known = list(map(young.get, texts))
        missing = dict.fromkeys([text for text, value in zip(texts, known, strict=True) if value is None])
        if not missing:
            return cast("list[V]", known)
        entries = self._entries_of(missing)
        self.keep(young, entries)
        return [entries[text] if value is None else value for text, value in zip(texts, known, strict=True)]

    @property
    def generations(self) -> tuple[dict[str, V], dict[str, V]]:
        """The entries of the young and of the old generation, to be read only."""
        return self._young, self._old

    def keep(self, young: dict[str, V], entries: dict[str, V]) -> None:
        """Add entries to the young generation, except for large ones. That of `generations` may be older by now."""
        size, most = self._size_of_entries(entries), self._capacity >> 3
        if size <= most:
            self._add(young, entries, size)
            return
        if self._may_be_large(entries):
            entries = {text: value for text, value in entries.items() if not self._is_large(text, value)}
        # In portions, so that a generation does not become much larger than the capacity.
        rest, portion = iter(entries.items()), max(1, len(entries) * most // size)
        while added := dict(itertools.islice(rest, portion)):
            self._add(young, added, self._size_of_entries(added))
            young = self._young

    def _add(self, young: dict[str, V], entries: dict[str, V], size: int) -> None:
        young.update(entries)
        self._size += size
        if self._size > self._capacity:
            self._young, self._old, self._size = {}, young, 0

    def _entries_of(self, texts: Iterable[str]) -> dict[str, V]:
        """Return the encoded forms of different texts, from the old generation or encoded now."""
        old = self._old
        new = [text for text in texts if text not in old]
        entries = dict(zip(new, self._encode(new), strict=True)) if new else {}
        entries.update({text: old[text] for text in texts if text not in entries})
        return entries

    def _size_of_entries(self, entries: Mapping[str, V]) -> int:
        return sum(map(str.__sizeof__, entries)) + sum(map(self._size_of, entries.values()))

    def _may_be_large(self, entries: Mapping[str, V]) -> bool:
        """Return False if no entry is large. Faster than to test each of them."""
        largest = max(map(str.__sizeof__, entries)) + max(map(self._size_of, entries.values()))
        return largest > self._capacity >> 3

    def _is_large(self, text: str, value: V) -> bool:
        return str.__sizeof__(text) + self._size_of(value) > self._capacity >> 3
