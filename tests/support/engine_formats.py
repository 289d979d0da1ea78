"""The response formats of inference engines, as the scripted server writes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from tests.support.scripted_server import Reply

__all__ = ["FORMATS", "models_response", "stream_events", "whole_response"]


def models_response(model: str, max_model_len: int | None, owned_by: str) -> dict[str, Any]:
    """Return the response of `/v1/models`."""
    card: dict[str, Any] = {"id": model, "object": "model", "created": 1794767444, "owned_by": owned_by}
    if max_model_len is not None:
        card["max_model_len"] = max_model_len
    return {"object": "list", "data": [card]}


def whole_response(name: str, body: Mapping[str, Any], reply: Reply) -> dict[str, Any]:
    """Return the response to a request that does not stream."""
    return FORMATS[name].whole(body, reply)


def stream_events(name: str, body: Mapping[str, Any], reply: Reply) -> list[dict[str, Any]]:
    """Return the events of a stream, without the final `[DONE]`."""
    return FORMATS[name].events(body, reply)


class _Format(NamedTuple):
    path: str
    whole: Callable[[Mapping[str, Any], Reply], dict[str, Any]]
    events: Callable[[Mapping[str, Any], Reply], list[dict[str, Any]]]


def _usage(prompt: int, completion: int) -> dict[str, Any]:
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _chunks(reply: Reply) -> list[tuple[int, int]]:
    count = len(reply.token_ids)
    starts = range(0, count, reply.chunk) or range(1)
    return [(start, min(start + reply.chunk, count)) for start in starts]


def _vllm_entry(token_id: int, logprob: float, *, old: bool) -> dict[str, Any]:
    if old:
        return {"token": f"token_id:{token_id}", "logprob": logprob, "bytes": None}
    return {"token_id": token_id, "logprob": logprob, "rank": 1}


def _vllm_choice(reply: Reply, start: int, end: int, *, old: bool) -> dict[str, Any]:
    content = []
    for index, logprob in list(enumerate(reply.logprob_list()))[start:end]:
        token_id = reply.token_ids[index] if index < len(reply.token_ids) else 0
        candidates = {token_id: logprob} if reply.top is None else reply.top[index]
        tops = [_vllm_entry(candidate, value, old=old) for candidate, value in candidates.items()]
        content.append({**_vllm_entry(token_id, logprob, old=old), "top_logprobs": tops})
    is_last = end >= len(reply.token_ids)
    choice: dict[str, Any] = {
        "index": 0,
        "logprobs": {"content": content},
        "finish_reason": reply.finish_reason if is_last else None,
        "token_ids": list(reply.token_ids[start:end]),
        "routed_experts": None,
        "sampling_mask": None,
    }
    if not old:
        choice |= {
            "stop_reason": None,
            "weight_versions": [{"version": "default", "start": 0, "end": len(reply.token_ids)}] if is_last else None,
        }
    return choice


def _vllm_whole(body: Mapping[str, Any], reply: Reply, *, old: bool) -> dict[str, Any]:
    count = max(len(reply.token_ids), len(reply.logprob_list()))
    prompt = body["token_ids"]
    payload: dict[str, Any] = {
        "request_id": "generate-tokens-scripted",
        "choices": [{**_vllm_choice(reply, 0, count, old=old), **reply.choice}],
        "usage": _usage(len(prompt), len(reply.token_ids)),
        "prompt_token_ids": prompt if body.get("return_token_ids") else None,
        "prompt_logprobs": None,
        "kv_transfer_params": None,
    }
    if not old:
        payload |= {"model": body.get("model"), "created": 1794767444, "output_mode": "tokens"}
    return {**payload, **reply.payload}


def _vllm_events(body: Mapping[str, Any], reply: Reply, *, old: bool) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = []
    chunks = _chunks(reply)
    for start, end in chunks:
        extra = reply.choice if end == chunks[-1][1] else {}
        choice = {**_vllm_choice(reply, start, end, old=old), **extra}
        events.append({"request_id": "generate-tokens-scripted", "choices": [choice], "usage": None})
    if body.get("return_token_ids"):
        events[0]["prompt_token_ids"] = body["token_ids"]
    if (body.get("stream_options") or {}).get("include_usage"):
        usage = _usage(len(body["token_ids"]), len(reply.token_ids))
        events.append({"request_id": "generate-tokens-scripted", "choices": [], "usage": usage})
    events[-1] |= reply.payload
    return events


def _sglang_event(body: Mapping[str, Any], reply: Reply, start: int, end: int) -> dict[str, Any]:
    """Return a response with the tokens from `start` to `end`. Counts are those of all tokens so far."""
    is_last = end >= len(reply.token_ids)
    abort = {"type": "abort", "message": reply.message, "status_code": reply.abort_status, "err_type": None}
    reasons = {"length": {"type": "length", "length": end}, "abort": abort}
    finish = reasons.get(reply.finish_reason, {"type": reply.finish_reason, "matched": None})
    entries = [
        [logprob, token_id, None] for token_id, logprob in zip(reply.token_ids, reply.logprob_list(), strict=False)
    ]
    meta: dict[str, Any] = {
        "id": "scripted",
        "finish_reason": finish if is_last else None,
        "prompt_tokens": len(body["input_ids"]),
        "completion_tokens": end,
        "cached_tokens": 0,
        "weight_version": "default",
        "input_token_logprobs": [],
        "output_token_logprobs": entries[start:end],
    }
    if reply.top is not None:
        rows = [[[logprob, token_id, None] for token_id, logprob in row.items()] for row in reply.top]
        meta["output_top_logprobs"] = rows[start:end]
    event = {"text": "", "output_ids": list(reply.token_ids[start:end]), "meta_info": meta}
    if is_last:
        meta |= reply.choice
        event |= reply.payload
    return event


def _sglang_whole(body: Mapping[str, Any], reply: Reply) -> dict[str, Any]:
    return _sglang_event(body, reply, 0, len(reply.token_ids))


def _sglang_events(body: Mapping[str, Any], reply: Reply, *, incremental: bool) -> list[dict[str, Any]]:
    return [_sglang_event(body, reply, start if incremental else 0, end) for start, end in _chunks(reply)]


def _completions_choice(reply: Reply, start: int, end: int) -> dict[str, Any]:
    is_last = end >= len(reply.token_ids)
    logprobs = reply.logprob_list()[start : None if is_last else end]
    tops = [{f"token_id:{token_id}": logprob for token_id, logprob in row.items()} for row in reply.top or ()]
    return {
        "index": 0,
        "text": "",
        "logprobs": {
            "tokens": [f"token_id:{token_id}" for token_id in reply.token_ids[start:end]],
            "token_logprobs": logprobs,
            "top_logprobs": tops[start:end],
            "text_offset": [0] * (end - start),
        },
        "finish_reason": reply.finish_reason if is_last else None,
        "stop_reason": None,
        "token_ids": list(reply.token_ids[start:end]),
    }


def _completions_whole(body: Mapping[str, Any], reply: Reply) -> dict[str, Any]:
    choice = {**_completions_choice(reply, 0, len(reply.token_ids)), "prompt_token_ids": body["prompt"], **reply.choice}
    usage = _usage(len(body["prompt"]), len(reply.token_ids))
    head = {"id": "cmpl-scripted", "object": "text_completion", "created": 1794767444, "model": body["model"]}
    return {**head, "choices": [choice], "usage": usage, **reply.payload}


def _completions_events(body: Mapping[str, Any], reply: Reply) -> list[dict[str, Any]]:
    head = {"id": "cmpl-scripted", "object": "text_completion", "created": 1794767444, "model": body["model"]}
    chunks = _chunks(reply)
    events = []
    for start, end in chunks:
        extra = reply.choice if end == chunks[-1][1] else {}
        first = {"prompt_token_ids": body["prompt"]} if start == 0 else {}
        events.append({**head, "choices": [{**_completions_choice(reply, start, end), **first, **extra}]})
    events.append({**head, "choices": [], "usage": _usage(len(body["prompt"]), len(reply.token_ids))})
    return events


FORMATS = {
    "sglang": _Format("/generate", _sglang_whole, lambda body, reply: _sglang_events(body, reply, incremental=False)),
    "sglang-incremental": _Format(
        "/generate", _sglang_whole, lambda body, reply: _sglang_events(body, reply, incremental=True)
    ),
    "completions": _Format("/v1/completions", _completions_whole, _completions_events),
    "vllm-0.31": _Format(
        "/inference/v1/generate",
        lambda body, reply: _vllm_whole(body, reply, old=True),
        lambda body, reply: _vllm_events(body, reply, old=True),
    ),
    "vllm-0.32": _Format(
        "/inference/v1/generate",
        lambda body, reply: _vllm_whole(body, reply, old=False),
        lambda body, reply: _vllm_events(body, reply, old=False),
    ),
}
"""The formats by name."""
