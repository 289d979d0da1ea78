"""A rollout with an `InferenceClient` goes on after every fault of a server, from its last whole turn."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from renderers import EXAMPLE_MODEL, ChatRenderer, create_renderer
from renderers.client import InferenceClient
from renderers.errors import EngineError, MalformedGenerateResponseError, OverlongPromptError
from renderers.rollout import Rollout
from tests.support.conversations import user
from tests.support.scripted_sampler import encode
from tests.support.scripted_server import Reply, ScriptedServer

pytest.importorskip("httpx")

OVERLONG = "This model's maximum context length is 16 tokens. However, your prompt has 28 input tokens."


@pytest.fixture(scope="module")
def renderer() -> ChatRenderer:
    return create_renderer(EXAMPLE_MODEL)


def state_of(rollout: Rollout) -> Any:
    return rollout.prompt_ids, rollout.messages, rollout.rows(), rollout.stop_reason


@pytest.mark.parametrize("engine", ["vllm-0.31", "vllm-0.32", "sglang"])
@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Reply(status=500), EngineError),
        (Reply(status=400, message="temperature must be positive"), EngineError),
        (Reply(status=400, message=OVERLONG), OverlongPromptError),
        (Reply([5, 6], reset=True), EngineError),
        (Reply([5, 6], cut_after=30), EngineError),
        (Reply(raw=b"<html>"), MalformedGenerateResponseError),
        (Reply([5, 6], logprobs=[-1.0]), MalformedGenerateResponseError),
        (Reply([5, -6]), MalformedGenerateResponseError),
        (Reply([5], delay=5), TimeoutError),
    ],
    ids=["500", "400", "overlong", "reset", "cut", "html", "logprobs", "negative", "cancelled"],
)
def test_a_fault_is_an_error_and_the_rollout_goes_on(
    renderer: ChatRenderer, engine: str, fault: Reply, error: type[Exception]
) -> None:
    first, last = (Reply(encode(renderer, text)) for text in ("A<|end|>", "B<|end|>"))
    server = ScriptedServer([first, fault, last], formats=[engine], owned_by="sglang" if engine == "sglang" else "vllm")

    async def run() -> Rollout:
        async with server.running(), InferenceClient(server.base_url, retries=0) as client:
            rollout = Rollout(renderer, client, [user("Hi")])
            await rollout.generate()
            rollout.add([user("And?")])
            before = state_of(rollout)
            with pytest.raises(error):
                await asyncio.wait_for(rollout.generate(), 0.5)
            assert state_of(rollout) == before
            await rollout.generate()
            return rollout

    [row] = asyncio.run(run()).rows()
    sampled = [token for token, is_sampled in zip(row.token_ids, row.sampled_mask, strict=True) if is_sampled]
    assert sampled == [*first.token_ids, *last.token_ids]
    logprobs = [value for value, is_sampled in zip(row.logprobs, row.sampled_mask, strict=True) if is_sampled]
    assert logprobs == [*first.logprob_list(), *last.logprob_list()]


def test_a_server_that_restarts_loses_no_turn(renderer: ChatRenderer) -> None:
    replies = [Reply(encode(renderer, text)) for text in ("A<|end|>", "B<|end|>")]
    server = ScriptedServer(replies)

    async def run() -> Rollout:
        await server.start()
        async with InferenceClient(server.base_url, retries=0) as client:
            rollout = Rollout(renderer, client, [user("Hi")])
            await rollout.generate()
            rollout.add([user("And?")])
            await server.stop()
            with pytest.raises(EngineError):
                await rollout.generate()
            await server.start()
            await rollout.generate()
        await server.stop()
        return rollout

    assert [turn.parsed.content for turn in asyncio.run(run()).turns] == ["A", "B"]
