"""SGLang's endpoint `/generate`, with its own names of parameters and fields."""

from __future__ import annotations

from typing import Any

from renderers.client.completion import Completion, WeightVersion
from renderers.client.engines.base import CompletionReader, EngineRequest, SampleRequest
from renderers.client.evidence import (
    check_completion_tokens,
    check_count,
    read_candidate_logprob,
    read_ids,
    read_list,
    read_logprob,
    read_object,
    read_optional,
    read_weight_versions,
)
from renderers.client.response import read_json
from renderers.client.stream_events import check_finished, read_event
from renderers.client.top_logprobs import EXTRA_CANDIDATES, TopLogprobs, check_sampled, select_top
from renderers.core.jsontypes import JsonObject
from renderers.errors import EngineError, EngineStreamError, MalformedGenerateResponseError

__all__ = ["SglangEngine"]

_PARAMETERS = {"max_tokens": "max_new_tokens", "min_tokens": "min_new_tokens", "seed": "sampling_seed"}
"""SGLang's names of sampling parameters that vLLM names differently."""
_BODY_PARAMETERS = frozenset(
    "return_routed_experts routed_experts_start_len return_sampling_mask return_hidden_states lora_path "
    "custom_logit_processor require_reasoning max_thinking_tokens session_params session_id rid extra_key".split()
)
"""Parameters that SGLang has besides the sampling parameters."""
_PER_TOKEN = ("output_token_logprobs", "output_top_logprobs", "output_token_sampling_mask")
"""Fields of `meta_info` with an entry for each token."""
_READ_FIELDS = frozenset(
    (*_PER_TOKEN, "id", "finish_reason", "weight_version", "weight_versions", "routed_experts", "input_token_logprobs")
)


class SglangEngine:
    """Sample with SGLang's `/generate`."""

    name = "sglang"

    def build_request(self, request: SampleRequest) -> EngineRequest:
        """Return the path and the body of a request. Sampling parameters get SGLang's names.

        Raises:
            ValueError: The request has media.
        """
        if request.features is not None or request.content_parts:
            raise ValueError("media with token ids are not supported for SGLang. Use the engine 'vllm'.")
        # Without a limit, SGLang samples 128 tokens.
        params: JsonObject = {"max_new_tokens": None, "skip_special_tokens": False}
        body: JsonObject = {"input_ids": request.prompt_ids, "sampling_params": params}
        for name, value in request.sampling_params.items():
            (body if name in _BODY_PARAMETERS else params)[_PARAMETERS.get(name, name)] = value
        # Logprobs of the prompt are not needed.
        body |= {"return_logprob": True, "logprob_start_len": -1, "return_text_in_logprobs": False}
        if request.top_logprobs:
            body["top_logprobs_num"] = request.top_logprobs + EXTRA_CANDIDATES
        optional = {"cache_salt": request.cache_salt, "priority": request.priority}
        body |= {name: value for name, value in optional.items() if value is not None}
        if request.stream:
            body["stream"] = True
        return EngineRequest("/generate", body)

    def read_response(self, raw: bytes, request: SampleRequest) -> Completion:
        """Return the completion of a response body.

        Raises:
            MalformedGenerateResponseError: A field is missing, or contradicts the sampled tokens.
        """
        return _read_completion(read_json(raw), request)

    def open_stream(self, request: SampleRequest) -> CompletionReader:
        """Return a reader for the events of the response to a request with `stream`."""
        return _SglangReader(request)


class _SglangReader:
    """Joins the events of a stream. Each has all tokens so far or, from an incremental server, the new ones."""

    def __init__(self, request: SampleRequest) -> None:
        self._request = request
        self._ids: list[int] = []
        self._last: JsonObject = {}
        self._per_token: dict[str, list[Any]] = {}

    def feed(self, data: str) -> list[int]:
        """Return the ids that an event adds."""
        event = read_event(data)
        meta = read_object(event.get("meta_info"), name="meta_info")
        # A stream has begun with status 200, so SGLang reports a failure in its last event.
        _check_succeeded(meta, EngineStreamError)
        ids = read_ids(event.get("output_ids") or [], name="output_ids")
        before, count = len(self._ids), meta.get("completion_tokens")
        is_cumulative = count == len(ids)
        if not is_cumulative and count != before + len(ids):
            raise MalformedGenerateResponseError(
                f"meta_info.completion_tokens is {count!r} after an event with {len(ids)} tokens and {before} before it"
            )
        if is_cumulative and ids[:before] != self._ids:
            raise MalformedGenerateResponseError("output_ids changed tokens of an earlier event")
        for name in _PER_TOKEN:
            if meta.get(name) is not None:
                values = read_list(meta[name], name=f"meta_info.{name}")
                # The first event is both: it has all tokens, and they are new.
                if is_cumulative:
                    self._per_token[name] = values
                else:
                    self._per_token.setdefault(name, []).extend(values)
        new = ids[before:] if is_cumulative else ids
        self._ids += new
        self._last = event
        return new

    def close(self) -> Completion:
        """Return the completion of all events."""
        meta = self._last.get("meta_info") or {}
        check_finished(meta.get("finish_reason"), len(self._ids))
        joined = {**self._last, "output_ids": self._ids, "meta_info": {**meta, **self._per_token}}
        return _read_completion(joined, self._request)


def _read_completion(payload: JsonObject, request: SampleRequest) -> Completion:
    ids = read_ids(payload.get("output_ids"), name="output_ids")
    meta = read_object(payload.get("meta_info"), name="meta_info")
    _check_succeeded(meta, EngineError)
    check_completion_tokens(meta, ids)
    name = "meta_info.output_token_logprobs"
    entries = read_list(meta.get("output_token_logprobs"), name=name) if ids else []
    check_count(ids, entries)
    logprobs = []
    for index, (token_id, entry) in enumerate(zip(ids, entries, strict=True)):
        logprob, entry_id = _read_entry(entry, name=f"{name}[{index}]")
        if entry_id != token_id:
            raise MalformedGenerateResponseError(f"{name}[{index}][1] must be {token_id}, not {entry_id!r}")
        logprobs.append(read_logprob(logprob, name=f"{name}[{index}][0]"))
    top = _read_top(meta, ids, logprobs, wanted=request.top_logprobs)
    finish_reason, stop_reason = _read_finish(meta.get("finish_reason"))
    prompt_ids = payload.get("prompt_token_ids")
    return Completion(
        token_ids=ids,
        logprobs=logprobs,
        finish_reason=finish_reason,
        stop_reason=stop_reason,
        request_id=read_optional(meta.get("id"), str, name="meta_info.id"),
        prompt_ids=None if prompt_ids is None else read_ids(prompt_ids, name="prompt_token_ids"),
        usage=_usage(meta),
        weight_versions=_read_versions(meta, len(ids)),
        top_ids=top and top.ids,
        top_logprobs=top and top.logprobs,
        routed_experts=meta.get("routed_experts"),
        sampling_mask=meta.get("output_token_sampling_mask"),
        extras=_read_extras(meta),
    )


def _check_succeeded(meta: JsonObject, error: type[EngineError]) -> None:
    """Raise an error if the request failed in the engine. One that was only aborted has no status."""
    finish = meta.get("finish_reason")
    if isinstance(finish, dict) and finish.get("status_code") is not None:
        raise error(f"the engine ended the request with status {finish['status_code']}: {finish.get('message')}")


def _read_extras(meta: JsonObject) -> JsonObject:
    extras = {name: value for name, value in meta.items() if name not in _READ_FIELDS and value is not None}
    finish = meta.get("finish_reason")
    if isinstance(finish, dict) and finish.get("message") is not None:
        extras["finish_message"] = finish["message"]
    return extras


def _read_entry(entry: Any, *, name: str) -> tuple[Any, Any]:
    """Return the logprob and the id of an entry `[logprob, id, text]`."""
    if not isinstance(entry, list) or len(entry) < 2:
        raise MalformedGenerateResponseError(f"{name} must be an array with a logprob and an id, not {entry!r}")
    return entry[0], entry[1]


def _read_top(meta: JsonObject, ids: list[int], logprobs: list[float], *, wanted: int) -> TopLogprobs | None:
    if not wanted:
        return None
    name = "meta_info.output_top_logprobs"
    rows: list[dict[int, float]] = []
    for index, entries in enumerate(read_list(meta.get("output_top_logprobs"), name=name)):
        place = f"{name}[{index}]"
        row: dict[int, float] = {}
        for logprob, token_id in (_read_entry(entry, name=place) for entry in read_list(entries, name=place)):
            (checked,) = read_ids([token_id], name=place)
            row[checked] = read_candidate_logprob(logprob, name=place)
        rows.append(row)
    check_count(ids, rows)
    check_sampled(rows, ids, logprobs, name=name)
    return select_top(rows, wanted=wanted, masks=None, name=name)


def _read_finish(value: Any) -> tuple[str | None, int | str | None]:
    """Return the finish reason, and the stop token or string that was matched."""
    name = "meta_info.finish_reason"
    if not isinstance(read_optional(value, str, dict, name=name), dict):
        return value, None
    matched = read_optional(value.get("matched"), int, str, name=f"{name}.matched")
    return read_optional(value.get("type"), str, name=f"{name}.type"), matched


def _read_versions(meta: JsonObject, count: int) -> tuple[WeightVersion, ...]:
    if meta.get("weight_versions"):
        return read_weight_versions(meta["weight_versions"], name="meta_info.weight_versions", count=count)
    version = meta.get("weight_version")
    return () if version is None else (WeightVersion(str(version), 0, count),)


def _usage(meta: JsonObject) -> JsonObject | None:
    """Return the numbers of tokens in the form of OpenAI. None if SGLang does not report them."""
    prompt, completion = meta.get("prompt_tokens"), meta.get("completion_tokens")
    if type(prompt) is not int or type(completion) is not int:
        return None
    usage: JsonObject = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }
    if type(meta.get("cached_tokens")) is int:
        usage["prompt_tokens_details"] = {"cached_tokens": meta["cached_tokens"]}
    return usage
