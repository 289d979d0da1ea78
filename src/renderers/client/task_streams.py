"""`TaskStream`: iterate over an async generator that runs in a task of its own."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from typing import Generic, Self, TypeVar

from renderers.client.shared_tasks import retrieve_error

__all__ = ["TaskStream"]

T = TypeVar("T")


class TaskStream(Generic[T]):
    """The items of an async generator that runs in a task of its own, from the first item that is awaited.

    A generator that is left before its end is closed by the garbage collector or by the end of the event loop. Both
    close nested generators at once, each in a task of its own, which fails. A task is cancelled as a whole.
    """

    def __init__(self, items: AsyncGenerator[T, None]) -> None:
        self._items = items
        # None after the last item.
        self._ready: asyncio.Queue[tuple[T] | None] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None
        self._is_closed = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        if self._is_closed:
            raise StopAsyncIteration
        if self._task is None:
            self._task = asyncio.ensure_future(self._run())
            self._task.add_done_callback(retrieve_error)
        elif self._task.done() and self._ready.empty():
            raise StopAsyncIteration
        item = await self._ready.get()
        if item is None:
            if not self._is_closed:
                await self._task
            raise StopAsyncIteration
        return item[0]

    async def aclose(self) -> None:
        """Cancel the task and wait until it has closed the generator. Items that were not awaited are dropped.

        The iteration of another task that waits for an item ends.
        """
        self._is_closed = True
        if self._task is None:
            await self._items.aclose()
            return
        self._task.cancel()
        await asyncio.wait([self._task])
        while not self._ready.empty():
            self._ready.get_nowait()
        # A task that is cancelled before it runs puts nothing.
        self._ready.put_nowait(None)

    async def _run(self) -> None:
        try:
            async with contextlib.aclosing(self._items) as items:
                async for item in items:
                    self._ready.put_nowait((item,))
        finally:
            self._ready.put_nowait(None)
