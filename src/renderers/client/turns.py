"""The steps of a turn: prepare the prompt, build the request, and turn the parsed completion into a result."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from renderers.client.completion import Completion
from renderers.client.context_length import RECENT
from renderers.client.engines.base import SampleRequest
from renderers.client.media import list_content_parts, to_features
from renderers.client.offload import is_long_text, offload_long_work
from renderers.client.sampling import build_sample_request
from renderers.core.arguments import check_int, check_renderer
from renderers.core.completions import ParsedResponse, ToolCallParseStatus
from renderers.core.inputs import MessageLike, TokenIds, ToolLike
from renderers.core.protocols import Renderer
from renderers.core.token_ids import as_ids
from renderers.core.tokens import MultiModalData, RenderedTokens
from renderers.errors import OverlongPromptError

__all__ = ["PreparedTurn", "RequestSender", "TurnRequest", "to_result"]


class RequestSender(Protocol):
    """Sends requests to an engine."""

    async def sample_request(self, request: SampleRequest, headers: Mapping[str, str] | None) -> Completion: ...
    def stream_request(
        self, request: SampleRequest, headers: Mapping[str, str] | None
    ) -> AsyncGenerator[list[int] | Completion, None]: ...
    async def context_length(self, model: str | None = None, *, max_age: float = ...) -> int | None: ...


@dataclass(frozen=True, kw_only=True)
class PreparedTurn:
    """The prompt of a turn, and the request for its completion."""

    request: SampleRequest
    multi_modal_data: MultiModalData | None
    attribution: RenderedTokens | None


class _Prompt(NamedTuple):
    token_ids: list[int]
    stop_token_ids: list[int]
    multi_modal_data: MultiModalData | None
    attribution: RenderedTokens | None


@dataclass(frozen=True, kw_only=True)
class TurnRequest:
    """The arguments of `generate`."""

    sender: RequestSender
    renderer: Renderer
    messages: Iterable[MessageLike]
    model: str | None
    prompt_ids: TokenIds | None
    multi_modal_data: MultiModalData | None
    prompt_attribution: RenderedTokens | None
    tools: Iterable[ToolLike] | None
    sampling_params: Mapping[str, Any] | None
    cache_salt: str | None
    priority: int | None
    max_prompt_len: int | None
    process_multimodal: bool

    async def prepare(self, *, stream: bool = False) -> PreparedTurn:
        """Render the prompt, check its length, and build the request."""
        self._check_arguments()
        is_long = self.prompt_ids is None and is_long_text(self.messages)
        prompt = await offload_long_work(self.renderer, self._render, is_long=is_long)
        request = build_sample_request(
            prompt.token_ids,
            model=self.model,
            sampling_params=self.sampling_params,
            stop_token_ids=prompt.stop_token_ids,
            cache_salt=self.cache_salt,
            priority=self.priority,
            features=to_features(prompt.multi_modal_data) if self.process_multimodal else None,
            content_parts=() if self.process_multimodal else list_content_parts(self.messages),
            stream=stream,
        )
        if self.process_multimodal:
            await self._check_length(prompt.token_ids)
        return PreparedTurn(request=request, multi_modal_data=prompt.multi_modal_data, attribution=prompt.attribution)

    def _check_arguments(self) -> None:
        check_renderer(self.renderer, ["get_stop_token_ids"])
        if self.max_prompt_len is not None:
            check_int("max_prompt_len", self.max_prompt_len)
        name = type(self.renderer).__name__
        if self.tools and not getattr(self.renderer, "supports_tools", True):
            raise ValueError(f"{name} does not support tools: the chat template of the model drops them")
        if not self.process_multimodal and not getattr(self.renderer, "supports_process_multimodal", False):
            raise NotImplementedError(f"{name} does not support process_multimodal=False")

    def _render(self) -> _Prompt:
        stops = self.renderer.get_stop_token_ids()
        if self.prompt_ids is not None:
            ids = list(as_ids(self.prompt_ids, name="prompt_ids"))
            return _Prompt(ids, stops, self.multi_modal_data, self.prompt_attribution)
        # Custom renderers need not accept the option.
        options: dict[str, Any] = {} if self.process_multimodal else {"process_multimodal": False}
        rendered = self.renderer.render(self.messages, tools=self.tools, add_generation_prompt=True, **options)
        return _Prompt(rendered.token_ids, stops, rendered.multi_modal_data, rendered)

    async def _check_length(self, prompt_ids: list[int]) -> None:
        longest = self.max_prompt_len
        if longest is None:
            longest = await self.sender.context_length(self.model)
            if longest is not None and len(prompt_ids) > longest:
                # The server may have been started again with a longer context.
                longest = await self.sender.context_length(self.model, max_age=RECENT)
        if longest is not None and len(prompt_ids) > longest:
            raise OverlongPromptError(prompt_len=len(prompt_ids), max_prompt_len=longest)


def to_result(turn: PreparedTurn, completion: Completion, parsed: ParsedResponse) -> dict[str, Any]:
    """Return the result of `generate`."""
    finish_reason = completion.finish_reason
    if finish_reason == "stop" and any(call.status == ToolCallParseStatus.OK for call in parsed.tool_calls):
        # As in chat completions. A loop that executes calls goes on only if there is one that can be executed.
        finish_reason = "tool_calls"
    return {
        "request_id": completion.request_id or "",
        "usage": completion.usage,
        "prompt_ids": list(completion.prompt_ids or turn.request.prompt_ids),
        "renderer_prompt_ids": list(turn.request.prompt_ids) if turn.request.content_parts else None,
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
        "multi_modal_data": turn.multi_modal_data,
        "prompt_attribution": turn.attribution,
    }
