"""`stream` against a real vLLM: events while tokens arrive, and the result of `generate`."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from renderers import ChatRenderer, ContentDelta, ReasoningDelta
from renderers.client import TurnStream, stream
from tests.engine.clients import CLIENTS, ClientKind, connect
from tests.engine.evidence import assert_logprobs_match, wait_until_idle
from tests.engine.server import EngineServer
from tests.engine.turns import ENDLESS, QUESTION, SCRIPT, Turn
from tests.support.conversations import TOOLS


def open_stream(client: Any, server: EngineServer, renderer: ChatRenderer, params: dict[str, Any]) -> TurnStream:
    """Return the stream of a turn with tools."""
    return stream(
        client=client,
        renderer=renderer,
        messages=[QUESTION],
        model=server.model,
        tools=TOOLS,
        sampling_params=params,
    )


@pytest.mark.parametrize("kind", CLIENTS)
def test_a_stream_has_the_ids_of_the_engine_and_the_events_of_the_parser(
    kind: ClientKind, server: EngineServer, renderer: ChatRenderer, record_property: Any
) -> None:
    async def run(turn: Turn) -> tuple[list[Any], dict[str, Any]]:
        async with connect(kind, server) as client:
            events = open_stream(client, server, renderer, turn.sampling_params(renderer))
            return [event async for event in events], await events.result()

    count = 0
    for turn in SCRIPT:
        before = len(server.prompts())
        events, result = asyncio.run(run(turn))
        assert server.prompts()[before:] == [result["prompt_ids"]]
        assert result["completion_ids"] == turn.ids(renderer)
        assert_logprobs_match(server, result["prompt_ids"], result["completion_ids"], result["completion_logprobs"])
        parsed = renderer.parse_response(result["completion_ids"], tools=TOOLS, prompt_ids=result["prompt_ids"])
        assert (result["content"], result["tool_calls"]) == (parsed.content, parsed.tool_calls)
        count += len(events)
    record_property("turns", len(SCRIPT))
    record_property("events", count)


@pytest.mark.parametrize("kind", CLIENTS)
def test_a_closed_stream_ends_the_request(kind: ClientKind, server: EngineServer, renderer: ChatRenderer) -> None:
    async def run() -> Any:
        async with (
            connect(kind, server) as client,
            open_stream(client, server, renderer, ENDLESS.params) as events,
        ):
            return await anext(events)

    assert isinstance(asyncio.run(run()), ContentDelta | ReasoningDelta)
    wait_until_idle(server)
