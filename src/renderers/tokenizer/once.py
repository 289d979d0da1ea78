"""Do a piece of work once, however many threads ask for it at the same time."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

__all__ = ["Once"]

V = TypeVar("V")


class _Flight(Generic[V]):
    """One run of the work: whoever holds the lock does it, and the others find its outcome."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.outcome: tuple[V] | Exception | None = None


class Once(Generic[V]):
    """Runs work once for each key and version, and keeps the last few results.

    Callers that come while the work runs wait for it and get its result or its exception. A result is
    kept until another version of its key replaces it or `keep` newer keys push it out; a failure is
    never kept. A child process starts with the kept results and with no work under way. Meant for
    objects that live as long as their module, as each one stays known to the fork handler.

    >>> squares = Once[int](keep=2)
    >>> squares.get("three", version=1, work=lambda: 3 * 3)
    9
    """

    def __init__(self, *, keep: int) -> None:
        self._keep = keep
        self._start()
        self._kept: OrderedDict[Hashable, tuple[Hashable, V]] = OrderedDict()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._start)

    def _start(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[tuple[Hashable, Hashable], _Flight[V]] = {}

    def get(self, key: Hashable, *, version: Hashable, work: Callable[[], V]) -> V:
        """Returns the result of `work`, running it unless somebody did or does for this key and version.

        An interrupt may strike anywhere. A lock that is held by a `with` is released then, and the next
        in line finds no outcome and does the work, so nobody waits for a thread that has gone away.
        """
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None and kept[0] == version:
                self._kept.move_to_end(key)
                return kept[1]
            flight = self._running.setdefault((key, version), _Flight())
        with flight.lock:
            if isinstance(flight.outcome, Exception):
                raise flight.outcome
            if flight.outcome is not None:
                return flight.outcome[0]
            try:
                result = work()
            except Exception as error:
                self._land(key, version, flight)
                # Only now, so that nobody who comes later can be given this failure.
                flight.outcome = error
                raise
            self._store(key, version, result)
            self._land(key, version, flight)
            flight.outcome = (result,)
            return result

    def _land(self, key: Hashable, version: Hashable, flight: _Flight[V]) -> None:
        with self._lock:
            if self._running.get((key, version)) is flight:
                del self._running[key, version]

    def _store(self, key: Hashable, version: Hashable, result: V) -> None:
        if not self._keep:
            return
        with self._lock:
            self._kept[key] = (version, result)
            self._kept.move_to_end(key)
            while len(self._kept) > self._keep:
                self._kept.popitem(last=False)
