"""The completions of custom engines and samplers are checked like those of this package."""

from __future__ import annotations

import json
import math
import pickle
from array import array
from typing import Any

import pytest

from renderers.client import Completion, EngineRequest, SampleRequest
from renderers.client.completion_checks import check_completion, without_views
from renderers.errors import EngineError, MalformedGenerateResponseError, OverlongPromptError, TokenIdError
from tests.client.test_transport import collect, run, sample
from tests.support.scripted_server import Reply, ScriptedServer, serve


def completion(**changes: Any) -> Completion:
    return Completion(**{"token_ids": [5, 6], "logprobs": [-0.5, -0.25], "finish_reason": "stop", **changes})


class CustomEngine:
    """An engine that returns a given completion, or raises a given error."""

    name = "mine"

    def __init__(self, result: Any) -> None:
        self._result = result

    def build_request(self, request: SampleRequest) -> EngineRequest:
        return EngineRequest("/inference/v1/generate", {"token_ids": request.prompt_ids, "stream": request.stream})

    def read_response(self, raw: bytes, request: SampleRequest) -> Any:
        return self.close()

    def open_stream(self, request: SampleRequest) -> Any:
        return self

    def feed(self, data: str) -> list[int]:
        return []

    def close(self) -> Any:
        if isinstance(self._result, Exception):
            raise self._result
        return self._result


def test_arrays_become_lists_of_ints_and_floats() -> None:
    checked = check_completion(completion(token_ids=array("q", [5, 6]), logprobs=array("d", [-0.5, -0.25])))
    assert checked == completion()


def test_a_checked_completion_shares_no_list_with_the_sampler() -> None:
    given = completion()
    checked = check_completion(given)
    given.token_ids.clear()
    given.logprobs.clear()
    assert checked == completion()


UNUSABLE = [
    (completion(logprobs=[-0.5]), MalformedGenerateResponseError, "does not match logprob count"),
    (completion(logprobs=[-0.5, math.nan]), MalformedGenerateResponseError, "must be finite, not nan"),
    (completion(logprobs=[-0.5, 0.5]), MalformedGenerateResponseError, "must not be positive"),
    (completion(logprobs=[-0.5, -9999.0]), MalformedGenerateResponseError, r"completion.logprobs\[1\] is -9999"),
    (completion(logprobs=[-0.5, None]), MalformedGenerateResponseError, "must be a number, not None"),
    (completion(token_ids=[5, -6]), TokenIdError, r"completion.token_ids\[1\] is -6"),
    (completion(token_ids=[5, "6"]), TypeError, r"completion.token_ids\[1\] must be an int"),
    ({"token_ids": [5]}, TypeError, "a sampler must return a Completion, not a dict"),
]


@pytest.mark.parametrize(("given", "error", "text"), UNUSABLE)
def test_a_completion_that_cannot_be_used_is_an_error(given: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        check_completion(given)


@pytest.mark.parametrize("is_stream", [False, True])
@pytest.mark.parametrize("result", [*(given for given, _, _ in UNUSABLE), KeyError("ids")])
def test_completions_of_a_custom_engine_are_checked(result: Any, is_stream: bool) -> None:
    with (
        serve(ScriptedServer([Reply([5, 6])])) as server,
        pytest.raises(MalformedGenerateResponseError) as caught,
    ):
        run(server, collect if is_stream else lambda client: client.sample([1]), engine=CustomEngine(result))
    assert caught.value.url == f"{server.base_url}/inference/v1/generate"


def test_a_custom_engine_can_report_that_a_prompt_is_too_long() -> None:
    error = OverlongPromptError(prompt_len=9, max_prompt_len=8)
    with serve(ScriptedServer([Reply([5])])) as server, pytest.raises(OverlongPromptError):
        sample(server, engine=CustomEngine(error))


@pytest.mark.parametrize("experts", [{"data": "AQI=", "shape": [2, 1, 1]}, [[[1]], [[2]]]])
def test_a_sampled_completion_with_experts_can_be_pickled_and_written_as_json(experts: Any) -> None:
    with serve(ScriptedServer([Reply([5, 6], choice={"routed_experts": experts})])) as server:
        sampled = sample(server, engine="vllm")
    assert sampled.routed_experts == experts
    assert pickle.loads(pickle.dumps(sampled)) == sampled
    assert json.loads(json.dumps(sampled.routed_experts)) == experts


def test_a_completion_without_views_is_returned_as_it_is() -> None:
    given = completion(routed_experts={"data": "AQI="})
    assert without_views(given) is given


def test_a_request_that_failed_in_the_engine_is_no_completion() -> None:
    with pytest.raises(EngineError, match="the request failed in the engine") as caught:
        check_completion(completion(finish_reason="error"))
    assert not isinstance(caught.value, MalformedGenerateResponseError)


@pytest.mark.parametrize("reason", ["stop", "length", "abort", "repetition", "another", None])
def test_any_other_finish_reason_is_kept_also_without_ids(reason: str | None) -> None:
    for given in (completion(finish_reason=reason), completion(finish_reason=reason, token_ids=[], logprobs=[])):
        assert check_completion(given) == given
