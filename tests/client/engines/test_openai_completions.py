"""`/v1/completions` is used with ids in both directions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from renderers.client.engines.base import SampleRequest
from renderers.client.engines.openai_completions import OpenAICompletionsEngine
from renderers.errors import MalformedGenerateResponseError


def request_of(**options: Any) -> SampleRequest:
    return SampleRequest(**{"prompt_ids": [1, 2], "model": "m", **options})


def read(choice: dict[str, Any], **options: Any) -> Any:
    logprobs = {"tokens": ["token_id:7"], "token_logprobs": [-0.5], "top_logprobs": [{"token_id:7": -0.5}]}
    base = {"index": 0, "text": "a", "finish_reason": "stop", "token_ids": [7], "logprobs": logprobs}
    body = json.dumps({"id": "x", "choices": [{**base, **choice}]}).encode()
    return OpenAICompletionsEngine().read_response(body, request_of(**options))


def test_a_request_has_ids_and_asks_for_ids() -> None:
    path, body = OpenAICompletionsEngine().build_request(request_of(sampling_params={"max_tokens": 5}))
    assert path == "/v1/completions"
    assert body == {
        "model": "m",
        "prompt": [1, 2],
        "max_tokens": 5,
        "logprobs": 1,
        "skip_special_tokens": False,
        "return_token_ids": True,
        "return_tokens_as_token_ids": True,
    }


def test_without_a_limit_the_default_of_16_tokens_does_not_apply() -> None:
    assert OpenAICompletionsEngine().build_request(request_of()).body["max_tokens"] is None


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"model": None}, "needs a model"),
        ({"features": {}}, "does not accept media"),
        ({"content_parts": [{"type": "image_url", "url": "a"}]}, "does not accept media"),
    ],
)
def test_requests_that_the_endpoint_cannot_serve_are_refused(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        OpenAICompletionsEngine().build_request(request_of(**options))


def test_tokens_that_are_named_by_their_text_are_accepted_with_ids() -> None:
    completion = read({"logprobs": {"tokens": [" a"], "token_logprobs": [-0.5], "top_logprobs": None}})
    assert (completion.token_ids, completion.logprobs) == ([7], [-0.5])


@pytest.mark.parametrize(
    ("choice", "options", "text"),
    [
        ({"token_ids": None}, {}, "the server does not support return_token_ids"),
        ({"logprobs": None}, {}, "choice.logprobs must be an object"),
        (
            {"logprobs": {"tokens": ["token_id:8"], "token_logprobs": [-0.5]}},
            {},
            r"tokens\[0\] must be 'token_id:7', not 'token_id:8'",
        ),
        ({"logprobs": {"token_logprobs": [None]}}, {}, r"token_logprobs\[0\] must be a number"),
        (
            {"logprobs": {"token_logprobs": [-0.5], "top_logprobs": [{" a": -0.5}]}},
            {"top_logprobs": 1},
            "must name tokens as 'token_id:N', not ' a'",
        ),
        ({"logprobs": {"token_logprobs": [-0.5]}}, {"top_logprobs": 1}, "top_logprobs must be an array"),
    ],
)
def test_a_malformed_response_names_the_field(choice: dict[str, Any], options: dict[str, Any], text: str) -> None:
    with pytest.raises(MalformedGenerateResponseError, match=text):
        read(choice, **options)


def test_an_empty_completion_needs_no_logprobs() -> None:
    completion = read({"token_ids": [], "logprobs": None}, top_logprobs=1)
    assert (completion.token_ids, completion.logprobs, completion.top_ids) == ([], [], [])
