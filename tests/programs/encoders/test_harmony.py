"""The Harmony program gives the ids of OpenAI's encoder, and the owner of every character."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from renderers import (
    Bridge,
    BridgeReason,
    BridgeRefusal,
    Channel,
    ChatRenderer,
    GptOssRendererConfig,
    MessageError,
    TemplateRefusalError,
    build_training_samples,
    create_renderer,
    load_tokenizer,
)
from renderers.core.options import DEFAULT_DATE
from renderers.errors import DefaultDateWarning, UnknownSwitchError
from renderers.programs.encoders.harmony import HarmonyProgram
from tests.stress_harmony import GOLDENS, REFERENCES, differing, harmony_renderer
from tests.support.harmony_conversations import random_job

Data = dict[str, Any]

ASK: Data = {"role": "user", "content": "Hi"}
BYE: Data = {"role": "user", "content": "Bye"}
FUNCTION: Data = {"name": "get", "description": "Get it.", "parameters": {"type": "object"}}
TOOL: Data = {"type": "function", "function": FUNCTION}
CALL: Data = {"id": "c1", "type": "function", "function": {"name": "get", "arguments": {"x": 1}}}
ANSWER: Data = {"role": "assistant", "content": "Yes", "reasoning_content": "Hm"}
LOOK: Data = {"role": "assistant", "content": "I look.", "reasoning_content": "Look?", "tool_calls": [CALL]}
RESULT: Data = {"role": "tool", "tool_call_id": "c1", "content": "7"}

LOOK_TEXT = (
    "<|start|>assistant<|channel|>analysis<|message|>Look?<|end|>"
    "<|start|>assistant<|channel|>commentary<|message|>I look.<|end|>"
    '<|start|>assistant to=functions.get<|channel|>commentary <|constrain|>json<|message|>{"x": 1}<|call|>'
)
RESULT_TEXT = "<|start|>functions.get to=assistant<|channel|>commentary<|message|>7<|end|>"


def text_of(
    messages: list[Data],
    *,
    prompt: bool = False,
    tools: list[Data] | None = None,
    of_release: bool = False,
    **options: Any,
) -> str:
    """Return the text of messages without a system message."""
    options = {"use_system_prompt": False, **options}
    program = HarmonyProgram(of_release=of_release)
    run = program.run(messages, tools=tools, add_generation_prompt=prompt, arguments=options, now=DEFAULT_DATE)
    assert run.trace.text == run.text
    assert [span.start for span in run.trace.spans] == [0, *[span.end for span in run.trace.spans[:-1]]]
    return run.text


@pytest.mark.parametrize("program", REFERENCES)
def test_recorded_ids_of_the_reference_are_rendered(hub: object, program: str) -> None:
    rows = map(json.loads, GOLDENS.read_text(encoding="utf-8").splitlines())
    jobs = [row for row in rows if row["program"] == program]
    assert len(jobs) >= 50
    assert list(differing(harmony_renderer(program), jobs, [job.pop("ids") for job in jobs])) == []


def test_every_token_of_a_random_conversation_is_attributed(hub: object) -> None:
    renderer = harmony_renderer()
    reserved = frozenset(renderer.tokenizer.added_tokens.values())
    for seed in range(30):
        job = random_job(random.Random(seed))
        roles = [message["role"] for message in job["messages"]]
        options = {"tools": job["tools"], "add_generation_prompt": job["prompt"], **job["options"]}
        rendered = renderer.render(job["messages"], **options)
        assert rendered.token_ids == renderer.render_ids(job["messages"], **options)
        columns = zip(
            rendered.token_ids, rendered.message_indices, rendered.channels, rendered.sampled_mask, strict=True
        )
        for token, message, channel, sampled in columns:
            assert not sampled or roles[message] == "assistant"
            # No text of a message becomes a control token.
            assert token not in reserved or channel is Channel.SCAFFOLD
        owners = [message for message in rendered.message_indices if message >= 0]
        assert owners == sorted(owners)


def test_a_tool_cycle_keeps_its_analysis_until_the_answer() -> None:
    cycle = [ASK, LOOK, RESULT]
    user = "<|start|>user<|message|>Hi<|end|>"
    assert text_of(cycle, prompt=True) == f"{user}{LOOK_TEXT}{RESULT_TEXT}<|start|>assistant"
    answered = text_of([*cycle, ANSWER, BYE], prompt=True)
    assert "Look?" not in answered
    assert "Hm" not in answered
    assert text_of([*cycle, ANSWER, BYE], prompt=True, auto_drop_analysis=False).count("analysis") == 2


def test_a_render_that_ends_with_a_turn_has_the_history_in_which_it_was_sampled() -> None:
    trained = text_of([ASK, ANSWER, BYE, LOOK, RESULT, ANSWER])
    assert trained.startswith(text_of([ASK, ANSWER, BYE, LOOK, RESULT], prompt=True))
    assert trained.endswith(
        "<|channel|>analysis<|message|>Hm<|end|><|start|>assistant<|channel|>final<|message|>Yes<|return|>"
    )
    assert trained.count("Hm") == 1


def test_the_final_message_ends_with_return_only_at_the_end() -> None:
    assert text_of([ASK, ANSWER]).endswith("Yes<|return|>")
    assert text_of([ASK, ANSWER], prompt=True).endswith("Yes<|end|><|start|>assistant")
    assert "<|return|>" not in text_of([ASK, ANSWER, BYE])


def test_later_instructions_stay_in_their_place() -> None:
    late = {"role": "system", "content": "Be brief."}
    assert text_of([ASK, late, BYE]) == (
        "<|start|>user<|message|>Hi<|end|><|start|>developer<|message|># Instructions\n\nBe brief.<|end|>"
        "<|start|>user<|message|>Bye<|end|>"
    )


@pytest.mark.parametrize("result", [{"name": "get"}, {"tool_call_id": "c1"}, {}, {"tool_call_id": "other"}])
def test_a_result_is_attributed_to_its_tool(result: Data) -> None:
    assert text_of([ASK, LOOK, {"role": "tool", "content": "7", **result}]).endswith(RESULT_TEXT)


def test_a_result_of_an_unknown_tool_is_an_error() -> None:
    with pytest.raises(MessageError, match="message 1: is a tool result without a matching call"):
        text_of([ASK, {"role": "tool", "content": "7"}])


def test_built_in_tools_have_no_prefix_unless_a_function_has_their_name() -> None:
    python = {"id": "c2", "function": {"name": "python", "arguments": "print(1)"}}
    turn = {"role": "assistant", "content": None, "tool_calls": [python]}
    text = text_of([ASK, turn, {"role": "tool", "tool_call_id": "c2", "content": "1"}])
    assert "<|start|>assistant to=python<|channel|>analysis code<|message|>print(1)<|call|>" in text
    assert text.endswith("<|start|>python to=assistant<|channel|>analysis<|message|>1<|end|>")
    tool = {"type": "function", "function": {"name": "python", "description": ""}}
    assert "to=functions.python<|channel|>commentary <|constrain|>json" in text_of([ASK, turn], tools=[tool])


@pytest.mark.parametrize(
    ("messages", "fault"),
    [
        (
            [{"role": "user", "content": [{"type": "image"}]}],
            "is a part of type 'image', and this format accepts text parts only",
        ),
        ([{"role": "judge", "content": "x"}], "Harmony refuses message 0: there is no role 'judge'"),
    ],
)
def test_messages_that_harmony_cannot_express_are_errors(messages: list[Data], fault: str) -> None:
    with pytest.raises((MessageError, TemplateRefusalError), match=fault):
        text_of(messages)


@pytest.fixture
def gpt_oss(hub: object) -> ChatRenderer:
    return create_renderer(load_tokenizer("openai/gpt-oss-20b"), date="2026-01-31")


def test_headers_that_the_model_samples_are_sampled(gpt_oss: ChatRenderer) -> None:
    rendered = gpt_oss.render([ASK, LOOK, RESULT, ANSWER], tools=[TOOL])
    sampled = [token for token, flag in zip(rendered.token_ids, rendered.sampled_mask, strict=True) if flag]
    assert gpt_oss.tokenizer.decode(sampled) == (
        LOOK_TEXT.removeprefix("<|start|>assistant")
        + "<|channel|>analysis<|message|>Hm<|end|><|start|>assistant<|channel|>final<|message|>Yes<|return|>"
    )
    channels = dict(
        zip(map(gpt_oss.tokenizer.decode, ([token] for token in rendered.token_ids)), rendered.channels, strict=True)
    )
    assert channels["Look"] is Channel.REASONING
    assert channels["7"] is Channel.TOOL_RESULT
    assert channels["Yes"] is Channel.CONTENT
    assert rendered.losses == []


def test_the_prompt_between_two_calls_is_not_sampled(gpt_oss: ChatRenderer) -> None:
    other = {**CALL, "id": "c2"}
    rendered = gpt_oss.render([ASK, {**LOOK, "tool_calls": [CALL, other]}], tools=[TOOL])
    sampled = [token for token, flag in zip(rendered.token_ids, rendered.sampled_mask, strict=True) if flag]
    call = LOOK_TEXT[LOOK_TEXT.index(" to=") :]
    assert gpt_oss.tokenizer.decode(sampled) == LOOK_TEXT.removeprefix("<|start|>assistant") + call


@pytest.mark.parametrize("retention", [None, "all"])
def test_a_user_turn_is_bridged_if_the_reasoning_stays(gpt_oss: ChatRenderer, retention: Any) -> None:
    renderer = create_renderer(gpt_oss.tokenizer, date="2026-01-31", thinking_retention=retention)
    prompt = renderer.render_ids([ASK], add_generation_prompt=True)
    text = "<|channel|>analysis<|message|>Hm<|end|><|start|>assistant<|channel|>final<|message|>Yes<|return|>"
    bridge = renderer.bridge(prompt, renderer.tokenizer.encode(text), [BYE])
    if retention is None:
        assert isinstance(bridge, BridgeRefusal)
        assert bridge.reason is BridgeReason.HISTORY_REWRITTEN
        assert "auto_drop_analysis=False" in bridge.detail
    else:
        assert isinstance(bridge, Bridge)
        suffix = bridge.tokens.token_ids[len(prompt) + len(renderer.tokenizer.encode(text)) :]
        assert renderer.tokenizer.decode(suffix) == "<|start|>user<|message|>Bye<|end|><|start|>assistant"


def test_the_options_of_the_config_are_written(gpt_oss: ChatRenderer) -> None:
    config = GptOssRendererConfig(
        reasoning_effort="high",
        conversation_start_date="2030-01-01",
        knowledge_cutoff="2029-12",
        model_identity="You are Ada.",
        builtin_tools=("python",),
    )
    renderer = create_renderer(gpt_oss.tokenizer, config)
    text = renderer.trace([ASK]).text
    assert text.startswith(
        "<|start|>system<|message|>You are Ada.\nKnowledge cutoff: 2029-12\nCurrent date: 2030-01-01\n\n"
        "Reasoning: high\n\n"
        "# Tools\n\n## python\n\nUse this tool"
    )
    assert "Current date: 2026-01-31\n" in gpt_oss.trace([ASK]).text
    assert (
        "system"
        not in create_renderer(gpt_oss.tokenizer, GptOssRendererConfig(use_system_prompt=False)).trace([ASK]).text
    )


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"builtin_tools": [["python"]]}, "builtin_tools must be a list that contains only 'browser' and 'python'"),
        ({"builtin_tools": ["shell"]}, "builtin_tools must be a list that contains only 'browser' and 'python'"),
        ({"builtin_tools": ["python"], "use_system_prompt": False}, "builtin_tools need the system message"),
        ({"model_identity": 5}, "model_identity must be a string, not an int"),
        ({"auto_drop_analysis": []}, "auto_drop_analysis must be a bool, not a list"),
    ],
)
def test_wrong_options_are_errors(options: Data, fault: str) -> None:
    with pytest.raises(TemplateRefusalError, match=fault):
        text_of([ASK], **options)


def test_a_turn_with_reasoning_preamble_and_call_is_parsed_rendered_and_bridged(gpt_oss: ChatRenderer) -> None:
    prompt = gpt_oss.render_ids([ASK], tools=[TOOL], add_generation_prompt=True)
    completion = gpt_oss.tokenizer.encode(LOOK_TEXT.removeprefix("<|start|>assistant"))
    turn = gpt_oss.parse_response(completion, tools=[TOOL], prompt_ids=prompt).to_message()
    assert gpt_oss.render_ids([ASK, turn], tools=[TOOL]) == [*prompt, *completion]
    bridge = gpt_oss.bridge(prompt, completion, [{"role": "tool", "content": "7"}], tools=[TOOL])
    assert isinstance(bridge, Bridge), bridge
    again = gpt_oss.render_ids([ASK, turn, {"role": "tool", "content": "7"}], tools=[TOOL], add_generation_prompt=True)
    assert bridge.tokens.token_ids == again


def test_a_refusal_does_not_mention_a_template(gpt_oss: ChatRenderer) -> None:
    prompt = gpt_oss.render_ids([ASK], add_generation_prompt=True)
    completion = gpt_oss.tokenizer.encode("<|channel|>final<|message|>Yes<|return|>")
    for new in (ASK, {"role": "critic", "content": "No"}):
        refusal = gpt_oss.bridge(prompt, completion, [new])
        assert isinstance(refusal, BridgeRefusal)
        assert "template" not in refusal.detail
        assert "the format" in refusal.detail


def test_an_empty_answer_is_bridged_as_any_other(gpt_oss: ChatRenderer) -> None:
    keeping = create_renderer(gpt_oss.tokenizer, thinking_retention="all")
    prompt = keeping.render_ids([ASK], add_generation_prompt=True)
    for stop, closing in (("<|return|>", ""), ("", "<|end|>")):
        completion = keeping.tokenizer.encode(f"<|channel|>final<|message|>{stop}")
        bridge = keeping.bridge(prompt, completion, [ASK])
        assert isinstance(bridge, Bridge), bridge
        added = keeping.tokenizer.decode(bridge.tokens.token_ids[len(prompt) + len(completion) :])
        assert added == f"{closing}<|start|>user<|message|>{ASK['content']}<|end|><|start|>assistant"


def test_a_result_after_an_answer_is_refused(gpt_oss: ChatRenderer) -> None:
    prompt = gpt_oss.render_ids([ASK], tools=[TOOL], add_generation_prompt=True)
    completion = gpt_oss.tokenizer.encode("<|channel|>final<|message|>Yes<|return|>")
    refusal = gpt_oss.bridge(prompt, completion, [{"role": "tool", "name": "get", "content": "7"}], tools=[TOOL])
    assert isinstance(refusal, BridgeRefusal)
    assert "the completion ends with '<|return|>' (200002), which ends a turn without calls" in refusal.detail


def test_a_turn_after_built_in_tools_is_bridged(gpt_oss: ChatRenderer) -> None:
    arguments: Any = {"builtin_tools": ["python", "browser"]}
    prompt = gpt_oss.render_ids([ASK], add_generation_prompt=True, **arguments)
    completion = gpt_oss.tokenizer.encode("<|channel|>analysis to=python code<|message|>print(1)<|call|>")
    (call,) = gpt_oss.parse_response(completion, prompt_ids=prompt).tool_calls
    assert (call.name, call.arguments) == ("python", "print(1)")
    bridge = gpt_oss.bridge(prompt, completion, [{"role": "tool", "content": "1"}], **arguments)
    assert isinstance(bridge, Bridge), bridge
    assert gpt_oss.tokenizer.decode(bridge.tokens.token_ids[len(prompt) + len(completion) :]) == (
        "<|start|>python to=assistant<|channel|>analysis<|message|>1<|end|><|start|>assistant"
    )


def test_training_samples_have_the_reasoning_of_every_turn(gpt_oss: ChatRenderer) -> None:
    samples = build_training_samples(gpt_oss, [ASK, LOOK, RESULT, ANSWER, BYE, ANSWER], tools=[TOOL])
    trained = [
        gpt_oss.tokenizer.decode(
            [token for token, loss in zip(sample.token_ids, sample.loss_mask, strict=True) if loss]
        )
        for sample in samples
    ]
    assert sum(text.count("<|message|>Hm<|end|>") for text in trained) == 2
    assert sum(text.count("<|message|>Look?<|end|>") for text in trained) == 1


def test_the_warning_about_the_default_date_names_the_format(hub: object) -> None:
    renderer = create_renderer(load_tokenizer("openai/gpt-oss-20b"))
    with pytest.warns(DefaultDateWarning, match=r"The format of openai/gpt-oss-20b writes the date"):
        renderer.render_ids([{"role": "user", "content": "Hi"}])


def test_an_unknown_argument_is_one_that_the_format_does_not_read(gpt_oss: ChatRenderer) -> None:
    with pytest.raises(UnknownSwitchError, match="nor a variable that the format of the model reads"):
        gpt_oss.render_ids([{"role": "user", "content": "Hi"}], no_such_switch=True)


@pytest.fixture
def old_gpt_oss(hub: object) -> ChatRenderer:
    config = GptOssRendererConfig(program="harmony-0.1", date="2026-01-31", auto_drop_analysis=False)
    return create_renderer(load_tokenizer("openai/gpt-oss-20b"), config)


def test_the_conversion_of_release_01_opens_analysis_and_writes_calls_without_a_type() -> None:
    assert text_of([ASK, LOOK], prompt=True, of_release=True) == (
        "<|start|>user<|message|>Hi<|end|><|start|>assistant<|channel|>analysis<|message|>Look?<|end|>"
        "<|start|>assistant<|channel|>final<|message|>I look.<|end|>"
        '<|start|>assistant to=functions.get<|channel|>commentary<|message|>{"x": 1}<|call|>'
        "<|start|>assistant<|channel|>analysis<|message|>"
    )


def test_the_conversion_of_release_01_drops_the_reasoning_of_an_answer() -> None:
    answer = "<|start|>user<|message|>Hi<|end|><|start|>assistant<|channel|>final<|message|>Yes<|return|>"
    assert text_of([ASK, ANSWER], of_release=True) == answer
    assert "Hm<|end|>" in text_of([ASK, ANSWER], of_release=True, auto_drop_analysis=False)


def test_the_conversion_of_release_01_moves_the_first_system_message() -> None:
    late = [ASK, {"role": "system", "content": "Be brief."}, {"role": "system", "content": ""}]
    assert text_of(late, of_release=True) == (
        "<|start|>developer<|message|># Instructions\n\nBe brief.<|end|><|start|>user<|message|>Hi<|end|>"
        "<|start|>developer<|message|># Instructions\n\n<|end|>"
    )
    assert text_of([{"role": "system", "content": ""}, ASK], of_release=True).startswith(
        "<|start|>developer<|message|><|end|><|start|>user"
    )


def test_the_conversion_of_release_01_has_no_built_in_tools() -> None:
    with pytest.raises(TemplateRefusalError, match=r"release 0\.1 has no builtin_tools"):
        text_of([ASK], of_release=True, use_system_prompt=True, builtin_tools=["python"])


@pytest.mark.parametrize("turn", [LOOK, ANSWER, {"role": "assistant", "content": "", "reasoning_content": "Hm"}])
def test_a_turn_of_release_01_is_parsed_rendered_and_bridged(old_gpt_oss: ChatRenderer, turn: Data) -> None:
    prompt = old_gpt_oss.render([ASK], tools=[TOOL], add_generation_prompt=True).token_ids
    rendered = old_gpt_oss.render([ASK, turn], tools=[TOOL])
    completion = rendered.token_ids[len(prompt) :]
    assert rendered.token_ids == [*prompt, *completion]
    assert rendered.sampled_mask == [False] * len(prompt) + [True] * len(completion)
    parsed = old_gpt_oss.parse_response(completion, tools=[TOOL], prompt_ids=prompt)
    assert parsed.reasoning_content == turn["reasoning_content"]
    assert old_gpt_oss.render_ids([ASK, parsed.to_message()], tools=[TOOL]) == rendered.token_ids
    new = {"role": "tool", "name": "get", "content": "7"} if "tool_calls" in turn else BYE
    # A user's message changes the end token of a final message.
    ids = completion if "tool_calls" in turn else completion[:-1]
    bridge = old_gpt_oss.bridge(prompt, ids, [new], tools=[TOOL])
    assert isinstance(bridge, Bridge), bridge
    assert bridge.tokens.token_ids == old_gpt_oss.render_ids([ASK, turn, new], tools=[TOOL], add_generation_prompt=True)


def test_a_stream_after_the_prompt_of_release_01_begins_within_reasoning(old_gpt_oss: ChatRenderer) -> None:
    prompt = old_gpt_oss.render_ids([ASK], add_generation_prompt=True)
    text = "Hm<|end|><|start|>assistant<|channel|>final<|message|>Yes<|return|>"
    completion = old_gpt_oss.tokenizer.encode(text)
    whole = old_gpt_oss.parse_response(completion, prompt_ids=prompt)
    parser = old_gpt_oss.parser(prompt_ids=prompt)
    for token in completion:
        parser.feed([token])
    assert parser.close() == whole
    assert (whole.reasoning_content, whole.content, whole.recoveries) == ("Hm", "Yes", ())


def test_the_conventions_of_release_0_1_leave_all_headers_of_a_turn_untrained(hub: object) -> None:
    config = GptOssRendererConfig(program="harmony-0.1", conventions="0.1")
    renderer = create_renderer(load_tokenizer("openai/gpt-oss-20b"), config)
    twice = {**LOOK, "reasoning_content": "Look<|channel|>?", "tool_calls": [CALL, CALL]}
    rendered = renderer.render([ASK, twice], tools=[TOOL])
    pairs = zip(rendered.token_ids, rendered.sampled_mask, strict=True)
    sampled = renderer.tokenizer.decode([token for token, is_sampled in pairs if is_sampled])
    # The text that release 0.1.12 trains.
    assert sampled == 'Look<|channel|>?<|end|>I look.<|end|>{"x": 1}<|call|>{"x": 1}<|call|>'
