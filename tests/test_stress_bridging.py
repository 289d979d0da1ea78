"""The short form of `tests.stress_bridging`; `make stress` runs the long one."""

from __future__ import annotations

from collections import Counter

import pytest

from renderers import EMBEDDED
from renderers.core.spans import Channel
from renderers.core.tokens import RenderedTokens, TokenRun
from tests.stress_bridging import problem_of, run
from tests.support.completions import HUB
from tests.support.sources import wrong_in

HELLO = {"role": "user", "content": "Hi"}


def test_every_rollout_is_extended_as_it_is_or_refused() -> None:
    counts = sum((run((str(EMBEDDED), seed, 500)) for seed in range(2)), Counter())
    assert wrong_in(counts) == []
    assert counts["extended"] > 300
    assert {"no_prior", "assistant_message", "message_refused", "reasoning_open"} <= counts.keys()


@pytest.mark.parametrize("key", ["hermes", "glm", "deepseek_v31"])
def test_every_rollout_of_a_real_model_is_extended_as_it_is_or_refused(key: str, hub: object) -> None:
    counts = run((HUB[key], 0, 100))
    assert wrong_in(counts) == []
    assert counts["extended"] > 10


@pytest.mark.parametrize(
    ("ids", "runs", "problem"),
    [
        ([1, 2, 3], [(2, -1, False), (3, 0, False)], None),
        ([1, 3, 3], [(2, -1, False), (3, 0, False)], "the prior is not there as it was"),
        ([1, 2], [(2, -1, False)], "what is added are no ids"),
        ([1, 2, -3], [(2, -1, False), (3, 0, False)], "what is added are no ids"),
        ([1, 2, 3], [(2, -1, False)], "the runs do not tile"),
        ([1, 2, 3], [(2, -1, False), (2, 0, False), (3, 0, False)], "the runs do not tile"),
        ([1, 2, 3], [(2, -1, False), (3, 0, True)], "something is sampled"),
        ([1, 2, 3], [(1, -1, False), (2, 0, False), (3, 0, False)], "the prior is a new message's"),
        ([1, 2, 3], [(1, -1, False), (3, 0, False)], "the lists say that the prior is a new message's"),
        ([1, 2, 3], [(2, -1, False), (3, 1, False)], "a token is of a message that is none"),
    ],
)
def test_what_is_wrong_is_found(ids: list[int], runs: list[tuple[int, int, bool]], problem: str | None) -> None:
    made = [TokenRun(end, message, Channel.SCAFFOLD, sampled, False) for end, message, sampled in runs]
    tokens = RenderedTokens.of_runs(ids, made, message_roles=["user"], message_tool_names=[None])
    assert problem_of(tokens, [1, 2], [HELLO]) == problem
