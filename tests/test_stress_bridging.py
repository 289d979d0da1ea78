"""The short form of `tests.stress_bridging`; `make stress` runs the long one."""

from __future__ import annotations

from collections import Counter

import pytest

from renderers import EMBEDDED
from renderers.core.spans import Channel
from renderers.core.tokens import TokenRun
from tests.stress_bridging import problem_of, run
from tests.support.completions import HUB
from tests.support.sources import wrong_in
from tests.support.tokens import tokens_of_runs

HELLO = {"role": "user", "content": "Hi"}


def test_every_rollout_is_bridged_unchanged_or_refused() -> None:
    counts = sum((run((str(EMBEDDED), seed, 500)) for seed in range(2)), Counter())
    assert wrong_in(counts) == []
    assert counts["extended"] > 300
    assert {"no_prior", "assistant_message", "message_refused", "reasoning_open"} <= counts.keys()


@pytest.mark.parametrize("key", ["hermes", "glm", "deepseek_v31"])
def test_every_rollout_of_a_real_model_is_bridged_unchanged_or_refused(key: str, hub: object) -> None:
    counts = run((HUB[key], 0, 100))
    assert wrong_in(counts) == []
    assert counts["extended"] > 10


@pytest.mark.parametrize(
    ("ids", "runs", "problem"),
    [
        ([1, 2, 3], [(2, -1, False), (3, 0, False)], None),
        ([1, 3, 3], [(2, -1, False), (3, 0, False)], "the prior ids are changed"),
        ([1, 2], [(2, -1, False)], "the added values are not ids"),
        ([1, 2, -3], [(2, -1, False), (3, 0, False)], "the added values are not ids"),
        ([1, 2, 3], [(2, -1, False)], "the runs do not tile"),
        ([1, 2, 3], [(2, -1, False), (2, 0, False), (3, 0, False)], "the runs do not tile"),
        ([1, 2, 3], [(2, -1, False), (3, 0, True)], "a token is sampled"),
        ([1, 2, 3], [(1, -1, False), (2, 0, False), (3, 0, False)], "a prior token belongs to a new message"),
        ([1, 2, 3], [(1, -1, False), (3, 0, False)], "the lists attribute a prior token to a new message"),
        ([1, 2, 3], [(2, -1, False), (3, 1, False)], "a token belongs to a message that does not exist"),
    ],
)
def test_errors_in_a_bridged_rollout_are_found(
    ids: list[int], runs: list[tuple[int, int, bool]], problem: str | None
) -> None:
    token_runs = [TokenRun(end, message, Channel.SCAFFOLD, sampled, False) for end, message, sampled in runs]
    tokens = tokens_of_runs([*map(abs, ids)], token_runs, message_roles=["user"], message_tool_names=[None])
    tokens.token_ids[:] = ids
    assert problem_of(tokens, [1, 2], [HELLO]) == problem
