"""`generate` and `stream`: render a conversation, sample its next turn from an engine, and parse the turn."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from typing import Any, Self, TypeVar

from renderers.client.completion import Completion
from renderers.client.engines.vllm import VllmEngine
from renderers.client.offload import LONG_COMPLETION, maybe_offload, offload_long_work
from renderers.client.openai_client import OpenAISampler, is_async_openai
from renderers.client.sampling import read_headers
from renderers.client.task_streams import TaskStream
from renderers.client.turns import RequestSender, TurnRequest, to_result
from renderers.core.arguments import check_renderer
from renderers.core.completions import ParseEvent
from renderers.core.inputs import MessageLike, TokenIds, ToolLike
from renderers.core.protocols import Renderer
from renderers.core.text import describe_type
from renderers.core.tokens import MultiModalData, RenderedTokens
from renderers.errors import EngineStreamError

__all__ = ["TurnStream", "generate", "stream"]

T = TypeVar("T")


async def generate(
    *,
    client: Any,
    renderer: Renderer,
    messages: Iterable[MessageLike],
    model: str | None = None,
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

    `client` is an `InferenceClient`, or an `AsyncOpenAI` client of a vLLM server, which is used for its address, its
    connections and its retries. With `prompt_ids` nothing is rendered: they are the prompt, and `multi_modal_data` and
    `prompt_attribution` belong to it. `sampling_params` use vLLM's names. The stop tokens of the renderer are
    added. With `logprobs=k`, the result has the k most probable tokens of each position.

    A prompt that is longer than `max_prompt_len`, by default the context length that the server reports, is not sent.
    With `process_multimodal=False` the engine processes the images of the messages, and the length is not checked.

    Returns a dict: see `docs/client.md` for its keys.

    Raises:
        OverlongPromptError: The prompt is too long.
        MalformedGenerateResponseError: The response lacks ids or logprobs, or they contradict each other.
        EngineError: The request of an `InferenceClient` failed. An `AsyncOpenAI` client raises its own errors.
        TypeError: An argument has a wrong type, such as a client that is not asynchronous.
        ValueError: The renderer does not support tools, a sampling parameter is invalid, or there are no ids.
        NotImplementedError: `process_multimodal` is False, and the renderer does not support it.
    """
    turn = TurnRequest(
        sender=_sender_of(client),
        renderer=renderer,
        messages=_reusable(messages),
        model=model,
        prompt_ids=prompt_ids,
        multi_modal_data=multi_modal_data,
        prompt_attribution=prompt_attribution,
        tools=_reusable(tools),
        sampling_params=sampling_params,
        cache_salt=cache_salt,
        priority=priority,
        max_prompt_len=max_prompt_len,
        process_multimodal=process_multimodal,
    )
    headers = read_headers("extra_headers", extra_headers)
    prepared = await turn.prepare()
    completion = await turn.sender.sample_request(prepared.request, headers)
    ids, prompt = completion.token_ids, completion.prompt_ids or prepared.request.prompt_ids
    parsed = await offload_long_work(
        renderer,
        lambda: renderer.parse_response(ids, tools=turn.tools, prompt_ids=prompt),
        is_long=len(ids) > LONG_COMPLETION,
    )
    return to_result(prepared, completion, parsed)


def stream(
    *,
    client: Any,
    renderer: Any,
    messages: Iterable[MessageLike],
    model: str | None = None,
    prompt_ids: TokenIds | None = None,
    prompt_attribution: RenderedTokens | None = None,
    tools: Iterable[ToolLike] | None = None,
    sampling_params: Mapping[str, Any] | None = None,
    cache_salt: str | None = None,
    priority: int | None = None,
    extra_headers: Mapping[str, str] | None = None,
    max_prompt_len: int | None = None,
) -> TurnStream:
    """Sample the next turn of a conversation, and return its events while the tokens arrive. See `generate`.

    Raises:
        TypeError: An argument has a wrong type, or the renderer has no method `parser`. Use `generate` for it.
    """
    check_renderer(renderer, ["get_stop_token_ids"])
    if not hasattr(renderer, "parser"):
        raise TypeError(f"{type(renderer).__name__} has no method parser, which a stream needs. Use generate.")
    turn = TurnRequest(
        sender=_sender_of(client),
        renderer=renderer,
        messages=_reusable(messages),
        model=model,
        prompt_ids=prompt_ids,
        multi_modal_data=None,
        prompt_attribution=prompt_attribution,
        tools=_reusable(tools),
        sampling_params=sampling_params,
        cache_salt=cache_salt,
        priority=priority,
        max_prompt_len=max_prompt_len,
        process_multimodal=True,
    )
    return TurnStream(turn, read_headers("extra_headers", extra_headers))


class TurnStream:
    """The events of a turn while it is sampled, and its result. Returned by `stream`.

    Iterate over it for the events, or await `result`. The request is sent when the first event is awaited. Leaving an
    `async with` block closes the connection, so that the engine stops sampling.
    """

    def __init__(self, turn: TurnRequest, headers: Mapping[str, str] | None) -> None:
        self._events = self._run(turn, headers)
        self._result: dict[str, Any] | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ParseEvent:
        return await anext(self._events)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connection. The engine stops sampling."""
        await self._events.aclose()

    async def result(self) -> dict[str, Any]:
        """Wait for the end of the turn, and return the result of `generate`.

        Raises:
            EngineStreamError: The stream failed, or was closed before its end.
        """
        async for _ in self:
            pass
        if self._result is None:
            raise EngineStreamError("the stream failed or was closed before its end, so it has no result")
        return self._result

    async def _run(self, turn: TurnRequest, headers: Mapping[str, str] | None) -> AsyncGenerator[ParseEvent, None]:
        prepared = await turn.prepare(stream=True)
        renderer: Any = turn.renderer
        prompt_ids = prepared.request.prompt_ids
        parser = await maybe_offload(renderer, lambda: renderer.parser(tools=turn.tools, prompt_ids=prompt_ids))
        async with contextlib.aclosing(TaskStream(turn.sender.stream_request(prepared.request, headers))) as items:
            async for item in items:
                if isinstance(item, Completion):
                    parsed = parser.close()
                    self._result = to_result(prepared, item, parsed)
                    for event in parser.last_events:
                        yield event
                else:
                    for event in parser.feed(item):
                        yield event


def _sender_of(client: Any) -> RequestSender:
    """Return a client of this package as it is, and an adapter for one of the OpenAI SDK.

    Raises:
        TypeError: The client is neither, or is not asynchronous.
    """
    if hasattr(client, "sample_request"):
        sender: RequestSender = client
        return sender
    if not is_async_openai(client):
        raise TypeError(f"client must be an InferenceClient or an AsyncOpenAI client, not {describe_type(client)}")
    return OpenAISampler(client, VllmEngine())


def _reusable(values: T) -> T | list[Any]:
    """Return values that can be iterated over more than once."""
    return list(values) if isinstance(values, Iterator) else values
