"""Tests of `renderers.client.task_streams`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest

from renderers.client.task_streams import TaskStream


class Numbers:
    """A generator of numbers that records how it was left."""

    def __init__(self, *, error: BaseException | None = None) -> None:
        self.error = error
        self.tasks: set[asyncio.Task[object] | None] = set()
        self.is_closed = False

    async def generate(self) -> AsyncGenerator[int, None]:
        try:
            for number in range(3):
                self.tasks.add(asyncio.current_task())
                await asyncio.sleep(0)
                yield number
            if self.error is not None:
                raise self.error
            await asyncio.sleep(3600)
        finally:
            self.tasks.add(asyncio.current_task())
            self.is_closed = True


async def collect(items: TaskStream[int], count: int) -> list[int]:
    return [await anext(items) for _ in range(count)]


async def collect_all(items: TaskStream[int]) -> list[int]:
    return [item async for item in items]


def test_a_generator_runs_in_one_task_until_it_is_closed() -> None:
    numbers = Numbers()

    async def call() -> None:
        items = TaskStream(numbers.generate())
        assert await collect(items, 2) == [0, 1]
        await items.aclose()
        assert numbers.is_closed
        assert asyncio.current_task() not in numbers.tasks
        assert len(numbers.tasks) == 1
        assert [item async for item in items] == []

    asyncio.run(call())


def test_an_error_is_raised_after_the_items_before_it() -> None:
    async def call() -> None:
        items = TaskStream(Numbers(error=ValueError("no")).generate())
        assert await collect(items, 3) == [0, 1, 2]
        with pytest.raises(ValueError, match="no"):
            await anext(items)
        assert [item async for item in items] == []

    asyncio.run(call())


def test_an_error_that_is_not_awaited_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def call() -> None:
        items = TaskStream(Numbers(error=ValueError("no")).generate())
        assert await anext(items) == 0
        await asyncio.sleep(0.01)
        await items.aclose()

    asyncio.run(call())
    assert caplog.records == []


def test_a_generator_that_was_not_started_is_closed() -> None:
    async def call() -> None:
        items = TaskStream(Numbers().generate())
        await items.aclose()
        assert [item async for item in items] == []

    asyncio.run(call())


@pytest.mark.parametrize("steps", [1, 2, 8])
def test_closing_ends_an_iteration_that_waits(steps: int) -> None:
    async def call() -> None:
        items = TaskStream(Numbers().generate())
        reading = asyncio.ensure_future(collect_all(items))
        for _ in range(steps):
            await asyncio.sleep(0)
        await items.aclose()
        assert await asyncio.wait_for(reading, 10) in ([], [0], [0, 1], [0, 1, 2])
        assert [item async for item in items] == []

    asyncio.run(call())


def test_the_end_of_the_event_loop_closes_the_generator() -> None:
    numbers, kept = Numbers(), []

    async def call() -> None:
        kept.append(TaskStream(numbers.generate()))
        await anext(kept[0])

    asyncio.run(call())
    assert numbers.is_closed
    assert len(numbers.tasks) == 1
