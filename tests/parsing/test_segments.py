"""A turn of segments is scanned segment by segment."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from renderers.core.completions import ParsedResponse, ToolCallParseStatus
from renderers.parsing.grammar import Grammar
from tests.support.completions import read as read_chunks
from tests.support.completions import reader_of_bytes

INKLING, ATEM = Grammar(tools="inkling"), Grammar(tools="atem", header="<|start|>assistant")


@dataclass(frozen=True)
class Fields:
    """The fields of a message."""

    content: str = ""
    reasoning: str | None = None
    calls: tuple[str | None, ...] = ()


def parse(grammar: Grammar, text: str) -> ParsedResponse:
    """Parse a text in which markers are tokens: at once, and token by token."""
    reader = reader_of_bytes(grammar, marks=True)
    ids = reader.encode(text)
    whole = read_chunks(reader, [ids]).response
    assert read_chunks(reader, [[token] for token in ids]).response == whole
    return whole


def fields(parsed: ParsedResponse) -> Fields:
    return Fields(parsed.content, parsed.reasoning_content, tuple(call.name for call in parsed.tool_calls))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<|content_text|>Hi<|end_message|>", Fields("Hi")),
        ("Hi<|end_message|>", Fields("Hi")),
        ("Hi", Fields("Hi")),
        ("<|content_thinking|>Hm<|end_message|><|message_model|><|content_text|>Hi", Fields("Hi", "Hm")),
        ("<|content_thinking|>Hm<|message_model|><|content_text|>Hi", Fields("Hi", "Hm")),
        ("<|content_thinking|>Hm<|content_text|>Hi<|end_message|>", Fields("Hi", "Hm")),
        ("<|content_thinking|>Hm", Fields("", "Hm")),
        (
            '<|content_thinking|>Hm<|content_invoke_tool_json|>{"name":"f","args":{}}<|end_message|>',
            Fields("", "Hm", ("f",)),
        ),
        ("<|content_text|>a<|end_message|><|message_model|><|content_text|>b<|end_message|>", Fields("ab")),
        ("<|message_model|><|end_message|>", Fields()),
        ("", Fields()),
    ],
)
def test_segments_of_inkling_are_fields(text: str, expected: Fields) -> None:
    assert fields(parse(INKLING, text)) == expected


CALL = '<atem:function_calls>\n<atem:invoke name="f">\n</atem:invoke>\n</atem:function_calls>'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (" to=user<|message|>Hi", Fields("Hi")),
        ("<|message|>Hi", Fields("Hi")),
        ("Hi", Fields("Hi")),
        (" to=self<|message|>Hm<|eom|><|start|>assistant to=user<|message|>Hi", Fields("Hi", "Hm")),
        (f" to=self<|message|>{CALL}<|eom|>", Fields("", CALL)),
        (f" to=f<|message|>{CALL}<|eom|><|start|>assistant to=f<|message|>{CALL}", Fields("", None, ("f", "f"))),
        (" to=user<|message|>a<|eom|><|start|>assistant to=user<|message|>b", Fields("a\nb")),
    ],
)
def test_messages_of_muse_glimmer_are_fields(text: str, expected: Fields) -> None:
    assert fields(parse(ATEM, text)) == expected


SOLAR = Grammar(tools="solar", header="<|begin|>assistant")
SOLAR_CALL = "<|tool_call:begin|>a1<|tool_call:name|>f<|tool_call:args|>{}<|tool_call:end|>"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<|content|>Hi<|end|>", Fields("Hi")),
        ("Hi", Fields("Hi")),
        ("<|think|>Hm<|end|><|begin|>assistant<|content|>Hi<|end|>", Fields("Hi", "Hm")),
        (f"<|tool_calls|>{SOLAR_CALL * 2}<|calls|>", Fields("", None, ("f", "f"))),
        (f"<|think|>Hm<|end|><|begin|>assistant<|tool_calls|>{SOLAR_CALL}<|calls|>", Fields("", "Hm", ("f",))),
        ("<|tool_calls|><|tool_call:begin|>a1<|tool_call:name|>f", Fields("", None, (None,))),
    ],
)
def test_messages_of_solar_open_are_fields(text: str, expected: Fields) -> None:
    assert fields(parse(SOLAR, text)) == expected


def test_the_token_that_ends_reasoning_of_solar_open_does_not_end_the_turn() -> None:
    reader = reader_of_bytes(SOLAR, marks=True, stops=("<|end|>",))
    whole = read_chunks(
        reader, [reader.encode("<|think|>Hm<|end|><|begin|>assistant<|content|>Hi<|end|>lost")]
    ).response
    assert fields(whole) == Fields("Hi", "Hm")
    assert [skipped.text for skipped in whole.skipped] == ["lost"]


def test_text_beside_calls_of_solar_open_is_skipped() -> None:
    parsed = parse(SOLAR, f"<|tool_calls|>lost{SOLAR_CALL}<|calls|>")
    assert [(skipped.text, skipped.reason) for skipped in parsed.skipped] == [("lost", "beside tool calls")]


def test_a_message_of_another_role_is_skipped() -> None:
    parsed = parse(ATEM, " to=user<|message|>Hi<|eom|><|start|>tool f<|message|>lost<|eom|>")
    assert fields(parsed) == Fields("Hi")
    assert [skipped.text for skipped in parsed.skipped] == ["lost"]


def test_a_long_header_is_content() -> None:
    text = "a" * 3000
    assert fields(parse(INKLING, text)) == Fields(text)
    assert fields(parse(ATEM, f"{text}<|message|>b")).content.startswith(text)


@pytest.mark.parametrize(
    ("grammar", "text", "content", "skipped"),
    [
        (INKLING, "<|message_model|>note<|content_text|>Hi<|end_message|>", "Hi", [("note", "in a header")]),
        (INKLING, "<|message_user|><|content_text|>Hi<|end_message|>", "", [("Hi", "a message of another role")]),
        (ATEM, " to=user note<|message|>Hi<|eom|>", "Hi", [("to=user note", "in a header")]),
        (ATEM, "<|start|>user to=user<|message|>Hi<|eom|>", "", [("Hi", "a message of another role")]),
        (SOLAR, "<|begin|>assistant<|content|>Hi<|end|>", "Hi", []),
    ],
)
def test_text_in_a_header_and_messages_of_other_roles_are_skipped(
    grammar: Grammar, text: str, content: str, skipped: list[tuple[str, str]]
) -> None:
    parsed = parse(grammar, text)
    assert parsed.content == content
    assert [(one.text, one.reason) for one in parsed.skipped] == skipped


@pytest.mark.parametrize("body", ["", '\n<atem:parameter name="at">x</atem:parameter>'])
def test_a_call_that_a_stop_token_cuts_off_is_not_closed(body: str) -> None:
    text = f' to=look<|message|><atem:function_calls>\n<atem:invoke name="look">{body}'
    (call,) = parse(ATEM, f"{text}<|stop|>").tool_calls
    assert (call.name, call.status) == ("look", ToolCallParseStatus.UNCLOSED_BLOCK)
    (call,) = parse(ATEM, f"{text}\n</atem:invoke>\n</atem:function_calls><|stop|>").tool_calls
    assert (call.name, call.status, call.recoveries) == ("look", ToolCallParseStatus.OK, ())


@pytest.mark.parametrize(
    ("written", "tools", "name"),
    [
        ("look.look", None, "look.look"),
        ("look.look", ["look"], "look"),
        ("look.look", ["look.look"], "look.look"),
        ("look.look", ["get"], "look.look"),
        ("web.look", None, "web.look"),
        (".", None, "."),
    ],
)
def test_a_name_that_repeats_itself_as_its_namespace_is_shortened(
    written: str, tools: list[str] | None, name: str
) -> None:
    text = (
        f' to=x<|message|><atem:function_calls>\n<atem:invoke name="{written}">\n</atem:invoke>\n</atem:function_calls>'
    )
    reader = reader_of_bytes(ATEM, marks=True, tools=None if tools is None else [{"name": tool} for tool in tools])
    (call,) = read_chunks(reader, [reader.encode(f"{text}<|eom|>")]).response.tool_calls
    assert call.name == name
