"""`generate` against a real vLLM: the ids and logprobs of a rollout are those of the engine."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from typing import Any

import pytest

from renderers import Bridge, ChatRenderer, OverlongPromptError
from renderers.client import generate
from tests.engine.clients import CLIENTS, ClientKind, connect
from tests.engine.evidence import assert_logprobs_match, wait_until_idle
from tests.engine.server import EngineServer
from tests.engine.turns import ANSWER, CALL, ENDLESS, FREE, QUESTION, REGEX, RESULT, SCRIPT, Turn
from tests.support.conversations import TOOLS, user

Result = dict[str, Any]


async def run_turns(client: Any, server: EngineServer, renderer: ChatRenderer, turns: Sequence[Turn]) -> list[Result]:
    """Sample turns one after another, with the result of a tool between them. Render again if a bridge is refused."""
    messages: list[Any] = [QUESTION]
    prompt_ids: list[int] | None = None
    results: list[Result] = []
    for turn in turns:
        result = await generate(
            client=client,
            renderer=renderer,
            messages=messages,
            model=server.model,
            prompt_ids=prompt_ids,
            tools=TOOLS,
            sampling_params=turn.sampling_params(renderer),
        )
        results.append(result)
        parsed = renderer.parse_response(result["completion_ids"], tools=TOOLS, prompt_ids=result["prompt_ids"])
        messages += [parsed.to_message(), RESULT]
        bridged = renderer.bridge(result["prompt_ids"], result["completion_ids"], [RESULT], tools=TOOLS)
        prompt_ids = bridged.tokens.token_ids if isinstance(bridged, Bridge) else None
    return results


def run(kind: ClientKind, server: EngineServer, renderer: ChatRenderer, turns: Sequence[Turn]) -> list[Result]:
    """Sample turns with a client, and check that the engine had the recorded prompts and scores."""

    async def rollout() -> list[Result]:
        async with connect(kind, server) as client:
            return await run_turns(client, server, renderer, turns)

    before = len(server.prompts())
    results = asyncio.run(rollout())
    assert server.prompts()[before:] == [result["prompt_ids"] for result in results]
    for turn, result in zip(turns, results, strict=True):
        if turn.has_model_logprobs:
            assert_logprobs_match(server, result["prompt_ids"], result["completion_ids"], result["completion_logprobs"])
    return results


def count_extensions(results: Sequence[Result]) -> int:
    """Return the number of prompts that start with the prompt and the completion before them."""
    return sum(
        later["prompt_ids"][: len(prior)] == prior
        for result, later in itertools.pairwise(results)
        for prior in [result["prompt_ids"] + result["completion_ids"]]
    )


def count_sampled(results: Sequence[Result]) -> int:
    return sum(len(result["completion_ids"]) for result in results)


@pytest.mark.parametrize("kind", CLIENTS)
def test_a_rollout_with_forced_turns_keeps_the_ids_of_the_engine(
    kind: ClientKind, server: EngineServer, renderer: ChatRenderer, record_property: Any
) -> None:
    results = run(kind, server, renderer, SCRIPT)
    assert [result["completion_ids"] for result in results] == [turn.ids(renderer) for turn in SCRIPT]
    reasons = ["tool_calls", "stop", "length", "tool_calls", "stop"]
    assert [result["finish_reason"] for result in results] == reasons
    statuses = [[str(call.status) for call in result["tool_calls"]] for result in results]
    assert statuses == [["ok"], ["invalid_json"], ["unclosed_block"], ["ok"], []]
    assert results[0]["tool_calls"][0].arguments == {"city": "Oslo"}
    assert results[0]["reasoning_content"] == "Look it up."
    assert results[-1]["content"] == "Rain, 7 °C."
    assert count_extensions(results) == len(SCRIPT) - 1
    record_property("turns", len(results))
    record_property("sampled tokens", count_sampled(results))


@pytest.mark.parametrize("kind", CLIENTS)
def test_a_rollout_with_random_turns_keeps_the_ids_of_the_engine(
    kind: ClientKind, server: EngineServer, renderer: ChatRenderer, record_property: Any
) -> None:
    results = run(kind, server, renderer, [FREE] * 6)
    assert all(len(result["completion_ids"]) == FREE.params["max_tokens"] for result in results)
    assert count_extensions(results) == len(results) - 1
    record_property("turns", len(results))
    record_property("sampled tokens", count_sampled(results))


@pytest.mark.parametrize("kind", CLIENTS)
def test_a_rollout_with_tokens_that_no_tokenizer_makes_keeps_them(
    kind: ClientKind, server: EngineServer, renderer: ChatRenderer, record_property: Any
) -> None:
    results = run(kind, server, renderer, [REGEX] * 4)
    encode, decode = renderer.tokenizer.encode, renderer.tokenizer.decode
    changed = [
        result
        for result in results
        if encode(decode(result["completion_ids"]), add_special_tokens=False) != result["completion_ids"]
    ]
    assert changed, "the engine sampled only tokens that the tokenizer makes as well"
    record_property("turns", len(results))
    record_property("turns that encode to other ids", len(changed))
    record_property("turns after a bridge", count_extensions(results))


@pytest.mark.parametrize("kind", CLIENTS)
def test_rollouts_at_the_same_time_keep_their_own_ids(
    kind: ClientKind, server: EngineServer, renderer: ChatRenderer, record_property: Any
) -> None:
    async def rollouts() -> list[list[Result]]:
        async with connect(kind, server) as client:
            work = (run_turns(client, server, renderer, [CALL, FREE, ANSWER]) for _ in range(16))
            return await asyncio.gather(*work)

    before = len(server.prompts())
    done = asyncio.run(rollouts())
    assert sorted(server.prompts()[before:]) == sorted(result["prompt_ids"] for results in done for result in results)
    assert all(count_extensions(results) == 2 for results in done)
    record_property("rollouts", len(done))
    record_property("sampled tokens", sum(map(count_sampled, done)))


@pytest.mark.parametrize("kind", CLIENTS)
def test_an_overlong_prompt_is_an_error_before_the_request(
    kind: ClientKind, server: EngineServer, renderer: ChatRenderer
) -> None:
    async def ask() -> None:
        async with connect(kind, server) as client:
            messages = [user("word " * server.context_length)]
            await generate(client=client, renderer=renderer, messages=messages, model=server.model)

    before = len(server.prompts())
    with pytest.raises(OverlongPromptError, match=rf"exceeds maximum context length \({server.context_length}\)"):
        asyncio.run(ask())
    assert len(server.prompts()) == before


@pytest.mark.parametrize("kind", CLIENTS)
def test_a_cancelled_request_leaves_the_server_usable(
    kind: ClientKind, server: EngineServer, renderer: ChatRenderer
) -> None:
    async def cancel() -> None:
        async with connect(kind, server) as client:
            before = len(server.prompts())
            task = asyncio.create_task(run_turns(client, server, renderer, [ENDLESS]))
            while len(server.prompts()) == before:
                await asyncio.sleep(0.1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(cancel())
    wait_until_idle(server)
    assert run(kind, server, renderer, [ANSWER])[0]["content"] == "Rain, 7 °C."
