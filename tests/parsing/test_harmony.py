"""A turn of several messages is scanned message by message."""

from __future__ import annotations

import random
from typing import Any

import pytest

from renderers import ChatRenderer, ParsedResponse, Region, create_renderer, load_tokenizer
from tests.support.responses import HARMONY, OK, TOOLS, read, said


def test_text_between_the_messages_of_a_turn_is_skipped(hub: object) -> None:
    renderer = create_renderer(load_tokenizer("openai/gpt-oss-20b"))
    text = "<|channel|>final<|message|>A<|end|>lost<|start|>assistant<|channel|>final<|message|>B<|end|>" + "é" * 2000
    parsed = read(text, prompt="<|start|>assistant", renderer=renderer)
    assert said(parsed) == ("A\nB", None, [])
    assert [skipped.text for skipped in parsed.skipped] == ["lost", "é" * 2000]


@pytest.mark.parametrize(
    ("close", "own"),
    [("<|call|>", True), ("<|end|>", True), ("<|return|>", False), ("<|start|>assistant", False), ("", False)],
)
def test_the_tokens_of_a_call_of_gpt_oss_include_its_closing_marker(close: str, own: bool, hub: object) -> None:
    renderer = create_renderer(load_tokenizer("openai/gpt-oss-20b"))
    call = HARMONY.removesuffix("<|call|>")
    ids = renderer.tokenizer.encode(f"<|channel|>analysis<|message|>A<|end|><|start|>assistant{call}{close}")
    parsed = renderer.parse_response(ids, tools=TOOLS)
    span = parsed.tool_calls[0].token_span
    assert span is not None
    assert renderer.tokenizer.decode(ids[slice(*span)]) == f"<|start|>assistant{call}{close if own else ''}"
    assert [part.end for part in parsed.parts][-1] == len(ids)


def test_a_call_of_gpt_oss_may_end_with_the_stop_token(hub: object) -> None:
    renderer = create_renderer(load_tokenizer("openai/gpt-oss-20b"))
    ids = renderer.tokenizer.encode(HARMONY)
    parser = renderer.stream()
    parser.feed(ids)
    (call,) = parser.close().tool_calls
    assert (call.token_span, call.status, parser.state.stop_token_id) == ((0, len(ids)), OK, ids[-1])


@pytest.fixture
def gpt_oss(hub: object) -> ChatRenderer:
    return create_renderer(load_tokenizer("openai/gpt-oss-20b"))


def parse(renderer: ChatRenderer, text: str, tools: list[Any] | None = None) -> ParsedResponse:
    prompt = renderer.tokenizer.encode("<|start|>assistant")
    return renderer.parse_response(renderer.tokenizer.encode(text), tools=tools, prompt_ids=prompt)


THOUGHT = "<|channel|>analysis<|message|>Hm<|end|><|start|>assistant"
CALLED = {
    "a function": ("<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>", "f", {}),
    "a recipient before the channel": (" to=functions.f<|channel|>commentary json<|message|>{}<|call|>", "f", {}),
    "no space before the recipient": ("<|channel|>commentaryto=functions.f<|message|>{}<|call|>", "f", {}),
    "a function without the prefix": ("<|channel|>commentary to=get_weather<|message|>{}<|call|>", "get_weather", {}),
    "a browser": (
        '<|channel|>analysis to=browser.search code<|message|>{"query": "x"}<|call|>',
        "browser.search",
        {"query": "x"},
    ),
    "python": ("<|channel|>analysis to=python code<|message|>print({})<|call|>", "python", "print({})"),
    "python in commentary": (" to=python<|channel|>commentary<|message|>1 + 1<|end|>", "python", "1 + 1"),
    "a call in the channel of the answer": ("<|channel|>final to=functions.f<|message|>{}<|call|>", "f", {}),
    "no channel": (" to=functions.f<|message|>{}<|call|>", "f", {}),
    "two channels": ("<|channel|>analysis<|channel|>commentary to=functions.f<|message|>{}<|call|>", "f", {}),
    "no marker after the header": (
        '<|channel|>commentary to=functions.f <|constrain|>json {"x": 1}<|call|>',
        "f",
        {"x": 1},
    ),
}


@pytest.mark.parametrize("about", CALLED)
def test_a_message_to_a_tool_is_a_call_in_every_channel(gpt_oss: ChatRenderer, about: str) -> None:
    text, name, arguments = CALLED[about]
    for before in ("", THOUGHT):
        parsed = parse(gpt_oss, before + text)
        assert [(call.name, call.arguments, call.status) for call in parsed.tool_calls] == [(name, arguments, OK)]
        assert (parsed.content, parsed.reasoning_content) == ("", "Hm" if before else None)


RECOVERED = {
    "no marker after the header": (f"{THOUGHT}<|channel|>final The answer<|return|>", "The answer", "Hm"),
    "no marker after the header of reasoning": (
        "<|channel|>analysis I think<|end|><|start|>assistant<|channel|>final<|message|>Yes<|return|>",
        "Yes",
        "I think",
    ),
    "a header after an open header": (
        "<|channel|>analysis I think<|start|>assistant<|channel|>final<|message|>Yes<|return|>",
        "Yes",
        "I think",
    ),
    "two headers": ("<|channel|>analysis<|start|>assistant<|channel|>final<|message|>Yes<|return|>", "Yes", None),
    "an answer without a header": ("<|channel|>analysis<|message|>Hm<|end|>The answer<|return|>", "The answer", "Hm"),
    "no end between messages": (
        "<|channel|>analysis<|message|>Hm<|channel|>final<|message|>Yes<|return|>",
        "Yes",
        "Hm",
    ),
    "a role between messages": (
        "<|channel|>analysis<|message|>Hm<|end|>assistant<|channel|>final<|message|>Yes<|return|>",
        "Yes",
        "Hm",
    ),
}


@pytest.mark.parametrize("about", RECOVERED)
def test_a_malformed_turn_is_recovered(gpt_oss: ChatRenderer, about: str) -> None:
    text, content, reasoning = RECOVERED[about]
    parsed = parse(gpt_oss, text)
    assert (parsed.content, parsed.reasoning_content, parsed.tool_calls) == (content, reasoning, [])


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("assistantfinal answer", ("A", "Hm", [])),
        ("assistantanalysis<|channel|>final", ("A", "Hm", [])),
        ("assistantcommentaryfinal", ("A", "Hm", [])),
        ("assistantfinalanalysis", ("", "Hm\nA", [])),
        ("assistants", ("A", "Hm", [])),
        ("user", ("", "Hm", [])),
        ("userfinal", ("", "Hm", [])),
    ],
)
def test_a_role_that_runs_into_the_channel_is_the_role_of_the_assistant(
    gpt_oss: ChatRenderer, header: str, expected: tuple[str, str, list[Any]]
) -> None:
    parsed = parse(gpt_oss, f"<|channel|>analysis<|message|>Hm<|end|><|start|>{header}<|message|>A<|return|>")
    assert said(parsed) == expected
    is_own = header.startswith("assistant")
    assert ("incomplete_header" in [recovery.kind for recovery in parsed.recoveries]) == is_own
    assert bool(parsed.skipped) == (not is_own)


WEATHER = [{"name": "get_weather"}]
BODY = '<|message|>{"x": 1}<|call|>'
INCOMPLETE = {
    "no marker after a header with the recipient first": (
        " to=functions.get_weather<|channel|>commentary <|constrain|>json" + BODY.removeprefix("<|message|>")
    ),
    "no marker but the end": ' to=functions.get_weather {"x": 1}<|call|>',
    "the channel in the recipient": " to=functions.get_weathercommentary <|constrain|>json" + BODY,
    "the channel in a recipient without the prefix": " to=get_weatheranalysis" + BODY,
    "the function as the channel": "<|channel|>functions.get_weather" + BODY,
    "a tool as the channel": "<|channel|>get_weather json" + BODY,
    "the function after the channel": "<|channel|>commentary functions.get_weather" + BODY,
    "no channel": " to=functions.get_weather" + BODY,
}


@pytest.mark.parametrize("about", INCOMPLETE)
def test_a_call_with_an_incomplete_header_is_read_and_says_so(gpt_oss: ChatRenderer, about: str) -> None:
    for before in ("", THOUGHT):
        parsed = parse(gpt_oss, before + INCOMPLETE[about], WEATHER)
        (call,) = parsed.tool_calls
        assert (call.name, call.arguments, call.status) == ("get_weather", {"x": 1}, OK)
        assert "incomplete_header" in call.recoveries
        assert (parsed.content, parsed.reasoning_content) == ("", "Hm" if before else None)


@pytest.mark.parametrize(
    "header",
    [
        "<|end|>assistant to=functions.get_weather<|channel|>commentary",
        "<|end|> to=functions.get_weather",
        "<|end|>assistantcommentary to=functions.get_weather",
        "assistantcommentary to=functions.get_weather <|constrain|>json",
        "assistant to=functions.get_weather",
    ],
)
def test_a_call_after_reasoning_may_lack_the_markers_of_its_header(gpt_oss: ChatRenderer, header: str) -> None:
    parsed = parse(gpt_oss, "<|channel|>analysis<|message|>Hm." + header + BODY, WEATHER)
    (call,) = parsed.tool_calls
    assert (call.name, call.arguments, call.status) == ("get_weather", {"x": 1}, OK)
    assert (parsed.content, parsed.reasoning_content, parsed.skipped) == ("", "Hm.", ())
    kinds = {str(recovery.kind) for recovery in parsed.recoveries}
    assert kinds == {"incomplete_header"} | (set() if "<|end|>" in header else {"missing_closing_marker"})


def test_an_answer_within_reasoning_may_lack_the_markers_of_its_header(gpt_oss: ChatRenderer) -> None:
    parsed = parse(gpt_oss, "<|channel|>analysis<|message|>Hm.assistantfinal<|message|>Yes<|return|>")
    assert said(parsed) == ("Yes", "Hm.", [])
    assert [recovery.kind for recovery in parsed.recoveries] == ["missing_closing_marker", "incomplete_header"]


@pytest.mark.parametrize(
    "text",
    [
        "The assistantfinal is",
        "assistant to=x, commentary to=y",
        "assistantfinal" + " x" * 2000,
        "assistantfinal answer",
        "the assistant",
        "assistantfinal",
    ],
)
def test_words_of_headers_in_a_message_are_text_without_the_marker_after_them(gpt_oss: ChatRenderer, text: str) -> None:
    for end in ("<|return|>", "<|end|>", ""):
        parsed = parse(gpt_oss, f"<|channel|>final<|message|>{text}{end}")
        assert (said(parsed), parsed.recoveries, parsed.skipped) == ((text, None, []), (), ())


def test_the_end_of_a_header_within_a_message_is_text_and_reported(gpt_oss: ChatRenderer) -> None:
    parsed = parse(gpt_oss, "<|channel|>final<|message|>Yes<|message|>No<|return|>")
    assert parsed.content == "Yes<|message|>No"
    assert [recovery.kind for recovery in parsed.recoveries] == ["incomplete_header"]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("<|channel|>commentary to=functions.f <|constrain|>json", "f"),
        ("<|channel|>commentary to=functions.f ", "f"),
        (" to=functions.f<|channel|>comm", "f"),
        (" to=functions.f<|channel|>", "f"),
        ("<|channel|>commentary to=functions.get_weather", "get_weather"),
        ("<|channel|>commentary to=functions.get_wea", None),
        (" to=", None),
    ],
)
def test_a_header_of_a_call_that_is_cut_off_is_a_broken_call(
    gpt_oss: ChatRenderer, text: str, name: str | None
) -> None:
    for before in ("", THOUGHT):
        for end, status in (("", "unclosed_block"), ("<|call|>", "malformed_structure")):
            parsed = parse(gpt_oss, before + text + end, WEATHER)
            (call,) = parsed.tool_calls
            written = name or text.rpartition("functions.")[2].removeprefix(" to=") or None
            assert (call.name, call.status) == (written if end else name, status)
            assert "incomplete_header" in call.recoveries
            assert (parsed.content, parsed.skipped) == ("", ())
            assert text.strip() in str(parsed.to_message()["content"])


def test_a_header_of_a_call_before_another_header_is_a_broken_call(gpt_oss: ChatRenderer) -> None:
    answer = "<|start|>assistant<|channel|>final<|message|>Yes<|return|>"
    for header in (" to=functions.f", "<|channel|>commentary to=functions.f <|constrain|>json"):
        parsed = parse(gpt_oss, header + answer)
        assert [(call.name, call.status) for call in parsed.tool_calls] == [("f", "malformed_structure")]
        assert (parsed.content, parsed.skipped) == ("Yes", ())


def test_skipped_text_names_its_tokens_and_its_reason(gpt_oss: ChatRenderer) -> None:
    parsed = parse(gpt_oss, f"{THOUGHT}<|channel|>final The answer<|return|>")
    (skipped,) = parsed.skipped
    assert (skipped.text, skipped.reason) == ("<|start|>assistant<|channel|>final ", "a header that no marker ends")
    assert parsed.parts[-2].region is Region.CONTENT
    assert parse(gpt_oss, " to=assistant<|channel|>commentary<|message|>Hm<|end|>").skipped[0].reason == (
        "a message to the assistant itself"
    )


def test_messages_after_a_call_are_read(gpt_oss: ChatRenderer) -> None:
    calls = [f" to=functions.{name}<|channel|>commentary json<|message|>{{}}<|call|>" for name in "ab"]
    text = f"{calls[0]}<|start|>assistant{calls[1]}<|start|>assistant<|channel|>final<|message|>Done<|return|>"
    parsed = parse(gpt_oss, text)
    assert [call.name for call in parsed.tool_calls] == ["a", "b"]
    assert (parsed.content, parsed.skipped) == ("Done", ())
    assert parsed.state.stop_token_id == gpt_oss.tokenizer.added_tokens["<|return|>"]
    assert parse(gpt_oss, f"{calls[0]}<|start|>assistant").state.stop_token_id is None
    after = parse(gpt_oss, f"{calls[0]}text")
    assert (after.state.stop_token_id, after.skipped[0].reason) == (
        gpt_oss.tokenizer.added_tokens["<|call|>"],
        "after the stop token",
    )


PIECES = (
    *("<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|call|>", "<|return|>", "<|constrain|>"),
    *(
        "assistant",
        "analysis",
        "final",
        "commentary",
        " to=functions.f",
        " to=python",
        " to=assistant",
        " json",
        '{"x": 1}',
        "assistantcommentary",
        "assistantfinal",
        "assistant to=functions.f",
    ),
    *("text", " ", "\n", "é", "日本", "functions.f", "user"),
)


@pytest.mark.parametrize("seed", range(40))
def test_random_turns_are_read_without_a_loss_and_by_any_chunks(gpt_oss: ChatRenderer, seed: int) -> None:
    chance = random.Random(seed)
    text = "".join(chance.choices(PIECES, k=chance.randint(1, 40))) + chance.choice(("", "x" * 1500))
    ids = gpt_oss.tokenizer.encode(text)
    prompt = gpt_oss.tokenizer.encode("<|start|>assistant")
    whole = gpt_oss.parse_response(ids, prompt_ids=prompt)
    assert [part.start for part in whole.parts] == [0, *[part.end for part in whole.parts[:-1]]]
    assert whole.parts[-1].end == len(ids)
    for size in (1, 3):
        parser = gpt_oss.parser(prompt_ids=prompt)
        for start in range(0, len(ids), size):
            parser.feed(ids[start : start + size])
        assert parser.close() == whole
    # Text is in a field, in a call, in a header, or skipped.
    assert gpt_oss.render_ids([{"role": "user", "content": "Hi"}, whole.to_message()])


def test_messages_of_one_field_are_joined_and_remain_apart_in_the_parts(gpt_oss: ChatRenderer) -> None:
    text = "<|channel|>commentary<|message|>Wait.<|end|><|start|>assistant<|channel|>final<|message|>Yes<|return|>"
    ids = gpt_oss.tokenizer.encode(text, add_special_tokens=False)
    parsed = gpt_oss.parse_response(ids)
    assert parsed.content == "Wait.\nYes"
    contents = [part for part in parsed.parts if part.region == "content"]
    assert [gpt_oss.tokenizer.decode(ids[part.start : part.end]) for part in contents] == ["Wait.", "Yes"]


def test_long_whitespace_in_place_of_a_header_takes_linear_time(gpt_oss: ChatRenderer) -> None:
    text = "<|channel|>analysis<|message|>Hm<|end|>Hi<|end|>" + (" " * 1000 + "x<|end|>") * 200
    ids = gpt_oss.tokenizer.encode(text, add_special_tokens=False)
    assert gpt_oss.parse_response(ids).content == "Hi"


def test_a_marker_within_a_json_string_is_text_of_the_arguments(gpt_oss: ChatRenderer) -> None:
    written = '{"code": "<|start|>assistant<|channel|>final<|message|>\\"Hi<|end|>", "n": 1}'
    text = f"<|channel|>commentary to=functions.run <|constrain|>json<|message|>{written}<|call|>"
    ids = gpt_oss.tokenizer.encode(text, add_special_tokens=False)
    parsed = gpt_oss.parse_response(ids)
    assert [(call.name, call.arguments, call.status) for call in parsed.tool_calls] == [
        ("run", {"code": '<|start|>assistant<|channel|>final<|message|>"Hi<|end|>', "n": 1}, "ok")
    ]
    assert (parsed.content, parsed.skipped) == ("", ())


def test_a_marker_within_an_open_quote_ends_a_call_with_code(gpt_oss: ChatRenderer) -> None:
    text = '<|channel|>analysis to=python<|message|>print("a<|end|><|start|>assistant<|channel|>final<|message|>"b", c'
    ids = gpt_oss.tokenizer.encode(text, add_special_tokens=False)
    parsed = gpt_oss.parse_response(ids)
    assert [(call.name, call.arguments) for call in parsed.tool_calls] == [("python", 'print("a')]
    assert parsed.content == '"b", c'


@pytest.mark.parametrize("code", ["x = 1 +", "d = {1: f(}"])
@pytest.mark.parametrize("end", ["", "<|start|>assistant<|channel|>final<|message|>Hi"])
def test_code_that_is_cut_off_is_a_broken_call(gpt_oss: ChatRenderer, code: str, end: str) -> None:
    text = f"<|channel|>commentary to=python code<|message|>{code}{end}"
    ids = gpt_oss.tokenizer.encode(text, add_special_tokens=False)
    status = "malformed_structure" if end else "unclosed_block"
    assert [(call.name, call.status) for call in gpt_oss.parse_response(ids).tool_calls] == [("python", status)]
