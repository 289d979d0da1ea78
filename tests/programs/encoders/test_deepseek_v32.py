"""The program of DeepSeek V3.2 gives the text of the vendor's encoder. `test_deepseek_v4` has the recorded texts."""

from __future__ import annotations

from typing import Any

import pytest

from renderers import (
    BridgeRefusal,
    DeepSeekV32RendererConfig,
    MessageError,
    TemplateRefusalError,
    create_renderer,
    load_tokenizer,
)
from renderers.core.options import DEFAULT_DATE
from renderers.programs.encoders.deepseek_v32 import DeepSeekV32Program

Data = dict[str, Any]

ASK, BYE = {"role": "user", "content": "Hi"}, {"role": "user", "content": "Bye"}
ANSWER = {"role": "assistant", "content": "Yes", "reasoning_content": "Hm"}
CALLS = [{"id": name, "type": "function", "function": {"name": "get", "arguments": {"x": 1}}} for name in "ab"]
LOOK = {"role": "assistant", "content": "", "reasoning_content": "Look?", "tool_calls": CALLS}
RESULTS = [{"role": "tool", "tool_call_id": name, "content": name.upper()} for name in "ab"]


def write(messages: list[Data], *, prompt: bool = False, tools: list[Data] | None = None, **options: Any) -> str:
    run = DeepSeekV32Program().run(
        messages, tools=tools, add_generation_prompt=prompt, arguments=options, now=DEFAULT_DATE
    )
    assert run.trace.text == run.text
    return run.text.removeprefix("<｜begin▁of▁sentence｜>")


def test_reasoning_is_written_after_the_last_question_only() -> None:
    written = write([ASK, ANSWER, BYE, ANSWER], thinking=True)
    first = "<｜User｜>Hi<｜Assistant｜></think>Yes<｜end▁of▁sentence｜>"
    assert written == first + "<｜User｜>Bye<｜Assistant｜><think>Hm</think>Yes<｜end▁of▁sentence｜>"
    assert "Hm" not in write([ASK, ANSWER])


def test_the_prompt_follows_a_question_or_all_results() -> None:
    assert write([ASK]) == "<｜User｜>Hi"
    assert write([ASK], prompt=True, enable_thinking=True) == "<｜User｜>Hi<｜Assistant｜><think>"
    results = "\n\n<function_results>\n<result>A</result>\n<result>B</result>\n</function_results>"
    assert write([ASK, LOOK, *RESULTS]).endswith(results)
    assert write([ASK, LOOK, *RESULTS], prompt=True).endswith(f"{results}\n\n</think>")


def test_a_prompt_after_some_of_the_results_is_refused() -> None:
    messages: list[Data] = [ASK, LOOK, *RESULTS[:1]]
    assert write(messages).endswith("\n<result>A</result>")
    with pytest.raises(TemplateRefusalError, match=r"message 2: only 1 of 2 tool calls .* other calls \('get'\)"):
        write(messages, prompt=True)


def test_a_turn_without_reasoning_and_calls_is_written_with_thinking() -> None:
    assert write([ASK, {"role": "assistant", "content": "Yes"}], thinking=True).endswith(
        "<think></think>Yes<｜end▁of▁sentence｜>"
    )


def test_a_prefix_has_no_end() -> None:
    assert write([ASK, {**ANSWER, "prefix": True}], thinking=True).endswith("<think>Yes")


def test_tools_follow_the_first_system_message() -> None:
    tool = {"type": "function", "function": {"name": "get"}}
    assert write([{"role": "system", "content": "S"}, ASK], tools=[tool]).startswith("S\n\n## Tools\n")
    assert write([ASK], tools=[tool]).startswith("\n\n## Tools\n")
    developer = {"role": "developer", "content": "D"}
    assert write([developer]) == "<｜User｜>\n\n# The user's message is: D"


def test_input_without_a_place_is_refused() -> None:
    with pytest.raises(TemplateRefusalError, match="message 1: there is no tool call for this result"):
        write([ASK, RESULTS[0]])
    with pytest.raises(TemplateRefusalError, match="message 4: there is no tool call for this result"):
        write([ASK, LOOK, *RESULTS, RESULTS[0]])
    with pytest.raises(TemplateRefusalError, match="there is no role 'critic'"):
        write([{"role": "critic", "content": ""}])
    with pytest.raises(MessageError, match="must not be empty"):
        write([{"role": "developer", "content": ""}])


def test_turns_are_parsed_back(hub: object) -> None:
    tokenizer = load_tokenizer("deepseek-ai/DeepSeek-V4-Flash-0731")
    renderer = create_renderer(tokenizer, DeepSeekV32RendererConfig(thinking=True))
    assert renderer.resolution.program == "deepseek-v3.2"
    prompt = renderer.render_ids([ASK], add_generation_prompt=True)
    for turn in (ANSWER, LOOK):
        whole = renderer.render_ids([ASK, turn])
        parsed = renderer.parse_response(whole[len(prompt) :], prompt_ids=prompt)
        assert parsed.reasoning_content == turn["reasoning_content"]
        assert renderer.render_ids([ASK, parsed.to_message()]) == whole


def test_a_bridge_with_fewer_results_than_calls_is_refused(hub: object) -> None:
    """The format writes no generation prompt before all results are there."""
    tokenizer = load_tokenizer("deepseek-ai/DeepSeek-V4-Flash-0731")
    renderer = create_renderer(tokenizer, DeepSeekV32RendererConfig())
    prompt = renderer.render_ids([ASK], add_generation_prompt=True)
    completion = renderer.render_ids([ASK, {**LOOK, "reasoning_content": ""}])[len(prompt) :]
    bridge = renderer.bridge(prompt, completion, RESULTS[:1])
    assert isinstance(bridge, BridgeRefusal)
    assert "only 1 of 2 tool calls have a result" in bridge.detail
    assert not isinstance(renderer.bridge(prompt, completion, RESULTS), BridgeRefusal)
