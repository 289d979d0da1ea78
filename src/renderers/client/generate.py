"""`generate`: render a conversation, sample a completion, and parse it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from renderers.client.completion import Completion
from renderers.client.engines.base import SampleRequest
from renderers.client.engines.vllm import VllmEngine
from renderers.client.media import list_content_parts, to_features
from renderers.client.offload import LONG_COMPLETION, is_long_text, offload_long_work
from renderers.client.openai_client import OpenAISampler
from renderers.client.sampling import build_sample_request
from renderers.core.completions import ParsedResponse, ToolCallParseStatus
from renderers.core.inputs import MessageLike, TokenIds, ToolLike
from renderers.core.protocols import Renderer
from renderers.core.token_ids import as_ids
from renderers.core.tokens import MultiModalData, RenderedTokens
from renderers.errors import OverlongPromptError

__all__ = ["generate"]


class Sampler(Protocol):
    """Sends requests to an engine."""

    async def sample_request(self, request: SampleRequest, headers: Mapping[str, str] | None) -> Completion: ...
    async def context_length(self, model: str | None) -> int | None: ...


async def generate(
    *,
    client: Any,
    renderer: Renderer,
    messages: Iterable[MessageLike],
    model: str,
    prompt_ids: TokenIds | None = None,
    multi_modal_data: MultiModalData | None = None,
    prompt_attribution: RenderedTokens | None = None,
    tools: Iterable[ToolLike] | None = None,
    sampling_params: Mapping[str, Any] | None = None,
    cache_salt: str | None = None,
    priority: int | None = None,
    extra_headers: Mapping[str, str] | None = None,
    max_prompt_len: int | None = None,
    process_multimodal: bool = True,
) -> dict[str, Any]:
    """Render a conversation, sample its next turn from an engine, and parse the turn.

    `client` is an `AsyncOpenAI` client of a vLLM server, which is used for its address, its connections and its
    retries, or an `InferenceClient`. With `prompt_ids` nothing is rendered: they are the prompt, and
    `multi_modal_data` and `prompt_attribution` belong to it. `sampling_params` have the names of vLLM. The stop tokens
    of the renderer are added. With `logprobs=k`, the result has the k most probable tokens of each position.

    A prompt that is longer than `max_prompt_len`, by default the context length that the server reports, is not sent.
    With `process_multimodal=False` the engine processes the images of the messages, and the length is not checked.

    Returns a dict: see `docs/client.md` for its keys.

    Raises:
        OverlongPromptError: The prompt is too long.
        MalformedGenerateResponseError: The response lacks ids or logprobs, or they contradict each other.
        ValueError: The renderer does not support tools, or a sampling parameter is invalid.
        NotImplementedError: `process_multimodal` is False, and the renderer does not support it.
    """
    sampler = client if hasattr(client, "sample_request") else OpenAISampler(client, VllmEngine())
    prompt = await _prepare_prompt(
        renderer,
        messages,
        tools,
        prompt_ids=prompt_ids,
        multi_modal_data=multi_modal_data,
        attribution=prompt_attribution,
        process_multimodal=process_multimodal,
    )
    if process_multimodal:
        await _check_length(sampler, prompt.ids, model, max_prompt_len)
    request = build_sample_request(
        prompt.ids,
        model=model,
        sampling_params=sampling_params,
        stop_token_ids=prompt.stop_token_ids,
        cache_salt=cache_salt,
        priority=priority,
        features=to_features(prompt.multi_modal_data) if process_multimodal else None,
        content_parts=() if process_multimodal else list_content_parts(messages),
    )
    completion = await sampler.sample_request(request, extra_headers)
    parsed = await offload_long_work(
        renderer,
        lambda: renderer.parse_response(
            completion.token_ids, tools=tools, prompt_ids=completion.prompt_ids or prompt.ids
        ),
        is_long=len(completion.token_ids) > LONG_COMPLETION,
    )
    return _to_result(request, prompt, completion, parsed)


@dataclass(frozen=True)
class _Prompt:
    ids: list[int]
    stop_token_ids: list[int]
    multi_modal_data: MultiModalData | None
    attribution: RenderedTokens | None


async def _prepare_prompt(
    renderer: Renderer,
    messages: Iterable[MessageLike],
    tools: Iterable[ToolLike] | None,
    *,
    prompt_ids: TokenIds | None,
    multi_modal_data: MultiModalData | None,
    attribution: RenderedTokens | None,
    process_multimodal: bool,
) -> _Prompt:
    if tools and not getattr(renderer, "supports_tools", True):
        raise ValueError(f"{type(renderer).__name__} does not support tools: the chat template of the model drops them")
    if not process_multimodal and not getattr(renderer, "supports_process_multimodal", False):
        raise NotImplementedError(f"{type(renderer).__name__} does not support process_multimodal=False")
    if prompt_ids is not None:
        ids = list(as_ids(prompt_ids, name="prompt_ids"))
        return _Prompt(ids, renderer.get_stop_token_ids(), multi_modal_data, attribution)
    # Custom renderers need not accept the option.
    options: dict[str, Any] = {} if process_multimodal else {"process_multimodal": False}

    def render() -> _Prompt:
        rendered = renderer.render(messages, tools=tools, add_generation_prompt=True, **options)
        stops = renderer.get_stop_token_ids()
        return _Prompt(rendered.token_ids, stops, rendered.multi_modal_data, rendered)

    return await offload_long_work(renderer, render, is_long=is_long_text(messages))


async def _check_length(sampler: Sampler, prompt_ids: list[int], model: str, max_prompt_len: int | None) -> None:
    longest = await sampler.context_length(model) if max_prompt_len is None else max_prompt_len
    if longest is not None and len(prompt_ids) > longest:
        raise OverlongPromptError(prompt_len=len(prompt_ids), max_prompt_len=longest)


def _to_result(
    request: SampleRequest, prompt: _Prompt, completion: Completion, parsed: ParsedResponse
) -> dict[str, Any]:
    finish_reason = completion.finish_reason
    if finish_reason == "stop" and any(call.status == ToolCallParseStatus.OK for call in parsed.tool_calls):
        # As in chat completions. A loop that executes calls goes on only if there is one that can be executed.
        finish_reason = "tool_calls"
    return {
        "request_id": completion.request_id or "",
        "usage": completion.usage,
        "prompt_ids": list(completion.prompt_ids or prompt.ids),
        "renderer_prompt_ids": list(prompt.ids) if request.content_parts else None,
        "mm_placeholders": completion.extras.get("mm_placeholders"),
        "completion_ids": completion.token_ids,
        "completion_logprobs": completion.logprobs,
        "completion_top_ids": completion.top_ids,
        "completion_top_logprobs": completion.top_logprobs,
        "content": parsed.content,
        "reasoning_content": parsed.reasoning_content,
        "tool_calls": parsed.tool_calls,
        "finish_reason": finish_reason,
        "reasoning_complete": parsed.reasoning_complete,
        "routed_experts": completion.routed_experts,
        "sampling_mask": completion.sampling_mask,
        "weight_versions": [version._asdict() for version in completion.weight_versions] or None,
        "multi_modal_data": prompt.multi_modal_data,
        "prompt_attribution": prompt.attribution,
    }
