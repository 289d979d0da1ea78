"""Sampling parameters become a request, and the prompt that an engine returns is checked."""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from renderers.client.completion import Completion
from renderers.client.sampling import build_sample_request, check_prompt, read_headers, read_sampling_params
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


def test_numbers_of_numpy_become_those_of_python() -> None:
    params = read_sampling_params({"temperature": np.float32(0.5), "top_k": np.int64(3), "seed": np.array(7)})
    assert json.loads(json.dumps(params)) == {"temperature": 0.5, "top_k": 3, "seed": 7}


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (object(), TypeError),
        ({5}, TypeError),
        ([{"a": object()}], TypeError),
        (float("nan"), ValueError),
        ([float("inf")], ValueError),
    ],
)
def test_a_parameter_that_is_not_json_is_named(value: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"sampling_params\['temperature'\] must be JSON data"):
        build_sample_request([1], model=None, sampling_params={"temperature": value})


def test_a_model_must_be_a_text() -> None:
    with pytest.raises(TypeError, match="model must be a str or None, not an int"):
        build_sample_request([1], model=5)  # type: ignore[arg-type]


@pytest.mark.parametrize("headers", [{"X": 5}, {"X": None}, {5: "x"}])
def test_a_header_that_is_not_a_text_is_named(headers: Any) -> None:
    with pytest.raises(TypeError, match=r"^extra_headers\['X'\] must be a str|^the names of extra_headers must be str"):
        read_headers("extra_headers", headers)
    assert read_headers("headers", {"X": "5"}) == {"X": "5"}
