"""Load of rollouts: the CPU time of a turn beside its request, and the longest stall of the event loop.

python -m benchmarks.rollouts [--model Qwen/Qwen3-8B] [--rollouts 256] [--turns 8] [--delay 0.05]

A scripted server in another process answers each prompt after a delay. The second table has the time of a turn after
histories of several lengths.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

from renderers import EXAMPLE_MODEL, ChatRenderer, Rollout, create_renderer
from renderers.client import InferenceClient
from renderers.core.text import align_columns
from tests.support.conversations import TOOLS, assistant, call, tool, user
from tests.support.models import HUB_AT_HAND, hub_models, snapshot_of
from tests.support.rollout_load import LoadReport, ReplyTable, run_load, wrong_tokens
from tests.support.rollouts import sampled_ids
from tests.support.scripted_sampler import ScriptedSampler
from tests.support.scripted_server import ScriptedServer

WORDS = "The sky is blue because air scatters short waves of light more than long ones. "
HISTORIES = (1_000, 10_000, 100_000)
"""Numbers of tokens."""


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rollouts")
    parser.add_argument("--model", default="Qwen/Qwen3-8B" if HUB_AT_HAND else str(EXAMPLE_MODEL))
    parser.add_argument("--rollouts", type=int, default=256)
    parser.add_argument("--turns", type=int, default=8)
    parser.add_argument("--delay", type=float, default=0.05, help="seconds until the server answers")
    options = parser.parse_args()
    folder = snapshot_of(options.model) if options.model in hub_models() else options.model
    renderer = create_renderer(folder, thinking_retention="all")
    completions = completions_of(renderer)
    warm_up(renderer, completions)
    replies = ReplyTable(completions, options.delay)
    with server_process(replies) as url:
        report = asyncio.run(_run(renderer, url, options.rollouts, options.turns))
    wrong = wrong_tokens(report, replies)
    if wrong:
        raise SystemExit(f"{len(wrong)} turns have wrong tokens: {wrong[:3]}")
    print(f"{options.model}: {options.rollouts} rollouts at once, {options.turns} turns each, no wrong token")
    print("\n".join(align_columns(load_table(report))), end="\n\n")
    print("\n".join(align_columns(history_table(renderer, completions))))


def completions_of(renderer: ChatRenderer) -> list[list[int]]:
    """Return completions in the format of a model: about 100 tokens each, with and without a call."""
    turns = [
        assistant("", WORDS * 3, [call("search", {"query": WORDS * 3})]),
        assistant(WORDS * 3, WORDS * 3),
        assistant(WORDS * 6),
    ]
    return [ids for ids in (sampled_ids(renderer, turn, TOOLS) for turn in turns) if ids is not None]


def warm_up(renderer: ChatRenderer, completions: Sequence[list[int]]) -> None:
    """Learn the format of the model."""
    for ids in completions:
        rollout = Rollout(renderer, None, [user("Hi")], tools=TOOLS)
        _take_turn(rollout, ScriptedSampler(renderer, ()), ids)


def _take_turn(rollout: Rollout, sampler: ScriptedSampler, ids: list[int]) -> None:
    turn = rollout.record(sampler.complete(ids))
    rollout.add([tool("blue", call.name or "search") for call in turn.parsed.tool_calls] or [user("Go on.")])


async def _run(renderer: ChatRenderer, url: str, count: int, turns: int) -> LoadReport:
    async with InferenceClient(url) as client:
        await client.engine()
        return await run_load(renderer, client, count=count, turns=turns)


def load_table(report: LoadReport) -> list[tuple[str, str]]:
    """Return the figures of many rollouts at once."""
    cuts = statistics.quantiles(report.turns, n=100)
    return [
        ("a turn without its request, p50", _milliseconds(cuts[49])),
        ("a turn without its request, p99", _milliseconds(cuts[98])),
        ("a turn without its request, longest", _milliseconds(max(report.turns))),
        ("longest stall of the event loop", _milliseconds(report.longest_stall)),
    ]


def history_table(renderer: ChatRenderer, completions: Sequence[list[int]]) -> list[tuple[str, str]]:
    """Return the time to record a turn and to add its result, by the number of tokens before it."""
    return [
        (f"record and add after {size:,} tokens, median", _milliseconds(_turn_seconds(renderer, completions[0], size)))
        for size in HISTORIES
    ]


def _turn_seconds(renderer: ChatRenderer, ids: list[int], size: int) -> float:
    question = WORDS * (size // 16)
    rollout, sampler = Rollout(renderer, None, [user(question)], tools=TOOLS), ScriptedSampler(renderer, ())
    _take_turn(rollout, sampler, ids)
    seconds = []
    for _ in range(20):
        start = time.thread_time()
        _take_turn(rollout, sampler, ids)
        seconds.append(time.thread_time() - start)
    return statistics.median(seconds)


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.2f} ms"


@contextmanager
def server_process(replies: ReplyTable) -> Iterator[str]:
    """Run a scripted server in another process, and return its address."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(replies, theirs), daemon=True)
    process.start()
    try:
        yield ours.recv()
    finally:
        ours.send(None)
        process.join(10)


def _serve(replies: ReplyTable, connection: Connection[Any, Any]) -> None:
    async def run() -> None:
        server = ScriptedServer(replies, max_model_len=None)
        async with server.running():
            connection.send(server.base_url)
            await asyncio.to_thread(connection.recv)

    asyncio.run(run())


if __name__ == "__main__":
    main()
