"""Sampling parameters become a request, and the prompt that an engine returns is checked."""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from renderers.client.completion import Completion
from renderers.client.sampling import build_sample_request, check_prompt, read_sampling_params
from renderers.errors import MalformedGenerateResponseError


def test_the_parameters_of_the_caller_are_not_changed() -> None:
    params: dict[str, Any] = {"n": 1, "logprobs": 3, "stop_token_ids": [5], "temperature": 0.5}
    request = build_sample_request([1], model="m", sampling_params=params, stop_token_ids=[9, 5])
    assert request.sampling_params == {"temperature": 0.5, "stop_token_ids": [9, 5]}
    assert request.top_logprobs == 3
    assert params == {"n": 1, "logprobs": 3, "stop_token_ids": [5], "temperature": 0.5}


@pytest.mark.parametrize(("logprobs", "count"), [(None, 0), (True, 0), (False, 0), (0, 0), (1, 1), (20, 20)])
def test_logprobs_are_the_number_of_top_logprobs(logprobs: Any, count: int) -> None:
    assert build_sample_request([1], model=None, sampling_params={"logprobs": logprobs}).top_logprobs == count


@pytest.mark.parametrize("params", [{"logprobs": -1}, {"logprobs": 1.5}, {"logprobs": "2"}, {"n": 2}, {"n": 0}])
def test_parameters_that_cannot_be_served_are_refused(params: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"sampling_params\['(n|logprobs)'\] must be"):
        build_sample_request([1], model=None, sampling_params=params)


def test_a_prompt_that_the_engine_changed_is_an_error() -> None:
    completion = Completion(token_ids=[], logprobs=[], finish_reason="stop", prompt_ids=[0, 1, 2])
    check_prompt(completion, build_sample_request([0, 1, 2], model=None))
    check_prompt(completion, build_sample_request([0, 1], model=None, features={}))
    with pytest.raises(MalformedGenerateResponseError, match=r"has 3 ids and differs from the 2 ids .* from index 0"):
        check_prompt(completion, build_sample_request([1, 2], model=None))


@pytest.mark.parametrize("stops", [[5, 7], (5, 7), {5, 7}, {5: 1, 7: 1}.keys(), np.array([5, 7])])
def test_stop_tokens_may_be_any_collection_of_ids(stops: Any) -> None:
    params = read_sampling_params(MappingProxyType({"stop_token_ids": stops, "max_tokens": np.int64(3)}))
    assert sorted(params["stop_token_ids"]) == [5, 7]
    assert json.loads(json.dumps(params["max_tokens"])) == 3


@pytest.mark.parametrize("params", [None, {}, {"max_tokens": None, "stop_token_ids": None}, {"max_tokens": 0}])
def test_parameters_without_a_limit_are_kept(params: Any) -> None:
    assert read_sampling_params(params) == (params or {})
