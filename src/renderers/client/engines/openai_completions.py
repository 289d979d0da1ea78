"""The OpenAI endpoint `/v1/completions` with token ids, for servers without an endpoint for tokens.

vLLM and SGLang accept ids as the prompt, and return ids with `return_token_ids`.
"""

from __future__ import annotations

from typing import Any

from renderers.client.completion import Completion
from renderers.client.engines.base import CompletionReader, EngineRequest, SampleRequest
from renderers.client.engines.deltas import DeltaReader
from renderers.client.evidence import (
    check_completion_tokens,
    check_count,
    read_candidate_logprob,
    read_ids,
    read_list,
    read_logprob,
    read_marked_id,
    read_object,
    read_optional,
)
from renderers.client.response import read_choice, read_json
from renderers.client.top_logprobs import EXTRA_CANDIDATES, TopLogprobs, select_top
from renderers.core.jsontypes import JsonObject
from renderers.errors import MalformedGenerateResponseError

__all__ = ["OpenAICompletionsEngine"]

_READ_FIELDS = frozenset(
    "choices id usage index finish_reason stop_reason token_ids prompt_token_ids logprobs text".split()
)


class OpenAICompletionsEngine:
    """Sample with `/v1/completions`. The server must support `return_token_ids`."""

    name = "openai_completions"

    def build_request(self, request: SampleRequest) -> EngineRequest:
        """Return the path and the body of a request.

        Raises:
            ValueError: The request has media or a cache salt, or no model.
        """
        if request.features is not None or request.content_parts:
            raise ValueError("/v1/completions does not accept media with token ids. Use the engine 'vllm'.")
        if request.model is None:
            raise ValueError("/v1/completions needs a model. Pass model= to the client or to the request.")
        body: JsonObject = {
            # Without it, servers sample 16 tokens.
            "max_tokens": None,
            "skip_special_tokens": False,
            **request.sampling_params,
            "model": request.model,
            "prompt": request.prompt_ids,
            "logprobs": request.top_logprobs + EXTRA_CANDIDATES if request.top_logprobs else 1,
            "return_token_ids": True,
            "return_tokens_as_token_ids": True,
        }
        optional = {"cache_salt": request.cache_salt, "priority": request.priority}
        body |= {name: value for name, value in optional.items() if value is not None}
        if request.stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        return EngineRequest("/v1/completions", body)

    def read_response(self, raw: bytes, request: SampleRequest) -> Completion:
        """Return the completion of a response body.

        Raises:
            MalformedGenerateResponseError: A field is missing, or contradicts the sampled tokens.
        """
        return _read_completion(read_json(raw), request)

    def open_stream(self, request: SampleRequest) -> CompletionReader:
        """Return a reader for the events of the response to a request with `stream`."""
        return DeltaReader(lambda payload: _read_completion(payload, request))


def _read_completion(payload: JsonObject, request: SampleRequest) -> Completion:
    choice = read_choice(payload)
    if choice.get("token_ids") is None:
        raise MalformedGenerateResponseError(
            "choice.token_ids is missing: the server does not support return_token_ids. Use another engine."
        )
    ids = read_ids(choice["token_ids"], name="choice.token_ids")
    check_completion_tokens(payload.get("usage"), ids)
    logprobs, top = _read_logprobs(choice.get("logprobs"), ids, wanted=request.top_logprobs)
    prompt_ids = choice.get("prompt_token_ids")
    others = {**payload, **choice}
    return Completion(
        token_ids=ids,
        logprobs=logprobs,
        finish_reason=read_optional(choice.get("finish_reason"), str, name="choice.finish_reason"),
        stop_reason=read_optional(choice.get("stop_reason"), int, str, name="choice.stop_reason"),
        request_id=read_optional(payload.get("id"), str, name="id"),
        prompt_ids=None if prompt_ids is None else read_ids(prompt_ids, name="choice.prompt_token_ids"),
        usage=read_optional(payload.get("usage"), dict, name="usage"),
        top_ids=top and top.ids,
        top_logprobs=top and top.logprobs,
        extras={name: value for name, value in others.items() if name not in _READ_FIELDS and value is not None},
    )


def _read_logprobs(value: Any, ids: list[int], *, wanted: int) -> tuple[list[float], TopLogprobs | None]:
    """Return the logprob of each token and, if they are requested, the most probable tokens of each position."""
    if value is None and not ids:
        return [], TopLogprobs([], []) if wanted else None
    fields = read_object(value, name="choice.logprobs")
    name = "choice.logprobs.token_logprobs"
    values = read_list(fields.get("token_logprobs"), name=name)
    check_count(ids, values)
    logprobs = [read_logprob(value, name=f"{name}[{index}]") for index, value in enumerate(values)]
    tokens = read_list([] if fields.get("tokens") is None else fields["tokens"], name="choice.logprobs.tokens")
    for index, (token, token_id) in enumerate(zip(tokens, ids, strict=False)):
        # Some servers name tokens by their texts, which do not identify them.
        if read_marked_id(token) not in (None, token_id):
            raise MalformedGenerateResponseError(
                f"choice.logprobs.tokens[{index}] must be 'token_id:{token_id}', not {token!r}"
            )
    if not wanted:
        return logprobs, None
    name = "choice.logprobs.top_logprobs"
    rows = [
        _read_candidates(row, name=f"{name}[{index}]")
        for index, row in enumerate(read_list(fields.get("top_logprobs"), name=name))
    ]
    check_count(ids, rows)
    return logprobs, select_top(rows, wanted=wanted, masks=None, name=name)


def _read_candidates(value: Any, *, name: str) -> dict[int, float]:
    row = {}
    for token, logprob in read_object(value, name=name).items():
        token_id = read_marked_id(token)
        if token_id is None:
            raise MalformedGenerateResponseError(f"{name} must name tokens as 'token_id:N', not {token!r}")
        row[token_id] = read_candidate_logprob(logprob, name=name)
    return row
