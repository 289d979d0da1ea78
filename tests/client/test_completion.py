"""Tests of `renderers.client.completion`."""

from __future__ import annotations

import pickle

from renderers.client.completion import Completion, WeightVersion


def test_only_a_completion_that_reached_its_limit_is_truncated() -> None:
    reasons = ("stop", "length", "abort", None)
    completions = [Completion(token_ids=[1], logprobs=[-0.5], finish_reason=reason) for reason in reasons]
    assert [completion.is_truncated for completion in completions] == [False, True, False, False]


def test_a_completion_survives_pickling() -> None:
    versions = (WeightVersion("7", 0, 1),)
    completion = Completion(token_ids=[1], logprobs=[-0.5], finish_reason="stop", weight_versions=versions)
    assert pickle.loads(pickle.dumps(completion)) == completion
