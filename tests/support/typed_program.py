"""A user's program. `tests/test_typing.py` runs it, and checks it with mypy and pyright."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, assert_type

import numpy as np
import pydantic
from tokenizers import Tokenizer as RustTokenizer

from renderers import (
    EXAMPLE_MODEL,
    BridgeRefusal,
    ChatRenderer,
    Completion,
    ContentDelta,
    Message,
    MessageLike,
    ParsedResponse,
    RenderedTokens,
    Rollout,
    RolloutRow,
    Tool,
    ToolCallDelta,
    ToolCallEnd,
    ToolLike,
    ToolSpec,
    WeightVersion,
    build_training_sample,
    create_renderer,
    load_tokenizer,
)
from renderers.client import (
    CompletionReader,
    EngineRequest,
    InferenceClient,
    SampleRequest,
    SyncInferenceClient,
    generate,
    stream,
)

__all__ = ["main"]


class Letters:
    """A tokenizer with the fewest methods."""

    name_or_path = "letters"
    chat_template = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"

    def encode(self, text: str) -> list[int]:
        return list(map(ord, text))

    def decode(self, token_ids: list[int]) -> str:
        return "".join(map(chr, token_ids))

    def convert_tokens_to_ids(self, tokens: str) -> int | None:
        return ord(tokens) if len(tokens) == 1 else None


class Turn(pydantic.BaseModel):
    role: str
    content: str


@dataclasses.dataclass
class Note:
    role: str
    content: str


class Search(pydantic.BaseModel):
    """Search the web."""

    query: str


def get_weather(city: str, days: int = 1) -> str:
    """Get the weather.

    Args:
        city: The name of a city.
        days: The number of days.
    """
    return f"{city}: {days} days of rain"


def add(left: float, right: float) -> float:
    """Add numbers.

    Args:
        left: A number.
        right: A number.
    """
    return left + right


def renderers() -> list[ChatRenderer]:
    """Return renderers of tokenizers of every kind."""
    rust = RustTokenizer.from_file(str(EXAMPLE_MODEL / "tokenizer.json"))
    template = (EXAMPLE_MODEL / "chat_template.jinja").read_text()
    return [
        create_renderer(str(EXAMPLE_MODEL)),
        create_renderer(Path(EXAMPLE_MODEL)),
        create_renderer(load_tokenizer(EXAMPLE_MODEL), chat_template_kwargs={"enable_thinking": False}),
        create_renderer(rust, chat_template=template),
        create_renderer(Letters()),
    ]


def render(renderer: ChatRenderer) -> RenderedTokens:
    """Render messages and tools of every kind."""
    plain = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes?"}]
    assert_type(renderer.render_ids(plain), list[int])
    typed: list[Message] = [
        {"role": "system", "content": [{"type": "text", "text": "Be brief."}]},
        {"role": "user", "content": "Is it raining?"},
        {
            "role": "assistant",
            "content": None,
            "reasoning_content": "Look.",
            "tool_calls": [{"id": "1", "function": {"name": "get_weather", "arguments": {"city": "Rome"}}}],
        },
        {"role": "tool", "tool_call_id": "1", "content": "dry"},
    ]
    mapping: Mapping[str, str] = {"role": "user", "content": "Hi"}
    mixed: list[MessageLike] = [Turn(role="user", content="Hi"), mapping]
    spec: ToolSpec = {"name": "look", "description": "Look.", "parameters": {"type": "object", "properties": {}}}
    tool: Tool = {"type": "function", "function": spec}
    functions = [get_weather, add]
    assert_type(renderer.render_text(typed, tools=functions, add_generation_prompt=True, enable_thinking=False), str)
    renderer.render([Note("user", "Hi"), ParsedResponse("Yes?")], tools=[spec, tool, get_weather, Search])
    tools: list[ToolLike] = [get_weather, {"name": "look", "description": "Look."}]
    batch = renderer.render_batch([plain, typed], tools=[tools, None])
    assert_type(batch, list[RenderedTokens])
    arrays = batch[0].arrays()
    print(arrays.token_ids.dtype, arrays.sampled_mask.sum())  # noqa: T201
    return renderer.render(mixed, process_multimodal=False)


def roll_out(renderer: ChatRenderer) -> list[MessageLike]:
    """Parse a completion, and continue the conversation."""
    history: list[MessageLike] = [{"role": "user", "content": "Is it raining?"}]
    prompt = renderer.render_ids(history, tools=[get_weather], add_generation_prompt=True)
    text = '<|call|>{"name": "get_weather", "arguments": {"city": "Rome"}}<|/call|><|end|>'
    completion = renderer.tokenizer.encode(text, add_special_tokens=False)
    parser = renderer.parser(tools=[get_weather], prompt_ids=prompt)
    for token in completion:
        for event in parser.feed([token]):
            if isinstance(event, ToolCallDelta):
                assert_type(event.arguments, str)
            elif isinstance(event, ToolCallEnd):
                assert_type(event.call.name, str | None)
            elif isinstance(event, ContentDelta):
                assert_type(event.text, str)
    parsed = renderer.parse_response(np.array(completion), tools=[get_weather], prompt_ids=tuple(prompt))
    assert_type(parsed.to_message(), Message)
    result: Message = {"role": "tool", "name": "get_weather", "content": "It pours."}
    bridged = renderer.bridge(prompt, completion, [result], tools=[get_weather])
    if not isinstance(bridged, BridgeRefusal):
        assert_type(bridged.tokens.token_ids, list[int])
    build_training_sample(renderer, [*history, parsed, result], tools=[get_weather])
    return [*history, parsed, result]


async def sample_turns(renderer: ChatRenderer) -> list[RolloutRow]:
    """Sample turns with a function, and with objects that have the method of a client."""

    async def sample(prompt_ids: list[int], *, sampling_params: Mapping[str, Any]) -> Completion:
        ids = renderer.tokenizer.encode("No.<|end|>", add_special_tokens=False)
        return Completion(token_ids=ids, logprobs=[-0.5] * len(ids), finish_reason="stop")

    class Client:
        async def sample(self, prompt_ids: list[int], *, sampling_params: Mapping[str, Any]) -> Completion:
            return await sample(prompt_ids, sampling_params=sampling_params)

    plain = [{"role": "user", "content": "Hi"}]
    rollout = Rollout(renderer, Client(), plain, tools=[get_weather], sampling_params={"max_tokens": 9})
    other = Rollout(renderer, sample, [Note("user", "Hi")])
    with contextlib.suppress(ImportError):  # the client needs httpx
        Rollout(renderer, InferenceClient("http://localhost:8000"), plain)
    for each in (rollout, other):
        turn = await each.generate()
        if turn is not None:
            assert_type(turn.logprobs, list[float])
            assert_type(each.add([{"role": "user", "content": turn.parsed.content}]).is_bridged, bool)
    forks = rollout.fork(2)
    assert_type(forks, list[Rollout])
    rows = rollout.rows(shared="each", reward=1.0, extras={"task": 3})
    assert_type(rows[0].weight_versions, tuple[WeightVersion, ...])
    return rows


class Engine:
    """An engine with the fewest methods."""

    name = "own"

    def build_request(self, request: SampleRequest) -> EngineRequest:
        return EngineRequest("/sample", {"ids": request.prompt_ids})

    def read_response(self, raw: bytes, request: SampleRequest) -> Completion:
        return Completion(token_ids=list(raw), logprobs=[-0.5] * len(raw), finish_reason="stop")

    def open_stream(self, request: SampleRequest) -> CompletionReader:
        raise NotImplementedError


async def sample_over_http(renderer: ChatRenderer, url: str) -> dict[str, Any]:
    """Sample with a client. Needs a server, so it is checked and not run."""
    messages: list[MessageLike] = [{"role": "user", "content": "Hi"}, Note("user", "Hi")]
    async with InferenceClient(url, engine=Engine()) as client:
        completion = await client.sample(np.array([1]), sampling_params={"max_tokens": 5})
        assert_type(completion.logprobs, list[float])
        async for item in client.stream([1]):
            assert_type(item, list[int] | Completion)
        await generate(client=client, renderer=renderer, messages=messages, tools=[get_weather])
        async with stream(client=client, renderer=renderer, messages=messages) as turn:
            async for event in turn:
                if isinstance(event, ContentDelta):
                    assert_type(event.text, str)
            return await turn.result()


def sample_without_a_loop(renderer: ChatRenderer, url: str) -> dict[str, Any]:
    """Sample with the synchronous client. Needs a server, so it is checked and not run."""
    with SyncInferenceClient(url, engine="vllm", timeout=None) as client:
        assert_type(client.sample((1, 2)).token_ids, list[int])
        for event in client.stream(renderer=renderer, messages=[Note("user", "Hi")]):
            if isinstance(event, ToolCallEnd):
                assert_type(event.call.name, str | None)
        return client.generate(renderer=renderer, messages=[Note("user", "Hi")], max_prompt_len=9)


def main() -> Any:
    """Run everything."""
    *others, letters = renderers()
    results = [(render(renderer), roll_out(renderer), asyncio.run(sample_turns(renderer))) for renderer in others]
    return letters.render_ids([{"role": "user", "content": "Hi"}]), results
