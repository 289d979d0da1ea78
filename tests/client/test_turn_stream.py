"""`stream` yields the events of a turn while it is sampled, and ends with the result of `generate`."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable
from typing import Any

import openai
import pytest

from renderers.client import InferenceClient, generate, stream
from renderers.core.completions import ContentDelta, ReasoningDelta, StopToken, ToolCallEnd
from renderers.errors import EngineStreamError, OverlongPromptError
from tests.client.test_generate import ECHO, HI, RENDERER, MinimalRenderer, encode
from tests.support.scripted_server import Reply, ScriptedServer, serve

TURN = encode('<|think|>Look.<|/think|>Hello<|call|>{"name": "echo", "arguments": {}}<|/call|><|end|>')


def run_openai(server: ScriptedServer, use: Callable[[Any], Awaitable[Any]]) -> Any:
    async def call() -> Any:
        async with openai.AsyncOpenAI(base_url=f"{server.base_url}/v1", api_key="key", max_retries=0) as client:
            return await use(client)

    return asyncio.run(call())


def run_own(server: ScriptedServer, use: Callable[[Any], Awaitable[Any]]) -> Any:
    async def call() -> Any:
        async with InferenceClient(server.base_url) as client:
            return await use(client)

    return asyncio.run(call())


CLIENTS = pytest.mark.parametrize("run", [run_own, run_openai])
OPTIONS: dict[str, Any] = {"renderer": RENDERER, "messages": HI, "model": "test-model", "tools": ECHO}


@CLIENTS
@pytest.mark.parametrize("chunk", [1, 3, 1000])
def test_events_arrive_in_order_and_the_result_equals_that_of_generate(run: Any, chunk: int) -> None:
    async def use(client: Any) -> tuple[list[Any], dict[str, Any], dict[str, Any]]:
        turn = stream(client=client, **OPTIONS)
        events = [event async for event in turn]
        return events, await turn.result(), await generate(client=client, **OPTIONS)

    with serve(ScriptedServer([Reply(TURN, chunk=chunk)] * 2)) as server:
        events, result, expected = run(server, use)
    assert result.pop("prompt_attribution").token_ids == expected.pop("prompt_attribution").token_ids
    assert result == expected
    assert "".join(event.text for event in events if isinstance(event, ReasoningDelta)) == "Look."
    assert "".join(event.text for event in events if isinstance(event, ContentDelta)) == "Hello"
    assert [event.call.name for event in events if isinstance(event, ToolCallEnd)] == ["echo"]
    assert isinstance(events[-1], StopToken)
    assert [event.start for event in events] == [0, *(event.end for event in events[:-1])]


@CLIENTS
def test_the_result_can_be_awaited_without_reading_the_events(run: Any) -> None:
    with serve(ScriptedServer([Reply(TURN)])) as server:
        result = run(server, lambda client: stream(client=client, **OPTIONS).result())
    assert (result["content"], result["finish_reason"]) == ("Hello", "tool_calls")


@CLIENTS
@pytest.mark.parametrize("is_kept", [False, True])
def test_a_stream_that_is_left_is_closed_without_an_error(
    run: Any, is_kept: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """The garbage collector closes the stream, or the end of the event loop."""
    kept = []

    async def use(client: Any) -> None:
        turn = stream(client=client, **OPTIONS)
        await anext(turn)
        kept.extend([turn] * is_kept)
        del turn
        gc.collect()
        await asyncio.sleep(0.05)

    with serve(ScriptedServer([Reply(TURN * 9, event_delay=0.02)])) as server:
        run(server, use)
        gc.collect()
    assert [record for record in caplog.records if record.name == "asyncio"] == []


@CLIENTS
def test_a_stream_that_fails_has_no_result(run: Any) -> None:
    async def use(client: Any) -> None:
        turn = stream(client=client, **OPTIONS)
        with pytest.raises(EngineStreamError, match="before the completion did"):
            async for _ in turn:
                pass
        with pytest.raises(EngineStreamError, match="it has no result"):
            await turn.result()

    with serve(ScriptedServer([Reply(TURN, events=3)])) as server:
        run(server, use)


@CLIENTS
def test_a_stream_can_be_left_early(run: Any) -> None:
    async def use(client: Any) -> None:
        async with stream(client=client, **OPTIONS) as turn:
            async for _ in turn:
                break
        with pytest.raises(EngineStreamError, match="was closed before its end"):
            await turn.result()

    with serve(ScriptedServer([Reply(TURN, event_delay=0.02)])) as server:
        run(server, use)


@CLIENTS
def test_the_length_of_the_prompt_is_checked_first(run: Any) -> None:
    with serve(ScriptedServer([], max_model_len=2)) as server, pytest.raises(OverlongPromptError):
        run(server, lambda client: stream(client=client, **OPTIONS).result())
    assert server.samples == []


def test_a_renderer_without_a_parser_is_refused() -> None:
    with pytest.raises(TypeError, match="MinimalRenderer has no method parser"):
        stream(client=object(), renderer=MinimalRenderer(), messages=HI)
