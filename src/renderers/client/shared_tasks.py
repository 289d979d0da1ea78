"""Share a task among all callers that need its result at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, TypeVar

__all__ = ["retrieve_error", "share_task"]

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


async def share_task(running: dict[K, asyncio.Task[T]], key: K, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Return the result of the running task of a key, or of a new one. Its error is raised to all callers."""
    if key not in running:
        task = asyncio.ensure_future(work())
        running[key] = task
        task.add_done_callback(lambda done: _forget(running, key, done))
    # A caller that is cancelled does not cancel the task of the others.
    return await asyncio.shield(running[key])


def _forget(running: dict[K, asyncio.Task[T]], key: K, done: asyncio.Task[T]) -> None:
    del running[key]
    # All callers may have been cancelled.
    retrieve_error(done)


def retrieve_error(done: asyncio.Task[Any]) -> None:
    """Mark the error of a task as seen. Otherwise asyncio logs it if the task is never awaited."""
    if not done.cancelled():
        done.exception()
