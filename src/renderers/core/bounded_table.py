"""`BoundedTable`: a bounded memo table that threads and forked processes share without a lock."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

V = TypeVar("V")
_MISSING: Any = object()


class BoundedTable(Generic[V]):
    """Keep the results of the last `keep` to twice `keep` keys that were used.

    There are two generations of entries: a full one replaces the older one, and an entry that is used moves to the
    recent one. Each step is a single operation on a dict, so no lock is needed. Threads that race compute a result
    more than once, which is harmless because a result depends on its key alone.

    >>> table = BoundedTable[int](keep=2)
    >>> table.get("six times seven", lambda: 6 * 7), table.get("six times seven", lambda: 0)
    (42, 42)
    """

    def __init__(self, *, keep: int) -> None:
        self._keep = keep
        self._recent: dict[Hashable, V] = {}
        self._older: dict[Hashable, V] = {}

    def get(self, key: Hashable, compute: Callable[[], V]) -> V:
        """Return the result for a key, computed if it is not in the table. An error is not kept."""
        recent = self._recent
        value: Any = recent.get(key, _MISSING)
        if value is _MISSING:
            value = self._older.get(key, _MISSING)
            if value is _MISSING:
                value = compute()
            if len(recent) >= self._keep:
                self._older, self._recent = recent, {}
            self._recent[key] = value
        result: V = value
        return result

    def clear(self) -> None:
        """Drop all results."""
        self._recent, self._older = {}, {}

    def __len__(self) -> int:
        return len({*self._recent, *self._older})
