"""Do a piece of work once, however many threads ask for it at the same time."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import CancelledError, Future
from typing import Generic, TypeVar

__all__ = ["Once"]

V = TypeVar("V")


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
        self._running: dict[tuple[Hashable, Hashable], Future[V]] = {}

    def get(self, key: Hashable, *, version: Hashable, work: Callable[[], V]) -> V:
        """Returns the result of `work`, running it unless somebody did or does for this key and version."""
        while True:
            with self._lock:
                kept = self._kept.get(key)
                if kept is not None and kept[0] == version:
                    self._kept.move_to_end(key)
                    return kept[1]
                future = self._running.get((key, version))
                leads = future is None
                if future is None:
                    future = self._running[key, version] = Future()
            if leads:
                return self._lead(future, key, version, work)
            try:
                return future.result()
            except CancelledError:
                # The thread that led was interrupted (Ctrl-C, say), which says nothing of the work.
                continue

    def _lead(self, future: Future[V], key: Hashable, version: Hashable, work: Callable[[], V]) -> V:
        try:
            result = work()
        except BaseException as error:
            with self._lock:
                self._running.pop((key, version), None)
            if isinstance(error, Exception):
                future.set_exception(error)
            else:
                future.cancel()
            raise
        with self._lock:
            self._running.pop((key, version), None)
            if self._keep:
                self._kept[key] = (version, result)
                self._kept.move_to_end(key)
                while len(self._kept) > self._keep:
                    self._kept.popitem(last=False)
        future.set_result(result)
        return result
