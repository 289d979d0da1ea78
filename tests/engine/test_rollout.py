"""`Rollout` against a real vLLM: rows have the ids and the logprobs of the engine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from renderers import ChatRenderer
from renderers.client import InferenceClient
from renderers.rollout import Rollout, RolloutRow
from tests.engine.evidence import assert_logprobs_match, wait_until_idle
from tests.engine.server import EngineServer
from tests.engine.turns import ANSWER, CALL, ENDLESS, FREE, QUESTION, REGEX, RESULT, SCRIPT, Turn
from tests.support.conversations import TOOLS


@asynccontextmanager
async def open_rollout(server: EngineServer, renderer: ChatRenderer) -> AsyncIterator[Rollout]:
    """Start a rollout with a client, which the end of the block closes."""
    async with InferenceClient(server.url, model=server.model) as client:
        yield Rollout(renderer, client, [QUESTION], tools=TOOLS)


async def sample_turns(rollout: Rollout, renderer: ChatRenderer, turns: tuple[Turn, ...]) -> None:
    """Sample turns one after another, with the result of a tool between them."""
    for number, turn in enumerate(turns):
        if number:
            rollout.add([RESULT])
        assert await rollout.generate(sampling_params=turn.sampling_params(renderer)) is not None


def check_rows(
    server: EngineServer, rollout: Rollout, prompts: list[list[int]], *, with_scores: bool = True
) -> list[RolloutRow]:
    """Check that rows have every sampled token once, after the prompts of the engine, with the scores of the engine."""
    rows = rollout.rows()
    sampled = [turn.token_ids for branch in rollout.branches for turn in branch.turns]
    assert sum(sum(row.loss_mask) for row in rows) == sum(map(len, sampled))
    assert all(any(row.token_ids[: len(prompt)] == prompt for row in rows) for prompt in prompts)
    for row in rows:
        flags = row.sampled_mask
        assert len(row.token_ids) == len(flags) == len(row.logprobs)
        if not with_scores:
            continue
        scored_from = flags.index(True)
        ids, logprobs = row.token_ids[scored_from:], row.logprobs[scored_from:]
        assert_logprobs_match(server, row.token_ids[:scored_from], ids, logprobs, only=flags[scored_from:])
    return rows


@pytest.mark.parametrize(
    "turns",
    [
        pytest.param(SCRIPT, id="forced turns"),
        pytest.param((FREE,) * 6, id="random turns"),
        pytest.param((REGEX,) * 4, id="tokens that no tokenizer makes"),
    ],
)
def test_the_rows_of_a_rollout_have_the_ids_and_logprobs_of_the_engine(
    turns: tuple[Turn, ...], server: EngineServer, renderer: ChatRenderer, record_property: Any, tmp_path: Path
) -> None:
    async def run() -> Rollout:
        async with open_rollout(server, renderer) as rollout:
            await sample_turns(rollout, renderer, turns)
            return rollout

    before = len(server.prompts())
    rollout = asyncio.run(run())
    with_scores = all(turn.has_model_logprobs for turn in turns)
    rows = check_rows(server, rollout, server.prompts()[before:], with_scores=with_scores)
    rollout.save(tmp_path / "rollout.jsonl")
    assert Rollout.load(tmp_path / "rollout.jsonl").rows() == rows
    record_property("turns", len(turns))
    record_property("rows", len(rows))
    record_property("trained tokens", sum(sum(row.loss_mask) for row in rows))


def test_forks_at_the_same_time_share_the_turns_before_them(
    server: EngineServer, renderer: ChatRenderer, record_property: Any
) -> None:
    async def run() -> Rollout:
        async with open_rollout(server, renderer) as rollout:
            await sample_turns(rollout, renderer, (CALL,))
            rollout.add([RESULT])
            await asyncio.gather(*(sample_turns(fork, renderer, (FREE, ANSWER)) for fork in rollout.fork(8)))
            return rollout

    before = len(server.prompts())
    rollout = asyncio.run(run())
    rows = rollout.rows()
    prompts = server.prompts()[before:]
    assert len(prompts) == 1 + 2 * 8
    assert all(any(row.token_ids[: len(prompt)] == prompt for row in rows) for prompt in prompts)
    call, free, answer = (len(turn.ids(renderer)) or FREE.params["max_tokens"] for turn in (CALL, FREE, ANSWER))
    assert [sum(row.loss_mask) for row in rows] == [call + free + answer, *[free + answer] * 7]
    record_property("rows", len(rows))


def test_a_cancelled_turn_leaves_the_rollout_and_the_server_usable(
    server: EngineServer, renderer: ChatRenderer
) -> None:
    async def run() -> Rollout:
        async with open_rollout(server, renderer) as rollout:
            await sample_turns(rollout, renderer, (CALL,))
            rollout.add([RESULT])
            before = len(server.prompts())
            task = asyncio.create_task(rollout.generate(sampling_params=ENDLESS.params))
            while len(server.prompts()) == before:
                await asyncio.sleep(0.1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.to_thread(wait_until_idle, server)
            await sample_turns(rollout, renderer, (ANSWER,))
            return rollout

    [row] = check_rows(server, asyncio.run(run()), [])
    assert sum(row.loss_mask) == len(CALL.ids(renderer)) + len(ANSWER.ids(renderer))
