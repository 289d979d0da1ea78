"""Recorded responses of real engines are read."""

from __future__ import annotations

from typing import Any

import pytest

from renderers.client import Completion, SampleRequest
from renderers.client.engines.vllm import VllmEngine
from renderers.client.faults import to_error
from renderers.client.top_logprobs import EXTRA_CANDIDATES
from renderers.errors import EngineStatusError, OverlongPromptError
from tests.support.recorded import RECORDED, Exchange, read_exchanges

VLLM = sorted(path.stem for path in RECORDED.glob("vllm-*.json"))
SAMPLED = [
    pytest.param(exchange, id=f"{engine} {name}")
    for engine in VLLM
    for name, exchange in read_exchanges(engine).items()
    if exchange.path.endswith("/generate")
    and exchange.status == 200
    and name.removeprefix("generate ") not in ("no logprobs", "several choices", "overlong stream")
]
REFUSED = [
    pytest.param(exchange, id=f"{engine} {name}")
    for engine in VLLM
    for name, exchange in read_exchanges(engine).items()
    if exchange.status != 200
]


def request_of(exchange: Exchange) -> SampleRequest:
    params: dict[str, Any] = exchange.request["sampling_params"]
    wanted = max(params["logprobs"] - EXTRA_CANDIDATES, 0)
    return SampleRequest(prompt_ids=exchange.request["token_ids"], top_logprobs=wanted)


def read(exchange: Exchange) -> Completion:
    request = request_of(exchange)
    if not exchange.content_type.startswith("text/event-stream"):
        return VllmEngine().read_response(exchange.body.encode(), request)
    reader = VllmEngine().open_stream(request)
    for line in exchange.body.splitlines():
        if line and line != "data: [DONE]":
            reader.feed(line.removeprefix("data: "))
    return reader.close()


def choices_of(exchange: Exchange) -> list[dict[str, Any]]:
    bodies = exchange.events[:-1] if exchange.content_type.startswith("text/event-stream") else [exchange.json]
    return [choice for body in bodies for choice in body["choices"]]


@pytest.mark.parametrize("exchange", SAMPLED)
def test_a_response_of_vllm_is_read(exchange: Exchange) -> None:
    completion = read(exchange)
    choices = choices_of(exchange)
    assert completion.token_ids == [token for choice in choices for token in choice["token_ids"]]
    entries = [entry for choice in choices for entry in choice["logprobs"]["content"]]
    assert completion.logprobs == [entry["logprob"] for entry in entries]
    assert completion.finish_reason == choices[-1]["finish_reason"]
    assert completion.request_id == "generate-tokens-recorded"
    forced = exchange.request["sampling_params"].get("extra_args", {}).get("forced_ids")
    assert forced is None or completion.token_ids == forced[: len(completion.token_ids)]
    if exchange.request.get("return_token_ids"):
        assert completion.prompt_ids == exchange.request["token_ids"]
    if request_of(exchange).top_logprobs:
        assert completion.top_ids is not None
        assert completion.top_ids == [[entry["top_logprobs"][0]["token_id"]] for entry in entries]


@pytest.mark.parametrize("exchange", REFUSED)
def test_a_refusal_of_vllm_is_an_error_with_its_words(exchange: Exchange) -> None:
    prompt = exchange.request["prompt" if "completions" in exchange.path else "token_ids"]
    body = exchange.body.encode()
    error = to_error(exchange.status, {}, body, url="http://localhost", prompt_length=len(prompt))
    if exchange.name.endswith("overlong"):
        assert isinstance(error, OverlongPromptError)
        assert (error.prompt_len, error.max_prompt_len) == (129, 128)
    else:
        assert isinstance(error, EngineStatusError)
        assert error.status == exchange.status
        assert exchange.json["error"]["message"] in str(error)
