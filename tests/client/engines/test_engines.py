"""All engines give the same completion for the same tokens, whole and as a stream, and refuse the same faults."""

from __future__ import annotations

import json
from typing import Any

import pytest

from renderers.client.completion import Completion
from renderers.client.engines.base import SampleRequest
from renderers.client.engines.select import ENGINES
from renderers.errors import EngineStreamError, MalformedGenerateResponseError
from tests.support.engine_formats import stream_events, whole_response
from tests.support.scripted_server import Reply

ENGINE_OF_FORMAT = {
    "vllm-0.31": "vllm",
    "vllm-0.32": "vllm",
    "sglang": "sglang",
    "sglang-incremental": "sglang",
    "completions": "openai_completions",
}
FORMATS = pytest.mark.parametrize("format_name", ENGINE_OF_FORMAT)


def request_of(**options: Any) -> SampleRequest:
    return SampleRequest(**{"prompt_ids": [1, 2, 3], "model": "m", **options})


def read_whole(format_name: str, reply: Reply, request: SampleRequest) -> Completion:
    engine = ENGINES[ENGINE_OF_FORMAT[format_name]]
    body = engine.build_request(request).body
    return engine.read_response(json.dumps(whole_response(format_name, body, reply)).encode(), request)


def read_stream(format_name: str, reply: Reply, request: SampleRequest) -> tuple[list[int], Completion]:
    engine = ENGINES[ENGINE_OF_FORMAT[format_name]]
    body = engine.build_request(request).body
    reader = engine.open_stream(request)
    chunks = [reader.feed(json.dumps(event)) for event in stream_events(format_name, body, reply)]
    return [token_id for chunk in chunks for token_id in chunk], reader.close()


@FORMATS
@pytest.mark.parametrize("finish_reason", ["stop", "length", "abort"])
def test_a_completion_is_the_same_for_all_engines(format_name: str, finish_reason: str) -> None:
    completion = read_whole(format_name, Reply([7, 8, 9], finish_reason=finish_reason), request_of())
    assert (completion.token_ids, completion.logprobs) == ([7, 8, 9], [-0.5, -1.0, -1.5])
    assert completion.finish_reason == finish_reason
    assert completion.usage is not None
    assert [completion.usage[name] for name in ("prompt_tokens", "completion_tokens", "total_tokens")] == [3, 3, 6]
    assert completion.request_id
    assert completion.top_ids is None


@FORMATS
@pytest.mark.parametrize("chunk", [1, 2, 5])
@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_a_stream_gives_the_same_completion_as_a_whole_response(format_name: str, chunk: int, count: int) -> None:
    reply = Reply(range(7, 7 + count), chunk=chunk)
    ids, streamed = read_stream(format_name, reply, request_of(stream=True))
    assert ids == list(range(7, 7 + count))
    whole = read_whole(format_name, reply, request_of())
    for name in ("token_ids", "logprobs", "finish_reason", "stop_reason", "usage", "weight_versions", "prompt_ids"):
        assert getattr(streamed, name) == getattr(whole, name), name


@FORMATS
@pytest.mark.parametrize("streams", [False, True])
def test_top_logprobs_do_not_depend_on_the_sampled_token(format_name: str, streams: bool) -> None:
    top = [{7: -3.0, 5: -0.5, 6: -1.5, 4: -2.0}, {6: -0.4, 5: -2.0, 4: -2.0, 3: -2.5}]
    reply, request = Reply([7, 6], [-3.0, -0.4], top=top, chunk=1), request_of(top_logprobs=2, stream=streams)
    completion = read_stream(format_name, reply, request)[1] if streams else read_whole(format_name, reply, request)
    assert completion.top_ids == [[5, 6], [6]]
    assert completion.top_logprobs == [[-0.5, -1.5], [-0.4]]


@FORMATS
def test_too_few_candidates_are_an_error(format_name: str) -> None:
    reply = Reply([7], [-0.5], top=[{7: -0.5, 8: -2.0}])
    with pytest.raises(MalformedGenerateResponseError, match="has 2 candidates, and 4 were requested"):
        read_whole(format_name, reply, request_of(top_logprobs=2))


@FORMATS
@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (Reply([7, 8], [-0.5]), r"token count \(2\) does not match logprob count \(1\)"),
        (Reply([7], [float("nan")]), "must be finite"),
        (Reply([7], [float("-inf")]), "must be finite"),
        (Reply([7], [-9999.0]), "does not contain sampling evidence"),
        (Reply([7], [3.0]), "must not be positive"),
        (Reply([-7]), "must be a token id, not -7"),
        (Reply([2**32]), "must be a token id"),
    ],
)
@pytest.mark.parametrize("streams", [False, True])
def test_wrong_evidence_is_an_error(format_name: str, reply: Reply, text: str, streams: bool) -> None:
    read: Any = read_stream if streams else read_whole
    with pytest.raises(MalformedGenerateResponseError, match=text):
        read(format_name, reply, request_of(stream=streams))


@FORMATS
def test_a_stream_without_a_finish_reason_is_an_error(format_name: str) -> None:
    engine = ENGINES[ENGINE_OF_FORMAT[format_name]]
    request = request_of(stream=True)
    events = stream_events(format_name, engine.build_request(request).body, Reply([7, 8, 9], chunk=1))
    reader = engine.open_stream(request)
    for event in events[:2]:
        reader.feed(json.dumps(event))
    with pytest.raises(EngineStreamError, match="the stream ended after 2 tokens"):
        reader.close()


@FORMATS
def test_an_error_event_is_an_error_with_the_words_of_the_server(format_name: str) -> None:
    reader = ENGINES[ENGINE_OF_FORMAT[format_name]].open_stream(request_of(stream=True))
    with pytest.raises(EngineStreamError, match="out of memory"):
        reader.feed(json.dumps({"error": {"message": "out of memory", "code": 500}}))


@pytest.mark.parametrize("name", ENGINES)
def test_parameters_and_options_are_in_the_request(name: str) -> None:
    params = {"temperature": 0.5, "top_p": 0.9, "stop_token_ids": [5]}
    path, body = ENGINES[name].build_request(request_of(sampling_params=params, cache_salt="s", priority=3))
    assert path.startswith("/")
    sampling = body.get("sampling_params", body)
    assert {key: sampling[key] for key in params} == params
    assert (body["cache_salt"], body["priority"]) == ("s", 3)
    assert sampling["skip_special_tokens"] is False
    assert "stream" not in body
    assert ENGINES[name].build_request(request_of(stream=True)).body["stream"] is True
