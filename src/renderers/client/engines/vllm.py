"""vLLM's token endpoint, `/inference/v1/generate`. Reads the logprobs of vLLM up to 0.31 and from 0.32 on."""

from __future__ import annotations

from typing import Any

from renderers.client.compact_logprobs import read_compact_logprobs
from renderers.client.completion import Completion
from renderers.client.engines.base import CompletionReader, EngineRequest, SampleRequest
from renderers.client.engines.deltas import DeltaReader
from renderers.client.evidence import (
    check_completion_tokens,
    check_count,
    read_entries,
    read_ids,
    read_list,
    read_object,
    read_optional,
    read_packed_logprobs,
    read_sampling_mask,
    read_weight_versions,
)
from renderers.client.response import parse_generate_response, read_choice
from renderers.client.top_logprobs import EXTRA_CANDIDATES, check_sampled, read_candidates, select_top
from renderers.core.jsontypes import JsonObject

__all__ = ["VllmEngine"]

_READ_FIELDS = frozenset(
    "choices request_id usage prompt_token_ids index finish_reason stop_reason token_ids logprobs completion_logprobs "
    "compact_logprobs routed_experts sampling_mask weight_versions".split()
)


class VllmEngine:
    """Sample with vLLM's `/inference/v1/generate`. The server needs `--enable-scale-out` from vLLM 0.30 on."""

    name = "vllm"

    def build_request(self, request: SampleRequest) -> EngineRequest:
        """Return the path and the body of a request."""
        params = {"skip_special_tokens": False, **request.sampling_params, "logprobs": 1}
        if request.top_logprobs:
            params["logprobs"] = request.top_logprobs + EXTRA_CANDIDATES
        if request.top_logprobs and not request.stream:
            # Servers without this extension ignore it.
            params["extra_args"] = {"prl_compact_logprobs": True, **(params.get("extra_args") or {})}
        body: JsonObject = {"token_ids": request.prompt_ids, "sampling_params": params}
        optional = {
            "model": request.model,
            "cache_salt": request.cache_salt,
            "priority": request.priority,
            "features": request.features,
        }
        body |= {name: value for name, value in optional.items() if value is not None}
        if request.content_parts:
            body |= {"content_parts": list(request.content_parts), "return_token_ids": True}
        if request.stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        return EngineRequest("/inference/v1/generate", body)

    def read_response(self, raw: bytes, request: SampleRequest) -> Completion:
        """Return the completion of a response body.

        Raises:
            MalformedGenerateResponseError: A field is missing, or contradicts the sampled tokens.
        """
        return _read_completion(parse_generate_response(raw), request)

    def open_stream(self, request: SampleRequest) -> CompletionReader:
        """Return a reader for the events of the response to a request with `stream`."""
        return DeltaReader(lambda payload: _read_completion(payload, request))


def _read_completion(payload: JsonObject, request: SampleRequest) -> Completion:
    choice = read_choice(payload)
    ids = read_ids(choice.get("token_ids"), name="choice.token_ids")
    mask = choice.get("sampling_mask")
    masks = None if mask is None else read_sampling_mask(mask, ids, name="choice.sampling_mask")
    logprobs, rows = _read_logprobs(choice, ids, with_top=request.top_logprobs > 0)
    top = None
    if rows is not None and request.top_logprobs:
        check_sampled(rows, ids, logprobs, name="choice.logprobs")
        top = select_top(rows, wanted=request.top_logprobs, masks=masks, name="choice.logprobs")
    check_completion_tokens(payload.get("usage"), ids)
    prompt_ids = payload.get("prompt_token_ids")
    others = {**payload, **choice}
    return Completion(
        token_ids=ids,
        logprobs=logprobs,
        finish_reason=read_optional(choice.get("finish_reason"), str, name="choice.finish_reason"),
        stop_reason=read_optional(choice.get("stop_reason"), int, str, name="choice.stop_reason"),
        request_id=read_optional(payload.get("request_id"), str, name="request_id"),
        prompt_ids=None if prompt_ids is None else read_ids(prompt_ids, name="prompt_token_ids"),
        usage=read_optional(payload.get("usage"), dict, name="usage"),
        weight_versions=read_weight_versions(
            choice.get("weight_versions"), name="choice.weight_versions", count=len(ids)
        ),
        top_ids=top and top.ids,
        top_logprobs=top and top.logprobs,
        routed_experts=choice.get("routed_experts"),
        sampling_mask=mask,
        extras={name: value for name, value in others.items() if name not in _READ_FIELDS and value is not None},
    )


def _read_logprobs(
    choice: JsonObject, ids: list[int], *, with_top: bool
) -> tuple[list[float], list[dict[int, float]] | None]:
    """Return the logprob of each token and, if they are requested, the candidates of each position."""
    if choice.get("compact_logprobs") is not None:
        return read_compact_logprobs(choice["compact_logprobs"], ids, name="choice.compact_logprobs")
    if choice.get("completion_logprobs") is not None and not with_top:
        packed = choice["completion_logprobs"]
        return read_packed_logprobs(packed, ids, name="choice.completion_logprobs"), None
    if choice.get("logprobs") is None and not ids:
        return [], []
    content: list[Any] = read_list(
        read_object(choice.get("logprobs"), name="choice.logprobs").get("content"), name="choice.logprobs.content"
    )
    check_count(ids, content)
    name = "choice.logprobs.content"
    logprobs = read_entries(content, ids, name=name)
    return logprobs, read_candidates(content, name=name) if with_top else None
