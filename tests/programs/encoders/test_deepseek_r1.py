"""The program of DeepSeek R1 writes the format that release 0.1 wrote, for models without a template."""

from __future__ import annotations

from typing import Any

import pytest

from renderers import Bridge, TemplateRefusalError, create_renderer, load_tokenizer
from renderers.core.options import DEFAULT_DATE
from renderers.programs.encoders.deepseek_r1 import DeepSeekR1Program

Data = dict[str, Any]

ASK = {"role": "user", "content": "Hi"}
ANSWER = {"role": "assistant", "content": "Yes", "reasoning_content": "Hm"}
CALL = {"type": "function", "function": {"name": "get", "arguments": {"x": "é"}}}
LOOK = {"role": "assistant", "content": "I look.", "tool_calls": [CALL, CALL]}
RESULT = {"role": "tool", "content": "7"}
END = "<｜end▁of▁sentence｜>"


def write(messages: list[Data], *, prompt: bool = False) -> str:
    run = DeepSeekR1Program().run(messages, add_generation_prompt=prompt, arguments={}, now=DEFAULT_DATE)
    assert run.trace.text == run.text
    return run.text.removeprefix("<｜begin▁of▁sentence｜>")


def test_the_prompt_opens_reasoning() -> None:
    assert write([ASK], prompt=True) == "<｜User｜>Hi<｜Assistant｜><think>\n"
    assert write([ASK, LOOK, RESULT], prompt=True).endswith("<｜tool▁outputs▁end｜><think>\n")


def test_the_first_system_messages_are_joined() -> None:
    first, second, late = ({"role": "system", "content": text} for text in "abc")
    assert write([first, second, ASK, late]) == "a\n\nb<｜User｜>Hi<｜User｜>c"


def test_reasoning_is_no_part_of_the_history() -> None:
    inline = {"role": "assistant", "content": "<think>Hm</think>So</think>Yes"}
    assert write([ASK, ANSWER]) == write([ASK, inline]) == f"<｜User｜>Hi<｜Assistant｜>Yes{END}"
    parts = {"role": "assistant", "content": [{"type": "text", "text": "Hm</think>Y"}, {"type": "text", "text": "es"}]}
    assert write([ASK, parts]) == write([ASK, ANSWER])


def test_calls_and_results_have_markers() -> None:
    call = '<｜tool▁call▁begin｜>function<｜tool▁sep｜>get\n```json\n{"x": "é"}\n```<｜tool▁call▁end｜>'
    calls = f"<｜tool▁calls▁begin｜>{call}{call}<｜tool▁calls▁end｜>"
    result = "<｜tool▁output▁begin｜>7<｜tool▁output▁end｜>"
    results = f"<｜tool▁outputs▁begin｜>{result}{result}<｜tool▁outputs▁end｜>"
    expected = f"<｜User｜>Hi<｜Assistant｜>I look.{calls}{END}{results}Yes{END}"
    assert write([ASK, LOOK, RESULT, RESULT, ANSWER]) == expected


def test_other_roles_are_refused() -> None:
    with pytest.raises(TemplateRefusalError, match="message 0: there is no role 'critic'"):
        write([{"role": "critic", "content": "x"}])


def test_a_developer_message_is_a_system_message() -> None:
    system, developer = ({"role": role, "content": "a"} for role in ("system", "developer"))
    assert write([developer, ASK]) == write([system, ASK]) == "a<｜User｜>Hi"
    assert write([system, developer, ASK, developer]) == write([system, system, ASK, system])


def test_a_model_without_a_template_uses_the_program(hub: object) -> None:
    renderer = create_renderer(load_tokenizer("deepseek-ai/DeepSeek-R1"))
    assert (type(renderer).__name__, renderer.resolution.program) == ("DeepSeekR1Renderer", "deepseek-r1")
    prompt = renderer.render_ids([ASK], add_generation_prompt=True)
    completion = renderer.tokenizer.encode(f"Hm</think>\n\nYes{END}", add_special_tokens=False)
    parsed = renderer.parse_response(completion, prompt_ids=prompt)
    assert (parsed.reasoning_content, parsed.content) == ("Hm", "Yes")
    with_template = create_renderer(load_tokenizer("deepseek-ai/DeepSeek-R1-Distill-Qwen-32B"))
    assert with_template.resolution.program == "template"


def test_a_bridge_after_a_turn_without_reasoning(hub: object) -> None:
    renderer = create_renderer(load_tokenizer("deepseek-ai/DeepSeek-R1"), thinking_retention="all")
    prompt = renderer.render_ids([ASK], add_generation_prompt=True)
    completion = renderer.tokenizer.encode(f"Hm</think>\n\nYes{END}", add_special_tokens=False)
    bridge = renderer.bridge(prompt, completion, [ASK])
    assert isinstance(bridge, Bridge)
    assert renderer.tokenizer.decode(bridge.tokens.token_ids).endswith(f"Yes{END}<｜User｜>Hi<｜Assistant｜><think>\n")
