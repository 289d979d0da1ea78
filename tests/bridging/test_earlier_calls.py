"""Earlier calls are counted in the ids of a prompt, for templates that number calls across the conversation."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from renderers import EMBEDDED, Bridge, BridgeRefusal, ChatRenderer, create_renderer, load_tokenizer
from renderers.bridging.context import BridgeContext
from renderers.bridging.earlier_calls import CycleMarkers, count_calls, cycle_markers
from renderers.bridging.sample_histories import histories_with_calls

NUMBERED = """
{%- set calls = namespace(count=0, waiting=[]) -%}
{%- for message in messages -%}
    {{- '<|turn|>' ~ message.role ~ '\n' -}}
    {%- if message.role == 'tool' -%}
        {{- '<|result|>call ' ~ (calls.waiting.pop(0) if calls.waiting else 'unknown') ~ ': ' -}}
    {%- endif -%}
    {{- message.content -}}
    {%- for call in message.tool_calls or [] -%}
        {%- set _ = calls.waiting.append(call.function.name ~ ' ' ~ calls.count) -%}
        {%- set calls.count = calls.count + 1 -%}
        {{- '<|call|>{"name": ' ~ (call.function.name | tojson) ~ ', "arguments": ' -}}
        {{- (call.function.arguments | tojson) ~ '}<|/call|>' -}}
    {%- endfor -%}
    {{- '<|end|>\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|turn|>assistant\n' -}}{%- endif -%}
"""
"""A template with a queue, as that of Kimi K2: a result gets the name and number of the oldest call without one."""
ASK: dict[str, Any] = {"role": "user", "content": "Hi"}
Messages = list[dict[str, Any]]


def call_turn(calls: int, first: int = 0, name: str = "get") -> dict[str, Any]:
    made = [
        {"id": f"c{first + number}", "type": "function", "function": {"name": name, "arguments": {"x": number}}}
        for number in range(calls)
    ]
    return {"role": "assistant", "content": "Look.", "tool_calls": made}


def result(number: int) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": f"c{number}", "name": "get", "content": "Sunny"}


def cycles(*calls_per_turn: int) -> Messages:
    messages: Messages = []
    first = 0
    for calls in calls_per_turn:
        messages += [call_turn(calls, first), *map(result, range(first, first + calls))]
        first += calls
    return messages


def numbered() -> ChatRenderer:
    return create_renderer(load_tokenizer(EMBEDDED), chat_template=NUMBERED)


def bridge_last_turn(renderer: ChatRenderer, messages: Messages, new: Messages) -> Bridge | BridgeRefusal:
    """Bridge from a conversation that ends with the turn of the model to new messages."""
    prompt = renderer.render_ids(messages[:-1], add_generation_prompt=True)
    completion = renderer.render_ids(messages)[len(prompt) :]
    return renderer.bridge(prompt, completion, new)


@pytest.mark.parametrize("before", [(1,), (1, 1), (3,), (1, 2, 1), (2, 1, 1, 1, 1, 1, 1, 1, 1)])
@pytest.mark.parametrize("calls", [1, 2])
def test_a_numbered_result_bridges_after_any_number_of_calls(before: tuple[int, ...], calls: int) -> None:
    renderer, earlier = numbered(), sum(before)
    messages = [ASK, *cycles(*before), call_turn(calls, earlier)]
    new = [result(earlier + number) for number in range(calls)]
    bridge = bridge_last_turn(renderer, messages, new)
    assert isinstance(bridge, Bridge)
    assert bridge.matches_rerender
    assert bridge.tokens.token_ids == renderer.render_ids([*messages, *new], add_generation_prompt=True)


def test_a_call_without_a_result_in_the_history_is_refused() -> None:
    """The template gives the new result the number of the earlier call."""
    bridge = bridge_last_turn(numbered(), [ASK, call_turn(1, name="read"), ASK, call_turn(1, 1)], [result(1)])
    assert isinstance(bridge, BridgeRefusal)
    assert bridge.reason == "suffix_varies"


def test_a_call_without_an_end_in_the_history_is_refused() -> None:
    """The conversation may contain it as text, which the template does not count."""
    renderer = numbered()
    garbled = [{"role": "assistant", "content": "<|call|>{"}, {"role": "tool", "content": "No such call"}]
    bridge = bridge_last_turn(renderer, [ASK, *cycles(1), *garbled, call_turn(1, 1)], [result(1)])
    assert isinstance(bridge, BridgeRefusal)


steps = st.lists(
    st.sampled_from(["call", "two calls", "call without a result", "answer", "system", "answers"]), max_size=5
)


@given(steps, st.integers(1, 2))
@settings(max_examples=60, deadline=None)
def test_a_bridge_that_matches_has_the_ids_of_a_render(history: list[str], calls: int) -> None:
    renderer, messages, made = numbered(), [ASK], 0
    for step in history:
        count = {"call": 1, "two calls": 2, "call without a result": 1}.get(step, 0)
        if count:
            messages += [call_turn(count, made, "read"), *map(result, range(made, made + count))]
            messages = [*messages[:-1], ASK] if step == "call without a result" else messages
        elif step == "system":
            messages += [{"role": "system", "content": "Be brief."}]
        else:
            messages += [{"role": "assistant", "content": "Sunny."}] * (1 + (step == "answers")) + [ASK]
        made += count
    messages += [call_turn(calls, made)]
    new = [result(made + number) for number in range(calls)]
    bridge = bridge_last_turn(renderer, messages, new)
    if isinstance(bridge, Bridge) and bridge.matches_rerender:
        assert bridge.tokens.token_ids == renderer.render_ids([*messages, *new], add_generation_prompt=True)
    assert isinstance(bridge, Bridge) is ("call without a result" not in history)


def test_markers_are_found_by_their_number() -> None:
    renderer = numbered()
    markers = cycle_markers(BridgeContext(renderer._pipeline, None, "<|turn|>assistant\n"))
    assert markers is not None
    assert set(markers.calls) == {renderer.tokenizer.added_tokens[text] for text in ("<|call|>", "<|/call|>")}
    assert renderer.tokenizer.decode(markers.result).startswith("<|result|>")


def test_a_template_without_special_tokens_has_no_markers() -> None:
    template = "{% for message in messages %}{{ message.role }}: {{ message.content }} {% endfor %}"
    renderer = create_renderer(load_tokenizer(EMBEDDED), chat_template=template)
    assert cycle_markers(BridgeContext(renderer._pipeline, None, "assistant: ")) is None


@pytest.mark.parametrize("count", [1, 2, 5])
def test_histories_contain_the_number_of_calls_and_a_result_for_each(count: int) -> None:
    for history in histories_with_calls(count):
        ids = [call["id"] for message in history.messages for call in message.get("tool_calls", [])]
        assert ids == [message["tool_call_id"] for message in history.messages if message["role"] == "tool"]
        assert len({*ids}) == count


def test_a_prompt_with_thousands_of_calls_has_no_count() -> None:
    markers = CycleMarkers(calls=(1,), result=(2,))
    assert count_calls([1, 2] * 1_000, markers) == 1_000
    assert count_calls([1, 2] * 1_001, markers) is None


@pytest.mark.parametrize("model", ["moonshotai/Kimi-K2-Instruct", "moonshotai/Kimi-K2-Thinking"])
def test_kimi_k2_bridges_ten_tool_rounds(model: str, hub: object) -> None:
    renderer = create_renderer(load_tokenizer(model))
    thought = {"reasoning_content": "Hm."} if "Thinking" in model else {}
    messages, prompt = [ASK], renderer.render_ids([ASK], add_generation_prompt=True)
    for number in range(10):
        turn = call_turn(1 + number % 2, number * 3) | thought
        results = [result(number * 3 + place) for place in range(len(turn["tool_calls"]))]
        completion = renderer.render_ids([*messages, turn])[len(prompt) :]
        bridge = renderer.bridge(prompt, completion, results)
        assert isinstance(bridge, Bridge)
        assert bridge.matches_rerender
        messages += [turn, *results]
        prompt = bridge.tokens.token_ids
        assert prompt == renderer.render_ids(messages, add_generation_prompt=True)
