"""`SingleFlight`: run work once for all threads that need its result, and cache the result."""

from __future__ import annotations

import os
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from renderers.core.exceptions import copy_exception

V = TypeVar("V")

_SETTING = os.environ.get("RENDERERS_CACHED_TOKENIZERS", "16")
if not _SETTING.isdecimal():
    raise ValueError(f"RENDERERS_CACHED_TOKENIZERS is {_SETTING!r}. Set it to a number of tokenizers, such as 16.")
CACHED_TOKENIZERS = int(_SETTING)
"""How many tokenizers are kept without users; see `load_tokenizer`."""


class _Flight(Generic[V]):
    """One run of the work. The thread that holds the lock runs it; the others read its outcome."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.outcome: tuple[V] | Exception | None = None


class SingleFlight(Generic[V]):
    """Run work once per key and version, and keep the results of the last `keep` keys, but no failures.

    Callers that arrive while the work runs wait for it and get its result or its exception. With `weak`, a result
    that is no longer kept is still found while something else refers to it. A forked child starts with the kept
    results and with no work in progress. For module-level objects: the fork handler keeps each of them for ever.

    >>> squares = SingleFlight[int](keep=2)
    >>> squares.get("three", version=1, work=lambda: 3 * 3)
    9
    """

    def __init__(self, *, keep: int, weak: bool = False) -> None:
        self._keep = keep
        self._weak = weak
        self._alive: weakref.WeakValueDictionary[tuple[Hashable, Hashable], V] = weakref.WeakValueDictionary()
        self._start()
        self._kept: OrderedDict[Hashable, tuple[Hashable, V]] = OrderedDict()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._start)

    def _start(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[tuple[Hashable, Hashable], _Flight[V]] = {}

    def get(self, key: Hashable, *, version: Hashable, work: Callable[[], V]) -> V:
        """Return the result of `work` for this key and version, from the cache or a run in progress if possible."""
        with self._lock:
            kept = self._kept.get(key)
            value = kept[1] if kept is not None and kept[0] == version else self._alive.get((key, version))
            if value is not None:
                self._store(key, version, value)
                return value
            flight = self._running.setdefault((key, version), _Flight())
        # If the running thread is interrupted, its lock is released and the next waiting thread runs the work.
        with flight.lock:
            if isinstance(flight.outcome, Exception):
                # Raising one object in several threads would mix their tracebacks.
                raise copy_exception(flight.outcome) from flight.outcome
            if flight.outcome is not None:
                return flight.outcome[0]
            try:
                result = work()
                with self._lock:
                    self._store(key, version, result)
            except Exception as error:
                # Before the outcome is set: a later caller must not get this failure.
                self._running.pop((key, version), None)
                flight.outcome = error
                raise
            self._running.pop((key, version), None)
            flight.outcome = (result,)
            return result

    def _store(self, key: Hashable, version: Hashable, result: V) -> None:
        """Keep a result. The caller holds the lock."""
        if self._weak:
            self._alive[key, version] = result
        self._kept[key] = (version, result)
        self._kept.move_to_end(key)
        while len(self._kept) > self._keep:
            self._kept.popitem(last=False)
