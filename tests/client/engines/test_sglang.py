"""Requests to SGLang have its names, and its fields become those of a completion."""

from __future__ import annotations

import json
from typing import Any

import pytest

from renderers.client.engines.base import SampleRequest
from renderers.client.engines.sglang import SglangEngine
from renderers.errors import EngineError, EngineStreamError, MalformedGenerateResponseError
from tests.support.engine_formats import stream_events
from tests.support.recorded import RECORDED
from tests.support.scripted_server import Reply

SCHEMA = json.loads((RECORDED / "sglang-0.5.23.json").read_text(encoding="utf-8"))
PARAMS = {"max_tokens": 5, "min_tokens": 1, "seed": 3, "temperature": 0.5, "logit_bias": {"5": 1.0}}


def request_of(**options: Any) -> SampleRequest:
    return SampleRequest(**{"prompt_ids": [1, 2], **options})


def read(meta: dict[str, Any], ids: Any = (7,), **payload: Any) -> Any:
    entries = [[-0.5, token_id, None] for token_id in ids]
    base = {"id": "x", "completion_tokens": len(ids), "prompt_tokens": 2, "output_token_logprobs": entries}
    body = {"text": "", "output_ids": list(ids), "meta_info": {**base, **meta}, **payload}
    return SglangEngine().read_response(json.dumps(body).encode(), request_of())


def test_parameters_have_the_names_of_sglang() -> None:
    path, body = SglangEngine().build_request(request_of(sampling_params=PARAMS))
    assert path == "/generate"
    assert body["input_ids"] == [1, 2]
    assert body["sampling_params"] == {
        "max_new_tokens": 5,
        "min_new_tokens": 1,
        "sampling_seed": 3,
        "temperature": 0.5,
        "logit_bias": {"5": 1.0},
        "skip_special_tokens": False,
    }
    assert (body["return_logprob"], body["logprob_start_len"]) == (True, -1)


def test_without_a_limit_the_default_of_128_tokens_does_not_apply() -> None:
    assert SglangEngine().build_request(request_of()).body["sampling_params"]["max_new_tokens"] is None


def test_parameters_that_sglang_has_in_the_body_are_put_there() -> None:
    body = SglangEngine().build_request(request_of(sampling_params={"return_sampling_mask": True, "rid": "a"})).body
    assert (body["return_sampling_mask"], body["rid"]) == (True, "a")
    assert "rid" not in body["sampling_params"]


def test_all_fields_of_a_request_are_in_the_schema_of_sglang() -> None:
    request = request_of(sampling_params=PARAMS, top_logprobs=2, cache_salt="s", priority=1, stream=True)
    body = SglangEngine().build_request(request).body
    assert set(body) <= set(SCHEMA["GenerateRequest"])
    assert set(body["sampling_params"]) <= set(SCHEMA["SamplingParams"])


def test_media_are_refused() -> None:
    with pytest.raises(ValueError, match="media with token ids are not supported for SGLang"):
        SglangEngine().build_request(request_of(content_parts=[{"type": "image_url", "url": "data:,a"}]))


@pytest.mark.parametrize(
    ("finish", "expected"),
    [
        ({"type": "stop", "matched": 151645}, ("stop", 151645)),
        ({"type": "stop", "matched": "\n\n"}, ("stop", "\n\n")),
        ({"type": "length", "length": 5}, ("length", None)),
        ({"type": "abort", "message": "paused"}, ("abort", None)),
        ("stop", ("stop", None)),
        (None, (None, None)),
    ],
)
def test_finish_reasons_are_read(finish: Any, expected: tuple[Any, Any]) -> None:
    completion = read({"finish_reason": finish})
    assert (completion.finish_reason, completion.stop_reason) == expected


def test_weight_versions_and_other_fields_are_kept() -> None:
    assert read({"weight_version": "step-3"}).weight_versions == (("step-3", 0, 1),)
    spans = [{"version": "a", "start": 0, "end": 1}, {"version": "b", "start": 1, "end": 2}]
    completion = read({"weight_versions": spans, "weight_version": "b", "e2e_latency": 0.5}, ids=(7, 8))
    assert completion.weight_versions == (("a", 0, 1), ("b", 1, 2))
    assert completion.extras["e2e_latency"] == 0.5
    completion = read({"cached_tokens": 2, "routed_experts": "AQI="}, prompt_token_ids=[1, 2])
    assert completion.usage["prompt_tokens_details"] == {"cached_tokens": 2}
    assert (completion.routed_experts, completion.prompt_ids) == ("AQI=", [1, 2])


@pytest.mark.parametrize(
    ("meta", "text"),
    [
        ({"completion_tokens": 2}, "the engine counts 2 completion tokens, and returned 1"),
        ({"output_token_logprobs": None}, "output_token_logprobs must be an array, not None"),
        ({"output_token_logprobs": [[-0.5, 8, None]]}, r"output_token_logprobs\[0\]\[1\] must be 7, not 8"),
        ({"output_token_logprobs": [[None, 7, None]]}, r"\[0\]\[0\] must be a number, not None"),
        ({"output_token_logprobs": [-0.5]}, r"output_token_logprobs\[0\] must be an array with a logprob and an id"),
        ({"finish_reason": 3}, "finish_reason must be a string or an object, not an int"),
        ({"weight_versions": [{"version": "a", "start": 0, "end": 9}]}, "a range of the 1 tokens"),
    ],
)
def test_a_malformed_response_names_the_field(meta: dict[str, Any], text: str) -> None:
    with pytest.raises(MalformedGenerateResponseError, match=text):
        read(meta)


def test_tokens_that_change_within_a_stream_are_an_error() -> None:
    reader = SglangEngine().open_stream(request_of(stream=True))
    reader.feed(json.dumps({"output_ids": [7], "meta_info": {"completion_tokens": 1}}))
    with pytest.raises(MalformedGenerateResponseError, match="changed tokens of an earlier event"):
        reader.feed(json.dumps({"output_ids": [8, 9], "meta_info": {"completion_tokens": 2}}))


def test_a_stream_that_lost_an_event_is_an_error() -> None:
    reader = SglangEngine().open_stream(request_of(stream=True))
    reader.feed(json.dumps({"output_ids": [7], "meta_info": {"completion_tokens": 1}}))
    with pytest.raises(MalformedGenerateResponseError, match="completion_tokens is 5 after an event with 2 tokens"):
        reader.feed(json.dumps({"output_ids": [8, 9], "meta_info": {"completion_tokens": 5}}))


def test_the_reason_of_an_abort_is_kept() -> None:
    finish = {"type": "abort", "message": "paused", "status_code": None, "err_type": None}
    assert read({"finish_reason": finish}).extras["finish_message"] == "paused"
    assert "finish_message" not in read({"finish_reason": {"type": "stop", "matched": 7}}).extras


def test_a_failed_request_is_an_error_with_the_words_of_the_server() -> None:
    finish = {"type": "abort", "message": "out of memory", "status_code": 500, "err_type": "InternalServerError"}
    with pytest.raises(EngineError, match="ended the request with status 500: out of memory"):
        read({"finish_reason": finish})


@pytest.mark.parametrize("ids", [[], [7]])
def test_a_failed_request_of_a_stream_is_an_error_with_the_words_of_the_server(ids: list[int]) -> None:
    reply = Reply(ids, finish_reason="abort", abort_status=503, message="overloaded")
    request = request_of(stream=True)
    (event,) = stream_events("sglang", SglangEngine().build_request(request).body, reply)
    with pytest.raises(EngineStreamError, match="ended the request with status 503: overloaded"):
        SglangEngine().open_stream(request).feed(json.dumps(event))
