"""A cache of encoded texts that recur: turn headers, tool definitions, the growing history of a conversation."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence


class PieceCache:
    """Two-generation cache from text to token ids, bounded by 2 × `characters`.

    Threads share it without a lock: two that miss the same text both encode it, to the same ids.

    >>> cache = PieceCache(lambda texts: [[len(text)] for text in texts], characters=100)
    >>> cache.encode(["a", "bc", "a"])
    [array('I', [1]), array('I', [2]), array('I', [1])]
    """

    def __init__(self, encode: Callable[[list[str]], Sequence[Sequence[int]]], *, characters: int) -> None:
        self._encode = encode
        self._capacity = characters
        self._young: dict[str, array[int]] = {}
        self._old: dict[str, array[int]] = {}
        self._size = 0

    def encode(self, texts: Sequence[str]) -> list[array[int]]:
        """Return the ids of each text. Texts that are not cached are encoded in one call."""
        entries = {text: ids for text in texts if (ids := self._young.get(text) or self._old.get(text)) is not None}
        missing = [text for text in dict.fromkeys(texts) if text not in entries]
        entries.update(zip(missing, (array("I", ids) for ids in self._encode(missing)), strict=True))
        for text, ids in entries.items():
            self._store(text, ids)
        return [entries[text] for text in texts]

    def _store(self, text: str, ids: array[int]) -> None:
        if text in self._young or len(text) > self._capacity >> 3:
            return
        if self._size > self._capacity:
            self._young, self._old, self._size = {}, self._young, 0
        self._young[text] = ids
        self._size += len(text)
