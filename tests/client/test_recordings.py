"""Recorded responses of real engines are read."""

from __future__ import annotations

from typing import Any

import pytest

from renderers.client import Completion, InferenceEngine, SampleRequest
from renderers.client.context_length import find_context_length
from renderers.client.engines.openai_completions import OpenAICompletionsEngine
from renderers.client.engines.select import engine_of_server
from renderers.client.engines.vllm import VllmEngine
from renderers.client.faults import to_error, to_overlong
from renderers.client.top_logprobs import EXTRA_CANDIDATES
from renderers.errors import EngineStatusError, EngineStreamError, MalformedGenerateResponseError, OverlongPromptError
from tests.support.recorded import RECORDED, Exchange, read_exchanges

VLLM = sorted(path.stem for path in RECORDED.glob("vllm-*.json"))
EXCHANGES = [
    pytest.param(exchange, id=f"{engine} {name}")
    for engine in VLLM
    for name, exchange in read_exchanges(engine).items()
]
REQUESTED_OTHERWISE = {
    "generate no logprobs",
    "generate several choices",
    "generate overlong stream",
    "completions length",
    "completions no logprobs",
    "completions stream",
}
"""Successful requests that this package does not send: without logprobs, with several choices, with tokens as text."""


def select(path: str, *, refused: bool = False) -> list[Any]:
    """Return the exchanges with an endpoint, either those that were refused or those with a completion."""
    return [
        parameter
        for parameter in EXCHANGES
        for exchange in parameter.values
        if isinstance(exchange, Exchange)
        and exchange.path.endswith(path)
        and (exchange.status != 200) == refused
        and exchange.name not in REQUESTED_OTHERWISE
    ]


def prompt_of(exchange: Exchange) -> list[int]:
    prompt: list[int] = exchange.request["token_ids" if exchange.path.endswith("/generate") else "prompt"]
    return prompt


def read(engine: InferenceEngine, exchange: Exchange, *, logprobs: int) -> Completion:
    """Read a response, or the events of a stream."""
    request = SampleRequest(prompt_ids=prompt_of(exchange), top_logprobs=max(logprobs - EXTRA_CANDIDATES, 0))
    if not is_stream(exchange):
        return engine.read_response(exchange.body.encode(), request)
    reader = engine.open_stream(request)
    for line in exchange.body.splitlines():
        if line and line != "data: [DONE]":
            reader.feed(line.removeprefix("data: "))
    return reader.close()


def is_stream(exchange: Exchange) -> bool:
    return exchange.content_type.startswith("text/event-stream")


def choices_of(exchange: Exchange) -> list[dict[str, Any]]:
    bodies = exchange.events[:-1] if is_stream(exchange) else [exchange.json]
    return [choice for body in bodies for choice in body["choices"]]


def check_ids(completion: Completion, exchange: Exchange, forced: list[int] | None) -> None:
    """Check the ids, the finish reason and the prompt of a completion."""
    choices = choices_of(exchange)
    assert completion.token_ids == [token for choice in choices for token in choice["token_ids"]]
    assert forced is None or completion.token_ids == forced[: len(completion.token_ids)]
    assert completion.finish_reason == choices[-1]["finish_reason"]
    if exchange.request.get("return_token_ids"):
        assert completion.prompt_ids == prompt_of(exchange)


@pytest.mark.parametrize("exchange", select("/generate"))
def test_a_response_of_the_token_endpoint_of_vllm_is_read(exchange: Exchange) -> None:
    params = exchange.request["sampling_params"]
    completion = read(VllmEngine(), exchange, logprobs=params["logprobs"])
    check_ids(completion, exchange, params.get("extra_args", {}).get("forced_ids"))
    assert completion.request_id == "generate-tokens-recorded"
    entries = [entry for choice in choices_of(exchange) for entry in choice["logprobs"]["content"]]
    assert completion.logprobs == [entry["logprob"] for entry in entries]
    if params["logprobs"] > EXTRA_CANDIDATES:
        # The tokens were sampled at temperature 0.
        assert completion.top_ids == [[token] for token in completion.token_ids]


@pytest.mark.parametrize("exchange", select("/completions"))
def test_a_response_of_the_completions_of_vllm_is_read(exchange: Exchange) -> None:
    completion = read(OpenAICompletionsEngine(), exchange, logprobs=exchange.request["logprobs"])
    check_ids(completion, exchange, exchange.request.get("vllm_xargs", {}).get("forced_ids"))
    rows = [choice["logprobs"]["token_logprobs"] for choice in choices_of(exchange)]
    assert completion.logprobs == [logprob for row in rows for logprob in row]


@pytest.mark.parametrize("exchange", [*select("/generate", refused=True), *select("/completions", refused=True)])
def test_a_refusal_of_vllm_is_an_error_with_its_words(exchange: Exchange) -> None:
    length = len(prompt_of(exchange))
    error = to_error(exchange.status, {}, exchange.body.encode(), url="http://localhost", prompt_length=length)
    if exchange.name.endswith("overlong"):
        assert isinstance(error, OverlongPromptError)
        assert (error.prompt_len, error.max_prompt_len) == (129, 128)
    else:
        assert isinstance(error, EngineStatusError)
        assert error.status == exchange.status
        assert exchange.json["error"]["message"] in str(error)


@pytest.mark.parametrize("engine", VLLM)
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("generate no logprobs", "choice.logprobs must be an object, not None"),
        ("generate several choices", "choices must have one entry, not 2"),
    ],
)
def test_a_response_without_evidence_is_refused(engine: str, name: str, text: str) -> None:
    with pytest.raises(MalformedGenerateResponseError, match=text):
        read(VllmEngine(), read_exchanges(engine)[name], logprobs=1)


@pytest.mark.parametrize("engine", VLLM)
def test_a_stream_that_refuses_a_long_prompt_is_recognised(engine: str) -> None:
    exchange = read_exchanges(engine)["generate overlong stream"]
    with pytest.raises(EngineStreamError) as caught:
        read(VllmEngine(), exchange, logprobs=1)
    error = to_overlong(caught.value, len(prompt_of(exchange)))
    assert error is not None
    assert (error.prompt_len, error.max_prompt_len) == (129, 128)


@pytest.mark.parametrize("engine", VLLM)
def test_the_engine_and_the_context_length_of_a_server_are_found(engine: str) -> None:
    models = read_exchanges(engine)["models"].json
    selected = engine_of_server(models)
    assert selected is not None
    assert selected.name == "vllm"
    assert find_context_length(models, None) == 128


def test_every_recorded_version_has_all_kinds_of_responses() -> None:
    for engine in VLLM:
        streams = [exchange for exchange in read_exchanges(engine).values() if is_stream(exchange)]
        statuses = {exchange.status for exchange in read_exchanges(engine).values()}
        assert len(streams) >= 5
        assert statuses >= {200, 400, 404}
