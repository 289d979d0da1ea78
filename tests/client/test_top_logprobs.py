"""The most probable tokens are those of the distribution, whichever token was sampled."""

from __future__ import annotations

import math

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from renderers.client.top_logprobs import EXTRA_CANDIDATES, select_top


def as_vllm_lists_them(logprobs: dict[int, float], sampled: int, count: int) -> dict[int, float]:
    """Return `count` candidates: the sampled token first, and then the most probable ones."""
    ranked = sorted(logprobs, key=lambda token_id: -logprobs[token_id])
    listed = list(dict.fromkeys((sampled, *ranked[:count])))[:count]
    return {token_id: logprobs[token_id] for token_id in listed}


@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.integers(1, 9), min_size=6, max_size=12), st.integers(1, 4))
def test_the_selection_does_not_depend_on_the_sampled_token(weights: list[int], wanted: int) -> None:
    total = sum(weights)
    logprobs = {token_id: math.log(weight / total) for token_id, weight in enumerate(weights)}
    boundary = sorted(logprobs.values(), reverse=True)[wanted]
    expected = {token_id for token_id, logprob in logprobs.items() if logprob > boundary}
    rows = [as_vllm_lists_them(logprobs, sampled, wanted + EXTRA_CANDIDATES) for sampled in logprobs]
    top = select_top(rows, wanted=wanted, masks=None, name="rows")
    for ids, values in zip(top.ids, top.logprobs, strict=True):
        assert set(ids) == expected
        assert values == sorted((logprobs[token_id] for token_id in expected), reverse=True)
