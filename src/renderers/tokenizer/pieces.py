"""Ids of pieces of text that come again and again: headers of turns, tool definitions, a history that grows."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence

__all__ = ["PieceCache"]


class PieceCache:
    """Keeps the ids of pieces, the latest `characters` to twice as many of them.

    Threads share it without a lock: two that miss the same piece both encode it, and come to the same ids.

    >>> cache = PieceCache(lambda texts: [[len(text)] for text in texts], characters=100)
    >>> cache.encode(["a", "bc", "a"])
    [array('I', [1]), array('I', [2]), array('I', [1])]
    """

    def __init__(self, encode: Callable[[list[str]], Sequence[Sequence[int]]], *, characters: int) -> None:
        self._encode = encode
        self._most = characters
        self._young: dict[str, array[int]] = {}
        self._old: dict[str, array[int]] = {}
        self._size = 0

    def encode(self, texts: Sequence[str]) -> list[array[int]]:
        """Returns the ids of each text; those that are not known are encoded in one call."""
        known = {text: ids for text in texts if (ids := self._young.get(text) or self._old.get(text)) is not None}
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        known.update(zip(missing, (array("I", ids) for ids in self._encode(missing)), strict=True))
        for text, ids in known.items():
            self._keep(text, ids)
        return [known[text] for text in texts]

    def _keep(self, text: str, ids: array[int]) -> None:
        if text in self._young or len(text) > self._most >> 3:
            return
        if self._size > self._most:
            self._young, self._old, self._size = {}, self._young, 0
        self._young[text] = ids
        self._size += len(text)
