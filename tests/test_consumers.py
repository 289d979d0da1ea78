"""The calls that other packages make on this one keep working: verifiers, prime-rl, torchtitan and rLLM.

`make test-consumers` runs verifiers itself. These tests repeat the call patterns without the packages.
"""

from __future__ import annotations

import asyncio
import copy
import functools
import pickle
import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from typing import Any, cast

import openai
import pytest
from pydantic import BaseModel, Field, ValidationError
from transformers import AutoTokenizer

import renderers.base
from renderers import (
    EXAMPLE_MODEL,
    AutoRendererConfig,
    DefaultRendererConfig,
    MultiModalData,
    PlaceholderRange,
    RenderedTokens,
    Renderer,
    RendererConfig,
    RendererPool,
    build_training_sample,
    config_from_name,
    create_renderer,
    create_renderer_pool,
    is_multimodal,
    load_tokenizer,
)
from renderers.client import _maybe_offload, generate
from tests.support.conversations import TOOLS, assistant, call, system, tool, user
from tests.support.models import HUB_AT_HAND, snapshot_of
from tests.support.scripted_server import Reply, ScriptedServer, serve

CALL = '<|call|>{"name": "get_weather", "arguments": {"city": "Paris"}}<|/call|><|end|>'
"""A completion of the example model that calls a tool."""
START = [system("Be brief."), user("Is it raining?")]


def encode_characters(tokenizer: Any, text: str) -> list[int]:
    """Return a completion as an engine may return it: each character is a token of its own, except in markers."""
    pieces = re.findall(r"<\|[^|]+\|>|.", text)
    return [token for piece in pieces for token in tokenizer.encode(piece, add_special_tokens=False)]


def sample(renderer: Any, text: str) -> list[int]:
    """Return a completion of a renderer's model."""
    return encode_characters(renderer.tokenizer, text)


# ==================
# verifiers
# ==================


class ClientConfig(BaseModel):
    """A config of verifiers: the renderer is an optional field."""

    renderer: RendererConfig | None = None


def test_a_renderer_config_is_an_optional_field_that_its_name_selects() -> None:
    parsed = ClientConfig.model_validate({"renderer": {"name": "qwen3", "enable_thinking": False}})

    assert type(parsed.renderer).__name__ == "Qwen3RendererConfig"
    assert ClientConfig.model_validate_json(parsed.model_dump_json()) == parsed
    assert ClientConfig().renderer is None
    with pytest.raises(ValidationError, match="add_vision_id"):
        ClientConfig.model_validate({"renderer": {"name": "qwen3", "add_vision_id": True}})


def test_the_json_of_a_config_is_a_key_of_a_cache() -> None:
    first, same = config_from_name("qwen3"), config_from_name("qwen3")
    assert first is not None
    assert same is not None
    other = type(first)(thinking_retention="all")

    assert first.model_dump_json() == same.model_dump_json() != other.model_dump_json()
    assert {first: 1, other: 2}[same] == 1


def test_a_bridge_is_attributed_to_the_new_messages_after_the_reused_tokens() -> None:
    renderer = create_renderer(load_tokenizer(EXAMPLE_MODEL), None, chat_template_kwargs=None)
    prompt = renderer.render(START, tools=TOOLS, add_generation_prompt=True).token_ids
    completion = sample(renderer, CALL)
    tail = [tool("No."), user("And tomorrow?")]

    bridged = renderer.bridge_to_next_turn(prompt, completion, tail, tools=TOOLS)

    assert bridged is not None
    known = len(prompt) + len(completion)
    assert bridged.token_ids[:known] == prompt + completion
    assert set(bridged.message_indices[:known]) == {-1}
    # verifiers attributes the tokens after the prefix with an object that has only two fields.
    sliced = RenderedTokens(message_indices=bridged.message_indices[known:], message_roles=bridged.message_roles)
    first, second = sliced.message_token_spans()
    assert first is not None
    assert second is not None
    texts = [renderer.tokenizer.decode(bridged.token_ids[known:][slice(*span)]) for span in (first, second)]
    assert "No." in texts[0]
    assert "And tomorrow?" in texts[1]


def test_a_text_renderer_has_no_features_of_images() -> None:
    renderer = create_renderer(load_tokenizer(EXAMPLE_MODEL))

    assert not is_multimodal(renderer)
    assert renderers.base.ToolCallParseStatus.UNKNOWN_TOOL.value == "unknown_tool"


def test_calls_have_a_name_arguments_and_a_status() -> None:
    renderer = create_renderer(load_tokenizer(EXAMPLE_MODEL))
    prompt = renderer.render_ids(START, tools=TOOLS, add_generation_prompt=True)

    parsed = renderer.parse_response(sample(renderer, CALL), tools=TOOLS, prompt_ids=prompt)

    (found,) = parsed.tool_calls
    assert (found.id, found.name, found.arguments, found.status) == (None, "get_weather", {"city": "Paris"}, "ok")


async def take_turn(server: ScriptedServer, renderer: Any, prior: list[list[int]], new_messages: list[Any]) -> Any:
    """Take a turn as verifiers does: bridge or render in a thread, then sample with the prompt and its attribution."""

    def build() -> RenderedTokens:
        if prior:
            bridged = renderer.bridge_to_next_turn(*prior, new_messages, tools=TOOLS)
            assert bridged is not None
            return cast(RenderedTokens, bridged)
        return cast(RenderedTokens, renderer.render(new_messages, tools=TOOLS, add_generation_prompt=True))

    prompt = await _maybe_offload(renderer, build)
    async with openai.AsyncOpenAI(base_url=f"{server.base_url}/v1", api_key="none", max_retries=0) as client:
        return await generate(
            client=client,
            renderer=renderer,
            messages=new_messages,
            model="test-model",
            prompt_ids=prompt.token_ids,
            prompt_attribution=prompt,
            tools=TOOLS,
            sampling_params={"temperature": 1.0},
            process_multimodal=True,
            cache_salt=None,
            extra_headers={"X-Session-ID": "1"},
        )


@pytest.mark.parametrize("create", [create_renderer, functools.partial(create_renderer_pool, size=2)])
@pytest.mark.parametrize("wire", ["vllm-0.31", "vllm-0.32"])
def test_two_turns_record_the_tokens_that_the_engine_saw(create: Any, wire: str) -> None:
    renderer = create(EXAMPLE_MODEL)
    tokenizer = load_tokenizer(EXAMPLE_MODEL)
    call_ids, answer_ids = (encode_characters(tokenizer, text) for text in (CALL, "It is dry.<|end|>"))
    with serve(ScriptedServer([Reply(call_ids), Reply(answer_ids)], formats=[wire])) as server:
        first = asyncio.run(take_turn(server, renderer, [], START))
        prior = [first["prompt_ids"], first["completion_ids"]]
        second = asyncio.run(take_turn(server, renderer, prior, [tool("No.")]))

    sent = [body["token_ids"] for body in server.samples]
    assert sent == [first["prompt_ids"], second["prompt_ids"]]
    assert sent[1][: len(sent[0]) + len(call_ids)] == sent[0] + call_ids
    assert (first["finish_reason"], second["finish_reason"]) == ("tool_calls", "stop")
    assert (first["tool_calls"][0].name, second["content"]) == ("get_weather", "It is dry.")
    # verifiers 0.4.0 tests the truth value of the list.
    assert type(second["completion_logprobs"]) is list
    assert len(second["completion_logprobs"]) == len(answer_ids)
    assert len(second["prompt_attribution"].is_content) == len(sent[1])


# ==================
# verifiers 0.2 and 0.3
# ==================


def test_a_pool_renders_bridges_and_parses_like_a_renderer_in_many_threads() -> None:
    renderer = create_renderer(load_tokenizer(EXAMPLE_MODEL))
    pool = create_renderer_pool(EXAMPLE_MODEL, AutoRendererConfig(), size=4)

    def turn(number: int) -> tuple[list[int], list[int], str]:
        messages = [system("Be brief."), user(f"Number {number}?")]
        prompt = pool.render(messages, tools=TOOLS, add_generation_prompt=True).token_ids
        completion = sample(renderer, CALL)
        with pool.checkout() as free:
            parsed = free.parse_response(completion, tools=TOOLS)
        bridged = pool.bridge_to_next_turn(prompt, completion, [tool(f"{number}")], tools=TOOLS)
        assert bridged is not None
        assert bridged.token_ids[: len(prompt) + len(completion)] == prompt + completion
        return prompt, bridged.token_ids, parsed.tool_calls[0].name or ""

    with ThreadPoolExecutor(16) as executor:
        results = list(executor.map(turn, range(64)))

    assert isinstance(pool, RendererPool)
    assert isinstance(pool, Renderer)
    assert pool.size == 4
    assert pool.renderer_cls is type(renderer)
    assert pool.get_stop_token_ids() == renderer.get_stop_token_ids()
    for number, (prompt, _, name) in enumerate(results):
        messages = [system("Be brief."), user(f"Number {number}?")]
        assert prompt == renderer.render_ids(messages, tools=TOOLS, add_generation_prompt=True)
        assert name == "get_weather"


def test_a_pool_of_own_renderers_is_built_by_its_factory() -> None:
    tokenizer = load_tokenizer(EXAMPLE_MODEL)
    pool = RendererPool(lambda: create_renderer(tokenizer), size=2)

    assert pool.render_ids(START) == create_renderer(tokenizer).render_ids(START)
    assert is_multimodal(pool) == is_multimodal(create_renderer(tokenizer))


# ==================
# prime-rl
# ==================


class TrainerConfig(BaseModel):
    """A config of prime-rl: the renderer is chosen by the model unless it is named."""

    renderer: RendererConfig = Field(default_factory=AutoRendererConfig)


def test_a_known_model_is_in_the_map_of_families() -> None:
    config = TrainerConfig()

    assert config.renderer.name == "auto"
    assert "Qwen/Qwen3-8B" in renderers.base.MODEL_RENDERER_MAP
    assert "someone/a-fine-tune" not in renderers.base.MODEL_RENDERER_MAP
    assert TrainerConfig.model_validate({"renderer": {"name": "default"}}).renderer == DefaultRendererConfig()


def test_a_training_sample_can_end_with_the_stop_token() -> None:
    renderer = renderers.base.create_renderer(renderers.base.load_tokenizer(EXAMPLE_MODEL))
    messages = [*START, assistant("", None, [call("get_weather", {"city": "Paris"})]), tool("No."), assistant("Dry.")]

    row = build_training_sample(
        renderer,
        messages,
        role_to_mask=lambda message: message["role"] == "assistant",
        tools=TOOLS,
        ensure_final_stop=True,
    )

    assert len(row.token_ids) == len(row.loss_mask)
    trained = [token for token, is_trained in zip(row.token_ids, row.loss_mask, strict=True) if is_trained]
    assert trained[-1] in renderer.get_stop_token_ids()
    assert "Dry." in renderer.tokenizer.decode(trained)
    assert "raining" not in renderer.tokenizer.decode(trained)
    assert row.multi_modal_data is None
    assert row.mm_token_type_ids is None


def test_media_travel_as_plain_data() -> None:
    media = MultiModalData(
        mm_hashes={"image": ["a1"]},
        mm_placeholders={"image": [PlaceholderRange(offset=3, length=4)]},
        mm_items={"image": [{"pixel_values": [[0.5]]}]},
    )

    assert pickle.loads(pickle.dumps(media)) == media == copy.deepcopy(media)
    assert media.mm_placeholders["image"][0].offset == 3
    tokens = RenderedTokens(token_ids=[1, 2])
    tokens.multi_modal_data = media
    assert tokens.multi_modal_data is media


def test_a_caller_that_sets_a_processor_only_if_there_is_one_is_not_in_the_way() -> None:
    renderer = create_renderer(load_tokenizer(EXAMPLE_MODEL))

    if hasattr(renderer, "_processor") and renderer._processor is None:
        renderer._processor = object()

    assert renderer.render_ids(START) == create_renderer(load_tokenizer(EXAMPLE_MODEL)).render_ids(START)


# ==================
# torchtitan
# ==================


@dataclass(kw_only=True, slots=True)
class Knobs:
    """The options of torchtitan, of which each config class has some."""

    name: str | None = None
    tool_parser: str | None = None
    reasoning_parser: str | None = None
    enable_thinking: bool | None = None

    def build(self, tokenizer: Any) -> Any:
        config = config_from_name(self.name) if self.name else None
        if config is None:
            return create_renderer(tokenizer, None)
        chosen = {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if field.name != "name"
            and getattr(self, field.name) is not None
            and field.name in type(config).model_fields
        }
        return create_renderer(tokenizer, type(config)(**chosen))


@pytest.mark.parametrize("name", [None, "auto", "default"])
def test_a_config_is_rebuilt_from_its_fields_for_a_tokenizer_of_transformers(name: str | None) -> None:
    theirs = AutoTokenizer.from_pretrained(EXAMPLE_MODEL)

    renderer = Knobs(name=name).build(theirs)

    messages = [*START, assistant("No.")]
    assert renderer.render_ids(messages) == theirs.apply_chat_template(messages, tokenize=True, return_dict=False)


@pytest.mark.skipif(not HUB_AT_HAND, reason="needs a real model")
def test_the_options_that_a_config_has_reach_the_template() -> None:
    theirs = AutoTokenizer.from_pretrained(snapshot_of("Qwen/Qwen3-8B"))
    plain = Knobs(name="qwen3").build(theirs)
    quiet = Knobs(name="qwen3", enable_thinking=False).build(theirs)

    thinking, no_thinking = (each.render_ids(START, add_generation_prompt=True) for each in (plain, quiet))

    assert no_thinking[: len(thinking)] == thinking
    assert theirs.decode(no_thinking[len(thinking) :]) == "<think>\n\n</think>\n\n"


class OwnTokenizer:
    """A tokenizer of a trainer: not a class of transformers, and without offsets."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self.name_or_path = "trainer/own"
        self.eos_token_id, self.unk_token_id = tokenizer.eos_token_id, tokenizer.unk_token_id
        self.chat_template = tokenizer.chat_template

    def encode(self, text: str, *, add_special_tokens: bool = False) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=add_special_tokens)
        return ids

    def decode(self, token_ids: list[int], **options: Any) -> str:
        return str(self._tokenizer.decode(token_ids, **options))

    def convert_tokens_to_ids(self, token: str) -> Any:
        return self._tokenizer.convert_tokens_to_ids(token)


def test_a_tokenizer_object_of_the_caller_gives_the_same_tokens() -> None:
    theirs = AutoTokenizer.from_pretrained(EXAMPLE_MODEL)

    renderer = Knobs(name="default").build(OwnTokenizer(theirs))

    assert renderer.render_ids(START) == create_renderer(load_tokenizer(EXAMPLE_MODEL)).render_ids(START)


# ==================
# rLLM
# ==================


class Accumulator:
    """A gateway that keeps the tokens of a session, and extends them with a renderer of any kind."""

    def __init__(self, renderer: Renderer) -> None:
        self.renderer = renderer
        self.prompt: list[int] = []
        self.completion: list[int] = []

    def next_prompt(self, new_messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> list[int]:
        if self.prompt:
            bridged = self.renderer.bridge_to_next_turn(
                previous_prompt_ids=self.prompt,
                previous_completion_ids=self.completion,
                new_messages=new_messages,
                tools=tools,
            )
            assert bridged is not None
            self.prompt = list(bridged.token_ids)
        else:
            self.prompt = self.renderer.render_ids(new_messages, tools=tools, add_generation_prompt=True)
        return self.prompt

    def answer(self, completion: list[int]) -> Mapping[str, Any]:
        self.completion = completion
        parsed = self.renderer.parse_response(completion)
        return {"content": parsed.content, "calls": [found.name for found in parsed.tool_calls]}


@pytest.mark.parametrize("load", [load_tokenizer, AutoTokenizer.from_pretrained])
def test_a_gateway_accumulates_the_tokens_of_a_session_with_the_methods_of_the_protocol(load: Any) -> None:
    renderer = create_renderer(load(EXAMPLE_MODEL), config_from_name("auto"))
    assert isinstance(renderer, Renderer)
    session = Accumulator(renderer)
    history: list[int] = []
    for new_messages, text in ((START, CALL), ([tool("No.")], "It is dry.<|end|>"), ([user("Thanks.")], "Bye.<|end|>")):
        prompt = session.next_prompt(new_messages, TOOLS)
        assert prompt[: len(history)] == history
        completion = sample(renderer, text)
        answer = session.answer(completion)
        history = prompt + completion

    assert answer == {"content": "Bye.", "calls": []}
    assert history[-1] in renderer.get_stop_token_ids()
