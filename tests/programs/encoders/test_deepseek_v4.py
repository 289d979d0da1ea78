"""The programs of DeepSeek V4 and V4.1 give the texts of the vendor's encoders, and the owner of every character."""

from __future__ import annotations

import json
from typing import Any

import pytest

from renderers import (
    Bridge,
    BridgeRefusal,
    Channel,
    ChatRenderer,
    DeepSeekV4RendererConfig,
    MessageError,
    TemplateRefusalError,
    UnknownSwitchError,
    build_training_samples,
    create_renderer,
    load_tokenizer,
)
from renderers.core.options import DEFAULT_DATE
from renderers.core.text import digest_of
from renderers.programs.encoders.deepseek_v4 import DeepSeekV4Program
from tests.stress_deepseek import GOLDENS, text_of

Data = dict[str, Any]

MODEL = "deepseek-ai/DeepSeek-V4-Flash-0731"
BOS, EOS, USER, ASSISTANT = "<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", "<｜User｜>", "<｜Assistant｜>"
LEAD = {"role": "system", "content": "S"}
ASK, BYE = {"role": "user", "content": "Hi"}, {"role": "user", "content": "Bye"}
ANSWER = {"role": "assistant", "content": "Yes", "reasoning_content": "Hm"}
TOOL = {"type": "function", "function": {"name": "get", "description": "Get it.", "parameters": {"type": "object"}}}


def call(call_id: str, **arguments: Any) -> Data:
    return {"id": call_id, "type": "function", "function": {"name": "get", "arguments": arguments}}


def result(call_id: str, content: str) -> Data:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


LOOK = {
    "role": "assistant",
    "content": "I look.",
    "reasoning_content": "Look?",
    "tool_calls": [call("a", x="1"), call("b", y=2)],
}
LOOK_TEXT = (
    "I look.\n\n<｜DSML｜tool_calls>\n"
    '<｜DSML｜invoke name="get">\n<｜DSML｜parameter name="x" string="true">1</｜DSML｜parameter>\n</｜DSML｜invoke>\n'
    '<｜DSML｜invoke name="get">\n<｜DSML｜parameter name="y" string="false">2</｜DSML｜parameter>\n</｜DSML｜invoke>\n'
    f"</｜DSML｜tool_calls>{EOS}"
)


def write(messages: list[Data], *, prompt: bool = False, tools: list[Data] | None = None, **options: Any) -> str:
    """Return the text of messages without the begin token."""
    run = DeepSeekV4Program().run(
        messages, tools=tools, add_generation_prompt=prompt, arguments=options, now=DEFAULT_DATE
    )
    assert run.trace.text == run.text
    assert [span.start for span in run.trace.spans] == [0, *[span.end for span in run.trace.spans[:-1]]]
    return run.text.removeprefix(BOS)


@pytest.fixture(scope="module")
def renderer(hub: object) -> ChatRenderer:
    return create_renderer(load_tokenizer(MODEL))


@pytest.fixture(scope="module")
def thinking_renderer(hub: object) -> ChatRenderer:
    return create_renderer(load_tokenizer(MODEL), DeepSeekV4RendererConfig(enable_thinking=True))


# ==================
# Text
# ==================


def test_recorded_texts_of_the_encoders_are_written() -> None:
    jobs = [json.loads(line) for line in GOLDENS.read_text(encoding="utf-8").splitlines()]
    assert len(jobs) >= 80
    assert [job for job in jobs if digest_of(text_of(job)) != job["digest"]] == []


def test_the_prompt_closes_the_reasoning_or_opens_it() -> None:
    assert write([LEAD, ASK], prompt=True) == f"S{USER}Hi{ASSISTANT}</think>"
    assert write([LEAD, ASK], prompt=True, enable_thinking=True) == f"S{USER}Hi{ASSISTANT}<think>"
    assert write([LEAD, ASK]) == f"S{USER}Hi"


def test_reasoning_before_the_last_question_is_left_out() -> None:
    turns = [ASK, ANSWER, BYE, ANSWER]
    kept = f"{USER}Hi{ASSISTANT}<think>Hm</think>Yes{EOS}"
    dropped = kept.replace("<think>Hm", "")
    last = f"{USER}Bye{ASSISTANT}<think>Hm</think>Yes{EOS}"
    assert write(turns, enable_thinking=True) == dropped + last
    assert write(turns, enable_thinking=True, drop_thinking=False) == kept + last
    assert write(turns, enable_thinking=True, tools=[TOOL]).endswith(kept + last)


def test_tool_results_are_a_turn_of_the_user_in_the_order_of_the_calls() -> None:
    results = [result("b", "2"), result("a", "1"), BYE]
    expected = f"{USER}<tool_result>1</tool_result>\n\n<tool_result>2</tool_result>\n\nBye{ASSISTANT}</think>"
    assert write([ASK, LOOK, *results], prompt=True) == f"{USER}Hi{ASSISTANT}</think>{LOOK_TEXT}{expected}"


def test_arguments_can_be_json_text_or_any_text() -> None:
    def arguments_of(value: Any) -> str:
        turn = {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "get", "arguments": value}}]}
        return write([ASK, turn]).partition('name="get">\n')[2].partition("\n</｜DSML｜invoke>")[0]

    assert arguments_of('{"x": "1"}') == '<｜DSML｜parameter name="x" string="true">1</｜DSML｜parameter>'
    assert arguments_of("x") == '<｜DSML｜parameter name="arguments" string="true">x</｜DSML｜parameter>'
    assert arguments_of({}) == arguments_of(None) == ""


def test_tools_follow_the_developer_message_or_the_system_message() -> None:
    tools = "\n\n## Tools\n\n"
    developer = {"role": "developer", "content": "D"}
    assert write([LEAD, developer, ASK], tools=[TOOL]).startswith(f"S{USER}D{tools}")
    assert write([LEAD, ASK], tools=[TOOL]).startswith(f"S{tools}")
    assert write([ASK], tools=[TOOL]).startswith(tools)
    assert '\n{"name": "get", "description": "Get it.", "parameters": {"type": "object"}}\n' in write(
        [ASK], tools=[TOOL]
    )


def test_an_earlier_developer_message_is_left_out_with_the_reasoning() -> None:
    developer = {"role": "developer", "content": "D"}
    assert "D" not in write([developer, ASK, ANSWER, BYE], enable_thinking=True)
    assert "D" in write([developer, ASK, ANSWER, BYE])


@pytest.mark.parametrize(
    ("task", "expected"), [("query", "<｜query｜>"), ("action", f"{ASSISTANT}</think><｜action｜>")]
)
def test_a_task_ends_the_turn_with_its_token(task: str, expected: str) -> None:
    asked = {**ASK, "task": task}
    assert write([asked]) == write([asked], prompt=True) == f"{USER}Hi{expected}"
    assert write([asked, ANSWER], enable_thinking=True).endswith(f"Yes{EOS}")


def test_other_fields_of_messages_are_written() -> None:
    assert write([ASK, {**ANSWER, "wo_eos": True}]).endswith("Yes")
    schema = {**LEAD, "response_format": {"type": "json"}}
    assert write([schema]).startswith("S\n\n## Response Format:\n\nYou MUST strictly adhere")
    assert write([ASK, {"role": "latest_reminder", "content": "R"}]).endswith("<｜latest_reminder｜>R")


def test_the_effort_is_written_only_with_thinking() -> None:
    assert write([ASK], reasoning_effort="max").startswith(USER)
    assert write([ASK], reasoning_effort="low", enable_thinking=True).startswith(USER)
    assert write([ASK], reasoning_effort="max", enable_thinking=True).startswith("Reasoning Effort: Beyond maximum")
    later = DeepSeekV4Program(has_system_token=True).run(
        [ASK], arguments={"enable_thinking": True, "reasoning_effort": 7}, now=DEFAULT_DATE
    )
    assert later.text.startswith(f"{BOS}<｜System｜>Reasoning Effort: 7 (range 1-100")


def test_input_without_a_place_is_refused() -> None:
    with pytest.raises(TemplateRefusalError, match="message 0: there is no role 'critic'"):
        write([{"role": "critic", "content": "x"}])
    with pytest.raises(MessageError, match=r"message 0: task must be one of action, .*, not 'x'"):
        write([{**ASK, "task": "x"}])
    with pytest.raises(MessageError, match=r"message 0: task must be one of action, .*, not \['x'\]"):
        write([{**ASK, "task": ["x"]}])
    with pytest.raises(TemplateRefusalError, match=r"reasoning_effort must be one of .*, not \['high'\]"):
        write([ASK], reasoning_effort=["high"])
    with pytest.raises(MessageError, match="must not be empty in a developer message"):
        write([{"role": "developer", "content": ""}])
    with pytest.raises(MessageError, match="a part of type 'image'"):
        write([{"role": "user", "content": [{"type": "image", "image": "x"}]}])
    with pytest.raises(TemplateRefusalError, match="reasoning_effort must be one of 'low', 'high', 'max', not 'x'"):
        write([ASK], reasoning_effort="x")


# ==================
# Above the program
# ==================


def test_the_program_is_the_default_of_the_family(renderer: ChatRenderer) -> None:
    assert type(renderer).__name__ == "DeepSeekV4Renderer"
    assert (renderer.resolution.program, renderer.resolution.conflicts) == ("deepseek-v4", ())
    assert renderer.resolution.grammar.tools == "deepseek_v4"
    with pytest.raises(UnknownSwitchError):
        renderer.render_ids([ASK], add_vision_id=True)


def test_the_sampled_tokens_are_those_of_the_turns(thinking_renderer: ChatRenderer) -> None:
    rendered = thinking_renderer.render([ASK, LOOK, result("a", "1"), result("b", "2"), ANSWER], tools=[TOOL])
    sampled = [token for token, flag in zip(rendered.token_ids, rendered.sampled_mask, strict=True) if flag]
    assert thinking_renderer.tokenizer.decode(sampled) == f"Look?</think>{LOOK_TEXT}Hm</think>Yes{EOS}"
    assert {*rendered.channels} == {*Channel} - {Channel.MEDIA, Channel.TOOL_CALL_ID}
    assert not rendered.losses


@pytest.mark.parametrize("thinking", [False, True])
def test_a_parsed_turn_renders_to_its_ids(thinking: bool, hub: object) -> None:
    renderer = create_renderer(load_tokenizer(MODEL), chat_template_kwargs={"enable_thinking": thinking})
    prompt = renderer.render_ids([ASK], tools=[TOOL], add_generation_prompt=True)
    whole = renderer.render_ids([ASK, LOOK], tools=[TOOL])
    assert whole[: len(prompt)] == prompt
    parsed = renderer.parse_response(whole[len(prompt) :], tools=[TOOL], prompt_ids=prompt)
    assert [call.arguments for call in parsed.tool_calls] == [{"x": "1"}, {"y": 2}]
    assert parsed.reasoning_content == ("Look?" if thinking else None)
    assert renderer.render_ids([ASK, parsed.to_message()], tools=[TOOL]) == whole


@pytest.mark.parametrize("thinking", [False, True])
@pytest.mark.parametrize(
    "new", [[result("a", "1")], [BYE], [result("a", "1"), BYE], [{"role": "tool", "content": "1"}] * 2]
)
def test_a_bridge_with_tools_equals_the_whole_render(thinking: bool, new: list[Data], hub: object) -> None:
    renderer = create_renderer(load_tokenizer(MODEL), chat_template_kwargs={"enable_thinking": thinking})
    turn = LOOK if len(new) > 1 and new[1]["role"] == "tool" else {**LOOK, "tool_calls": LOOK["tool_calls"][:1]}
    prompt = renderer.render_ids([ASK], tools=[TOOL], add_generation_prompt=True)
    completion = renderer.render_ids([ASK, turn], tools=[TOOL])[len(prompt) :]
    bridge = renderer.bridge(prompt, completion, new, tools=[TOOL])
    assert isinstance(bridge, Bridge)
    assert bridge.tokens.token_ids == renderer.render_ids([ASK, turn, *new], tools=[TOOL], add_generation_prompt=True)


def test_results_in_an_order_that_depends_on_unknown_ids_are_not_bridged(renderer: ChatRenderer) -> None:
    prompt = renderer.render_ids([ASK], tools=[TOOL], add_generation_prompt=True)
    completion = renderer.render_ids([ASK, LOOK], tools=[TOOL])[len(prompt) :]
    refusal = renderer.bridge(prompt, completion, [result("b", "2"), result("a", "1")], tools=[TOOL])
    assert isinstance(refusal, BridgeRefusal)
    assert "names or ids of calls" in refusal.detail


def test_a_question_after_reasoning_is_bridged_only_if_the_reasoning_is_kept(thinking_renderer: ChatRenderer) -> None:
    prompt = thinking_renderer.render_ids([ASK], add_generation_prompt=True)
    completion = thinking_renderer.render_ids([ASK, ANSWER])[len(prompt) :]
    assert isinstance(thinking_renderer.bridge(prompt, completion, [BYE]), BridgeRefusal)
    config = DeepSeekV4RendererConfig(enable_thinking=True, drop_thinking=False)
    keeping = create_renderer(thinking_renderer.tokenizer, config)
    bridge = keeping.bridge(prompt, completion, [BYE])
    assert isinstance(bridge, Bridge)
    assert bridge.tokens.token_ids == keeping.render_ids([ASK, ANSWER, BYE], add_generation_prompt=True)


def test_training_samples_have_the_context_of_each_turn(thinking_renderer: ChatRenderer) -> None:
    samples = build_training_samples(thinking_renderer, [ASK, ANSWER, BYE, ANSWER])
    decode = thinking_renderer.tokenizer.decode
    texts = [
        decode([token for token, trained in zip(one.token_ids, one.loss_mask, strict=True) if trained])
        for one in samples
    ]
    assert "".join(texts).count("Hm</think>Yes") == 2
