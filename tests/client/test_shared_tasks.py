"""Tests of `renderers.client.shared_tasks`."""

from __future__ import annotations

import asyncio

from renderers.client.shared_tasks import share_task


def test_callers_at_the_same_time_share_a_result_and_an_error() -> None:
    calls = 0

    async def fail() -> int:
        nonlocal calls
        calls += 1
        await asyncio.sleep(0.01)
        raise ValueError("no")

    async def call() -> None:
        running: dict[str, asyncio.Task[int]] = {}
        for _ in range(2):
            errors = await asyncio.gather(*(share_task(running, "a", fail) for _ in range(9)), return_exceptions=True)
            assert all(isinstance(error, ValueError) for error in errors)
            assert running == {}

    asyncio.run(call())
    assert calls == 2


def test_a_cancelled_caller_does_not_cancel_the_others() -> None:
    async def answer() -> int:
        await asyncio.sleep(0.01)
        return 42

    async def call() -> int:
        running: dict[str, asyncio.Task[int]] = {}
        first, second = (asyncio.ensure_future(share_task(running, "a", answer)) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        return await second

    assert asyncio.run(call()) == 42
