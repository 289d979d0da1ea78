"""Each request in flight has a connection of its own, and the connection is used again."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from renderers.client import Completion, InferenceClient
from renderers.client import connections as connections_module
from renderers.errors import EngineError
from tests.support.scripted_server import Reply, ScriptedServer


def connections_after(counts: list[int], *, delay: float = 0.05, max_connections: int | None = None) -> int:
    """Return the number of open connections after rounds with some numbers of requests at once."""
    server = ScriptedServer(lambda body: Reply([7], delay=delay))

    async def call() -> int:
        async with (
            server.running(),
            InferenceClient(server.base_url, engine="vllm", max_connections=max_connections) as client,
        ):
            for count in counts:
                await asyncio.gather(*(client.sample([1]) for _ in range(count)))
            await asyncio.sleep(0.05)
            return len(server._connections)

    return asyncio.run(call())


def test_requests_after_one_another_share_a_connection() -> None:
    assert connections_after([1, 1, 1]) == 1


def test_requests_at_once_have_connections_of_their_own() -> None:
    assert connections_after([20, 20]) == 20


def test_the_number_of_connections_is_limited() -> None:
    assert connections_after([20, 20], max_connections=3) == 3


@pytest.mark.parametrize("number", [0, -1, 1.5, True])
def test_the_limit_must_be_a_positive_int(number: Any) -> None:
    with pytest.raises(ValueError, match="max_connections must be an int from 1 on"):
        InferenceClient("http://localhost:8000", max_connections=number)


def test_failed_requests_free_their_connections() -> None:
    server = ScriptedServer([Reply(reset=True), Reply(status=500), Reply([7], cut_after=9), Reply([7])])

    async def call() -> Completion:
        async with server.running(), InferenceClient(server.base_url, engine="vllm", max_connections=1) as client:
            for _ in range(3):
                with pytest.raises(EngineError):
                    await client.sample([1])
            return await asyncio.wait_for(client.sample([1]), 30)

    assert asyncio.run(call()).token_ids == [7]


def test_unused_connections_are_closed_without_another_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections_module, "_KEEP_ALIVE", 0.02)
    server = ScriptedServer(lambda body: Reply([7]))

    async def call() -> None:
        async with server.running(), InferenceClient(server.base_url, engine="vllm") as client:
            await asyncio.gather(*(client.sample([1]) for _ in range(5)))
            async with asyncio.timeout(30):
                while server._connections:
                    await asyncio.sleep(0.01)

    asyncio.run(call())


def test_a_closed_client_closes_connections_in_use() -> None:
    server = ScriptedServer([Reply([7, 8], event_delay=0.05, chunk=1)])

    async def call() -> None:
        async with server.running():
            client = InferenceClient(server.base_url, engine="vllm")
            items = client.stream([1])
            await anext(items)
            await client.aclose()
            await items.aclose()
            # The server sees the end of a connection when it reads the next request.
            async with asyncio.timeout(30):
                while server._connections:
                    await asyncio.sleep(0.01)

    asyncio.run(call())
