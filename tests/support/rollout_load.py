"""Run many rollouts at once in one event loop, and measure the CPU time that they keep it busy."""

from __future__ import annotations

import asyncio
import time
import zlib
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from renderers import ChatRenderer, Completion, Rollout
from renderers.rollout import Sampler
from tests.support.conversations import TOOLS, tool, user
from tests.support.scripted_server import Reply

__all__ = ["LoadReport", "ReplyTable", "run_load", "wrong_tokens"]

_TICK = 0.001


@dataclass(frozen=True)
class ReplyTable:
    """Answer each prompt with one of some completions, chosen by a checksum of all its ids."""

    completions: Sequence[Sequence[int]]
    delay: float = 0.0

    def __call__(self, body: Mapping[str, Any]) -> Reply:
        return self.reply_to(body["token_ids"])

    def reply_to(self, prompt_ids: Sequence[int]) -> Reply:
        """Return the reply to a prompt. Its logprobs depend on the prompt too."""
        checksum = zlib.crc32(array("I", prompt_ids).tobytes())
        ids = self.completions[checksum % len(self.completions)]
        logprobs = [-((checksum + position) % 4096 + 1) / 1024 for position in range(len(ids))]
        return Reply(ids, logprobs, delay=self.delay)


@dataclass
class LoadReport:
    """Rollouts, and CPU seconds of the thread of the event loop, which do not depend on other processes."""

    rollouts: list[Rollout] = field(default_factory=list)
    turns: list[float] = field(default_factory=list)
    """The seconds of each turn apart from its request: checks, parsing, bridging."""
    longest_stall: float = 0.0
    """The longest time that the event loop needed for other tasks before it ran a task that was ready."""


@dataclass
class _TimedSampler:
    """Sample with a client, and measure the time."""

    client: Sampler
    seconds: float = 0.0

    async def sample(self, prompt_ids: list[int], *, sampling_params: Mapping[str, Any]) -> Completion:
        start = time.thread_time()
        completion = await self.client.sample(prompt_ids, sampling_params=sampling_params)
        self.seconds += time.thread_time() - start
        return completion


async def run_load(renderer: ChatRenderer, client: Sampler, *, count: int, turns: int) -> LoadReport:
    """Run `count` rollouts of `turns` turns at once."""
    report = LoadReport()
    watch = asyncio.create_task(_watch(report))
    await asyncio.gather(*(_run(renderer, client, number, turns, report) for number in range(count)))
    watch.cancel()
    return report


async def _run(renderer: ChatRenderer, client: Sampler, number: int, turns: int, report: LoadReport) -> None:
    sampler = _TimedSampler(client)
    rollout = Rollout(renderer, sampler, [user(f"Question {number}?")], tools=TOOLS)
    report.rollouts.append(rollout)
    for _ in range(turns):
        sampler.seconds, start = 0.0, time.thread_time()
        turn = await rollout.generate(sampling_params={"max_tokens": 512})
        assert turn is not None
        calls = turn.parsed.tool_calls
        rollout.add([tool(f"Result {number}.", call.name or "search") for call in calls] or [user("Go on.")])
        report.turns.append(time.thread_time() - start - sampler.seconds)


async def _watch(report: LoadReport) -> None:
    """Run every millisecond, and measure the work between two runs."""
    while True:
        start = time.thread_time()
        await asyncio.sleep(_TICK)
        report.longest_stall = max(report.longest_stall, time.thread_time() - start)


def wrong_tokens(report: LoadReport, replies: ReplyTable) -> list[str]:
    """Return a description of each turn that is not the reply to the ids before it."""
    wrong = []
    for number, rollout in enumerate(report.rollouts):
        for row in rollout.rows():
            for turn in row.turns:
                reply = replies.reply_to(row.token_ids[: turn.start])
                ids, logprobs = row.token_ids[turn.start : turn.end], row.logprobs[turn.start : turn.end]
                if ids != list(reply.token_ids) or logprobs != reply.logprob_list():
                    wrong.append(f"rollout {number}, message {turn.message}")
    return wrong
