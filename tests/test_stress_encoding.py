"""The short form of `tests.stress_encoding`; `make stress` runs the long one."""

from __future__ import annotations

import pytest
from tokenizers import Tokenizer

from renderers import EMBEDDED
from renderers.core.native import COMPILED
from renderers.core.spans import Channel
from renderers.core.tokens import TokenRun
from tests.stress_encoding import problem_of, run
from tests.support.sources import wrong_in
from tests.support.tokens import tokens_of_runs

pytestmark = pytest.mark.skipif(not COMPILED, reason="the C extension was not built")


@pytest.mark.parametrize("name", [str(EMBEDDED)])
def test_every_text_has_the_ids_of_tokenizers(name: str) -> None:
    # One of 32 texts is rendered. The engine in C leaves texts with unassigned characters to `tokenizers`: the bound is
    # a margin above their number for this seed, and fails if the engine refuses others.
    counts = run((name, 0, 3_000))
    assert wrong_in(counts) == []
    assert counts["texts"] == 3_000
    assert counts["rendered"] > 90
    assert counts["to tokenizers"] < 400


@pytest.mark.parametrize("name", ["Qwen/Qwen3-8B", "google/gemma-4-31B-it"])
def test_every_text_has_the_ids_of_a_real_tokenizer(name: str, hub: object) -> None:
    counts = run((name, 0, 2_000))
    assert wrong_in(counts) == []
    assert counts["to tokenizers"] < 270


@pytest.mark.parametrize(
    ("ids", "runs", "problem"),
    [
        ([39, 72, 0], [(2, 0), (3, 1)], None),
        ([39, 72, 1], [(2, 0), (3, 1)], "the ids differ"),
        ([39, 72, 0], [(2, 0)], "the runs do not tile"),
        ([39, 72, 0], [(2, 0), (2, 1), (3, 1)], "the runs do not tile"),
        (
            [39, 72, 0],
            [(1, 0), (3, 1)],
            "a token belongs to another message than its first character, or than its first sampled one",
        ),
    ],
)
def test_errors_in_rendered_messages_are_found(
    ids: list[int], runs: list[tuple[int, int]], problem: str | None
) -> None:
    truth = Tokenizer.from_file(str(EMBEDDED / "tokenizer.json"))
    token_runs = [TokenRun(end, message, Channel.CONTENT, False, True) for end, message in runs]
    rendered = tokens_of_runs(ids, token_runs, message_roles=["user"] * 2, message_tool_names=[None] * 2)
    assert problem_of(rendered, ["Hi", "!"], truth) == problem
