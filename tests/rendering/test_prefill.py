"""With `prefill="kept"`, empty reasoning of a generation prompt is kept in its turn."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given

from renderers import (
    EMBEDDED,
    Bridge,
    ChatRenderer,
    DefaultRendererConfig,
    Gemma4RendererConfig,
    GLM45RendererConfig,
    Qwen3RendererConfig,
    Qwen35RendererConfig,
    UnreadSwitchWarning,
    create_renderer,
    load_tokenizer,
)
from renderers.configs import BaseRendererConfig
from renderers.rendering.prefill import empty_reasoning
from tests.test_laws import conversations

ASK: dict[str, Any] = {"role": "user", "content": "Hi"}
SAY: dict[str, Any] = {"role": "assistant", "content": "Yes?"}


def renderer_with(**switches: Any) -> ChatRenderer:
    return create_renderer(load_tokenizer(EMBEDDED), DefaultRendererConfig(prefill="kept", **switches))


def test_every_turn_has_the_empty_reasoning_of_its_prompt() -> None:
    renderer = renderer_with(enable_thinking=False)
    text = renderer.trace([ASK, SAY, ASK, SAY]).text
    assert text.count("<|turn|>assistant\n<|think|><|/think|>Yes?<|end|>") == 2


def test_empty_reasoning_belongs_to_its_turn_and_is_not_sampled() -> None:
    renderer = renderer_with(enable_thinking=False)
    rendered = renderer.render([ASK, SAY])
    ids = rendered.token_ids
    think = renderer.tokenizer.added_tokens["<|think|>"]
    at = ids.index(think)
    assert rendered.message_indices[at] == 1
    assert not rendered.sampled_mask[at]
    sampled = list(itertools.compress(ids, rendered.sampled_mask))
    assert renderer.tokenizer.decode(sampled) == "Yes?<|end|>"


def test_a_turn_with_reasoning_is_unchanged() -> None:
    renderer = renderer_with(enable_thinking=False)
    plain = create_renderer(load_tokenizer(EMBEDDED), chat_template_kwargs={"enable_thinking": False})
    thought = {**SAY, "reasoning_content": "Hm."}
    assert renderer.trace([ASK, thought]) == plain.trace([ASK, thought])


@pytest.mark.parametrize("switches", [{}, {"enable_thinking": True}])
def test_a_prompt_without_empty_reasoning_adds_nothing(switches: dict[str, Any]) -> None:
    renderer = renderer_with(**switches)
    assert renderer.trace([ASK, SAY, ASK]) == create_renderer(load_tokenizer(EMBEDDED)).trace([ASK, SAY, ASK])
    assert empty_reasoning(renderer._pipeline.turn_format(with_tools=False), "user") is None


@given(messages=conversations())
def test_the_spans_still_cover_the_text(messages: list[dict[str, Any]]) -> None:
    trace = renderer_with(enable_thinking=False).trace(messages)
    assert [span.start for span in trace.spans] == [0, *(span.end for span in trace.spans[:-1])]
    assert trace.spans[-1].end == len(trace.text)
    assert all(span[2:] != following[2:] for span, following in itertools.pairwise(trace.spans))


@pytest.mark.parametrize(
    ("model", "config"),
    [
        ("Qwen/Qwen3-8B", Qwen3RendererConfig(enable_thinking=False, prefill="kept")),
        ("Qwen/Qwen3.5-9B", Qwen35RendererConfig(enable_thinking=False, prefill="kept")),
        ("Qwen/Qwen3.5-0.8B", Qwen35RendererConfig(prefill="kept")),
        ("zai-org/GLM-4.5-Air", GLM45RendererConfig(enable_thinking=False, prefill="kept")),
        ("google/gemma-4-31B-it", Gemma4RendererConfig(prefill="kept")),
    ],
)
def test_a_bridge_without_thinking_equals_the_full_render(hub: object, model: str, config: BaseRendererConfig) -> None:
    renderer = create_renderer(load_tokenizer(model), config)
    prompt = renderer.render_ids([ASK], add_generation_prompt=True)
    full = renderer.render_ids([ASK, SAY, ASK], add_generation_prompt=True)
    answers = {"Qwen": "Yes?<|im_end|>", "zai-org": "\nYes?<|user|>", "google": "Yes?<turn|>"}
    completion = renderer.tokenizer.encode(answers[model.partition("/")[0]], add_special_tokens=False)
    bridge = renderer.bridge(prompt, completion, [ASK])
    assert isinstance(bridge, Bridge)
    assert bridge.tokens.token_ids == full


@pytest.mark.parametrize("fields", [{"reasoning_content": "R"}, {"content": "<think>\nR\n</think>\n\nYes?"}])
def test_a_turn_with_reasoning_that_the_template_drops_is_unchanged(fields: dict[str, Any], hub: object) -> None:
    tokenizer = load_tokenizer("Qwen/Qwen3-8B")
    keeping, plain = (
        create_renderer(tokenizer, Qwen3RendererConfig(enable_thinking=False, prefill=prefill))
        for prefill in ("kept", "template")
    )
    messages = [ASK, {**SAY, **fields}, ASK]
    assert keeping.render_ids(messages) == plain.render_ids(messages)


def test_an_option_without_effect_is_reported() -> None:
    template = "{% for m in messages %}<|turn|>{{ m.role }}\n{{ m.content }}<|end|>\n{% endfor %}"
    with pytest.warns(UnreadSwitchWarning, match='prefill="kept" has no effect') as caught:
        create_renderer(load_tokenizer(EMBEDDED), DefaultRendererConfig(prefill="kept"), chat_template=template)
    assert [warning.filename for warning in caught] == [__file__]
