"""Many rollouts share an event loop, a client and a renderer."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable

import pytest

from benchmarks.rollouts import load_table
from renderers import EXAMPLE_MODEL, create_renderer
from renderers.client import InferenceClient
from renderers.core.text import align_columns
from tests.support.rollout_load import LoadReport, ReplyTable, run_load, wrong_tokens
from tests.support.scripted_sampler import encode
from tests.support.scripted_server import ScriptedServer

pytest.importorskip("httpx")

COMPLETIONS = (
    "Yes.<|end|>",
    "<|think|>Hm, let me see.<|/think|>No, I am sorry.<|end|>",
    '<|think|>I look.<|/think|><|call|>{"name": "search", "arguments": {"query": "sky"}}<|/call|><|end|>',
    '<|call|>{"name": "search", "arguments": {"query": <|/call|><|end|>',
    "<|think|>Open<|end|>",
    "cut off",
)


def test_256_rollouts_of_8_turns_have_no_wrong_token(record_property: Callable[[str, object], None]) -> None:
    renderer = create_renderer(EXAMPLE_MODEL)
    replies = ReplyTable([encode(renderer, text) for text in COMPLETIONS])
    server = ScriptedServer(replies)

    async def run() -> LoadReport:
        async with server.running(), InferenceClient(server.base_url) as client:
            return await run_load(renderer, client, count=256, turns=8)

    report = asyncio.run(run())
    assert wrong_tokens(report, replies) == []
    rows = [row for rollout in report.rollouts for row in rollout.rows()]
    assert sum(len(row.turns) for row in rows) == 256 * 8
    sent = Counter(tuple(body["token_ids"]) for body in server.samples)
    assert sent == Counter(tuple(row.token_ids[: turn.start]) for row in rows for turn in row.turns)
    assert len(rows) > 256, "no bridge was refused"
    record_property("figures", "\n".join(align_columns(load_table(report))))
