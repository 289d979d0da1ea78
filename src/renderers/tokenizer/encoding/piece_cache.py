"""A cache of encoded texts that recur: turn headers, tool definitions, the growing history of a conversation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Generic, TypeVar

Ids = TypeVar("Ids", bound=Sequence[int])
_CHARACTERS = 2**21
"""The default bound of a cache. The ids of that many characters take some megabytes."""


class PieceCache(Generic[Ids]):
    """Two-generation cache from text to token ids, bounded by 2 × `characters`.

    A full generation replaces the older one, and a text that is used again moves to the new one. Threads share the
    cache without a lock: two that miss the same text both encode it, to the same ids.

    >>> cache = PieceCache(lambda texts: [(len(text),) for text in texts], characters=100)
    >>> cache.lookup(["bc", "bc"])
    {'bc': (2,)}
    """

    def __init__(self, encode: Callable[[list[str]], Iterable[Ids]], *, characters: int = _CHARACTERS) -> None:
        self._encode = encode
        self._capacity = characters
        self._young: dict[str, Ids] = {}
        self._old: dict[str, Ids] = {}
        self._size = 0

    def lookup(self, texts: Iterable[str]) -> Mapping[str, Ids]:
        """Return a mapping with the ids of all texts. Those that are not cached are encoded in one call.

        The mapping may be the cache itself. Do not modify it.
        """
        young, old = self._young, self._old
        missing = set(texts).difference(young)
        if not missing:
            return young
        entries = {text: ids for text in missing if (ids := old.get(text)) is not None}
        new = list(missing.difference(entries))
        entries.update(zip(new, self._encode(new), strict=True))
        long = {text: entries.pop(text) for text in new if len(text) > self._capacity >> 3}
        young.update(entries)
        self._size += sum(map(len, entries))
        if self._size > self._capacity:
            self._young, self._old, self._size = {}, young, 0
        return {**young, **long} if long else young
