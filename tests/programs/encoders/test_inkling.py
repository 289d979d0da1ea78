"""Inkling's format is written as its encoder writes it, and works with everything above a program."""

from __future__ import annotations

import json
from typing import Any

import pytest
from transformers import PreTrainedTokenizerFast

from renderers import Bridge, ChatRenderer, create_renderer
from renderers.errors import MessageError, TemplateRefusalError
from renderers.programs.encoders.inkling import EFFORTS, InklingProgram
from tests.stress_inkling import GOLDENS, digest_of_segments, segments_of
from tests.support.parity import NOW
from tests.support.standin import byte_tokenizer

TOKENS = [
    *("<|message_system|>", "<|message_user|>", "<|message_model|>", "<|message_tool|>", "<|end_message|>"),
    *("<|content_text|>", "<|content_thinking|>", "<|content_xml|>", "<|content_invoke_tool_json|>"),
    *("<|content_image|>", "<|content_audio_input|>", "<|audio_end|>", "<|content_model_end_sampling|>"),
    "<|endoftext|>",
]
TOOLS = [{"type": "function", "function": {"parameters": {"type": "object", "properties": {}}, "name": "search"}}]
CALL = {"id": "c1", "function": {"name": "search", "arguments": {"b": "é", "a": [1, None]}}}
TURN = {"role": "assistant", "content": "Look.", "reasoning_content": "Hm.", "tool_calls": [CALL]}
USER = {"role": "user", "content": "Hi"}
EFFORT = "<|message_system|><|content_text|>Thinking effort level: 0.9<|end_message|>"
HI = "<|message_user|><|content_text|>Hi<|end_message|>"
SAMPLED = (
    "<|content_thinking|>Hm.<|end_message|><|message_model|><|content_text|>Look.<|end_message|>"
    '<|message_model|>search<|content_invoke_tool_json|>{"name":"search","args":{"a":[1,null],"b":"é"}}<|end_message|>'
    "<|content_model_end_sampling|>"
)


def text_of(messages: list[dict[str, Any]], *, prompt: bool = False, tools: Any = None, **arguments: Any) -> str:
    run = InklingProgram().run(messages, tools=tools, add_generation_prompt=prompt, arguments=arguments, now=NOW)
    assert run.trace.text == run.text
    return run.text


@pytest.fixture(scope="module")
def renderer() -> ChatRenderer:
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=byte_tokenizer(TOKENS), eos_token="<|endoftext|>")
    tokenizer.name_or_path = "thinkingmachines/Inkling"
    return create_renderer(tokenizer)


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([USER], EFFORT + HI),
        ([{"role": "system", "content": "S"}, USER], f"{HI.replace('user', 'system').replace('Hi', 'S')}{EFFORT}{HI}"),
        ([{"role": "developer", "content": "S"}], f"{HI.replace('user', 'system').replace('Hi', 'S')}{EFFORT}"),
        ([USER, TURN], f"{EFFORT}{HI}<|message_model|>{SAMPLED}"),
        ([USER, {"role": "assistant", "content": ""}], f"{EFFORT}{HI}<|content_model_end_sampling|>"),
        (
            [USER, TURN, {"role": "tool", "tool_call_id": "c1", "content": "R"}],
            f"{EFFORT}{HI}<|message_model|>{SAMPLED}<|message_tool|>search<|content_text|>R<|end_message|>",
        ),
        (
            [
                {
                    "role": "user",
                    "content": ["a", {"type": "image"}, {"type": "input_audio"}, {"type": "text", "text": "b"}],
                }
            ],
            (
                f"{EFFORT}{HI.replace('Hi', 'a')}<|message_user|><|content_image|><|end_message|>"
                f"<|message_user|><|content_audio_input|><|audio_end|><|end_message|>{HI.replace('Hi', 'b')}"
            ),
        ),
    ],
)
def test_messages_are_segments(messages: list[dict[str, Any]], expected: str) -> None:
    assert text_of(messages) == expected
    assert text_of(messages, prompt=True) == expected + "<|message_model|>"


def test_tools_are_declared_first_as_compact_json_with_sorted_keys() -> None:
    declared = '[{"description":"","name":"search","parameters":{"properties":{},"type":"object"},"type":"function"}]'
    head = f"<|message_system|>tool_declare<|content_xml|>{declared}<|end_message|>"
    assert text_of([USER], tools=TOOLS) == head + EFFORT + HI
    assert text_of([USER], tools=[TOOLS[0]["function"]]) == head + EFFORT + HI


@pytest.mark.parametrize(
    ("effort", "text"), [(0, "0.0"), (0.555, "0.56"), (0.99, "0.99"), ("low", "0.2"), (None, "0.9")]
)
def test_an_effort_is_a_number_or_a_word(effort: Any, text: str) -> None:
    assert f"level: {text}<" in text_of([USER], reasoning_effort=effort)


@pytest.mark.parametrize("effort", [1, -0.1, "much", True, [0.5]])
def test_another_effort_is_an_error(effort: Any) -> None:
    with pytest.raises(TemplateRefusalError, match="reasoning_effort"):
        text_of([USER], reasoning_effort=effort)
    assert set(EFFORTS) >= {"none", "low", "medium", "high", "max"}


@pytest.mark.parametrize("arguments", ["[1]", "{", 5, '{"x": NaN}'])
def test_arguments_must_be_an_object(arguments: Any) -> None:
    call = {"function": {"name": "f", "arguments": arguments}}
    with pytest.raises(MessageError, match="must be a dict or the text of a JSON object"):
        text_of([USER, {"role": "assistant", "content": "", "tool_calls": [call]}])


def test_segments_equal_the_recorded_ones_of_the_reference() -> None:
    jobs = [json.loads(line) for line in GOLDENS.read_text(encoding="utf-8").splitlines()]
    assert len(jobs) >= 50
    assert [job for job in jobs if digest_of_segments(segments_of(job)) != job["digest"]] == []


def test_only_the_format_writes_special_tokens(renderer: ChatRenderer) -> None:
    content = ["a<|end_message|>", {"type": "image"}, {"type": "audio"}]
    rendered = renderer.render([{"role": "user", "content": content}], process_multimodal=False)
    special = set(renderer.tokenizer.convert_tokens_to_ids(TOKENS))
    written = [renderer.tokenizer.decode([token]) for token in rendered.token_ids if token in special]
    assert written[3:] == [
        *("<|message_user|>", "<|content_text|>", "<|end_message|>"),
        *("<|message_user|>", "<|content_image|>", "<|end_message|>"),
        *("<|message_user|>", "<|content_audio_input|>", "<|audio_end|>", "<|end_message|>"),
    ]
    assert rendered.losses == []


def test_an_unknown_role_is_an_error() -> None:
    with pytest.raises(TemplateRefusalError, match="no role 'robot'"):
        text_of([{"role": "robot", "content": "x"}])


def test_a_turn_is_sampled_without_its_first_marker(renderer: ChatRenderer) -> None:
    rendered = renderer.render([USER, TURN], tools=TOOLS)
    sampled = [token for token, flag in zip(rendered.token_ids, rendered.sampled_mask, strict=True) if flag]
    assert renderer.tokenizer.decode(sampled) == SAMPLED
    assert rendered.losses == []


def test_a_turn_is_parsed_back_and_bridged(renderer: ChatRenderer) -> None:
    assert renderer.program == renderer.resolution.program == "inkling"
    prompt = renderer.render_ids([USER], tools=TOOLS, add_generation_prompt=True)
    completion = renderer.render_ids([USER, TURN], tools=TOOLS)[len(prompt) :]
    parsed = renderer.parse_response(completion, prompt_ids=prompt, tools=TOOLS)
    assert (parsed.content, parsed.reasoning_content) == ("Look.", "Hm.")
    assert [(call.name, call.arguments) for call in parsed.tool_calls] == [("search", {"a": [1, None], "b": "é"})]
    for new in ({"role": "tool", "name": "search", "content": "R"}, {"role": "user", "content": "Bye"}):
        bridge = renderer.bridge(prompt, completion, [new], tools=TOOLS)
        assert isinstance(bridge, Bridge)
        again = renderer.render_ids([USER, TURN, new], tools=TOOLS, add_generation_prompt=True)
        assert bridge.tokens.token_ids == again
