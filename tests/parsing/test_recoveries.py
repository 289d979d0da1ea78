"""Completions that differ from their format list the differences, and turns in their format list none."""

from __future__ import annotations

import re
from typing import Any

import pytest

from renderers.core.completions import ParsedResponse, RecoveryKind, ToolCallParseStatus
from renderers.parsing.parser import ResponseParser
from renderers.parsing.tool_formats import TOOL_FORMATS
from tests.support.call_formats import Call, format_calls
from tests.support.completions import ROME, SEARCH, grammar_of, read, reader_of_bytes

TOOLS: list[dict[str, Any]] = [
    {"name": "get_weather", "parameters": {"properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}},
    {"name": "search", "parameters": {"properties": {"query": {"type": "string"}}}},
]
_FUNCTION = "<function=get_weather>\n<parameter=city>\nRome\n</parameter>\n</function>"
_CITY = '{"city": "Rome"}'
_M2_INVOKE = '<invoke name="get_weather">\n<parameter name="city">Rome</parameter>\n'
_PARAMETER_END = "\n</parameter>\n</fun"
_PAIR = "<arg_key>city</arg_key><arg_value>Rome</arg_value>"
_HERMES = f'{{"name": "get_weather", "arguments": {_CITY}}}'
_PARAMETERS = _HERMES.replace("arguments", "parameters")
_INVOKE = '<｜DSML｜invoke name="get_weather">\n<｜DSML｜parameter name="city" string="true">Rome</｜DSML｜parameter>\n'
_DSML_CALLS = "<｜DSML｜tool_calls>\n{}\n</｜DSML｜tool_calls>"
_KIMI = f"<|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{_CITY}<|tool_call_end|>"
_K3 = '<|open|>tools<|sep|><|open|>call tool="get_weather" index="1"<|sep|>'
_K3_END = "<|close|>call<|sep|><|close|>tools<|sep|>"
_K3_CITY = '<|open|>argument key="city" type="string"<|sep|>Rome<|close|>argument<|sep|>'
_ATEM = (
    '<atem:function_calls>\n<atem:invoke name="get_weather">\n<atem:parameter name="city">Rome</atem:parameter>\n'
    "</atem:invoke>\n</atem:function_calls>"
)
_BEGIN, _END = "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>", "<｜tool▁call▁end｜><｜tool▁calls▁end｜>"


def parse(key: str, text: str) -> ParsedResponse:
    """Parse a text in which markers are tokens: at once, and token by token."""
    reader = reader_of_bytes(grammar_of(key), marks=True, tools=TOOLS)
    ids = reader.encode(text)
    whole = read(reader, [ids]).response
    one_by_one = read(reader, [[token] for token in ids]).response
    assert (one_by_one, one_by_one.recoveries) == (whole, whole.recoveries)
    return whole


@pytest.mark.parametrize(
    ("kind", "key", "text"),
    [
        ("missing_opening_marker", "qwen_xml", "<function=search>\n<parameter=query>\nx\n</parameter>\n</function>"),
        ("missing_opening_marker", "kimi", _KIMI),
        ("missing_closing_marker", "hermes", f"<tool_call>{_HERMES}<|stop|>"),
        ("missing_closing_marker", "hermes", f"<tool_call>{_HERMES}"),
        ("missing_closing_marker", "harmony", f"<|channel|>commentary to=functions.search<|message|>{_CITY}<|end|>"),
        ("missing_closing_marker", "qwen_xml", f"<tool_call>\n{_FUNCTION[:-11]}</tool_call>"),
        ("missing_closing_marker", "seed_xml", f"<seed:tool_call>\n{_FUNCTION[:-11]}</seed:tool_call>"),
        ("missing_closing_marker", "qwen_xml", f"<tool_call>\n{_FUNCTION}<|stop|>"),
        ("missing_closing_marker", "seed_xml", f"<seed:tool_call>\n{_FUNCTION}"),
        ("missing_closing_marker", "gemma", '<|tool_call>call:get_weather{city:<|"|>Rome<|"|>}'),
        ("missing_closing_marker", "glm", f"<tool_call>get_weather{_PAIR}<|stop|>"),
        ("missing_closing_marker", "minicpm", '<function name="search"><param name="query">a</param><|stop|>'),
        ("missing_closing_marker", "atem", f" to=get_weather<|message|>{_ATEM}"),
        ("missing_closing_marker", "kimi_k3", f"{_K3}{_K3_CITY}{_K3[20:]}{_K3_CITY}<|close|>tools<|sep|>"),
        ("repeated_marker", "qwen_xml", f"<tool_call>\n{_FUNCTION}</tool_call>".replace("\n</fun", _PARAMETER_END)),
        (
            "repeated_marker",
            "seed_xml",
            f"<seed:tool_call>{_FUNCTION}</seed:tool_call>".replace("\n</fun", _PARAMETER_END),
        ),
        (
            "repeated_marker",
            "minimax",
            f"<minimax:tool_call>\n{_M2_INVOKE}</parameter>\n</invoke>\n</minimax:tool_call>",
        ),
        (
            "repeated_marker",
            "deepseek_v4",
            f"<｜DSML｜tool_calls>\n{_INVOKE}</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>",
        ),
        ("repeated_marker", "glm", f"<tool_call>get_weather{_PAIR}</arg_value></tool_call>"),
        ("missing_separator", "hy3_plain", f"<tool_calls><tool_call>get_weather{_PAIR}</tool_call></tool_calls>"),
        ("missing_separator", "deepseek_v31", f"{_BEGIN}search{_CITY}{_END}"),
        ("incomplete_header", "harmony", f"<|channel|>commentary to=functions.search json{_CITY}<|call|>"),
        ("incomplete_header", "harmony", f"commentary to=functions.search <|constrain|>json<|message|>{_CITY}<|call|>"),
        ("missing_opening_marker", "minimax", f"{_M2_INVOKE}</invoke>\n</minimax:tool_call>"),
        ("missing_opening_marker", "minimax", f"{_M2_INVOKE}</invoke>\n{_M2_INVOKE}</invoke>"),
        ("other_syntax", "glm", f"<tool_call>{_HERMES}</tool_call>"),
        ("other_syntax", "hermes", f"<tool_call>[{_HERMES}]</tool_call>"),
        ("other_syntax", "hermes", f"<tool_call>{_PARAMETERS}</tool_call>"),
        ("other_syntax", "hermes", f"<tool_call>{_HERMES.replace('name', 'tool_name')}</tool_call>"),
        ("other_syntax", "jamba", f"<tool_calls>[{_PARAMETERS}]</tool_calls>"),
        ("other_syntax", "command", f"<|START_ACTION|>[{_PARAMETERS}]<|END_ACTION|>"),
        ("other_syntax", "llama", _HERMES),
        ("other_syntax", "qwen_xml", f"<tool_call>\n{_HERMES}\n</tool_call>"),
        ("other_syntax", "seed_xml", f"<seed:tool_call>[{_HERMES}]</seed:tool_call>"),
        ("other_syntax", "deepseek_v4", _DSML_CALLS.format(f'<｜DSML｜invoke name="search">{_CITY}</｜DSML｜invoke>')),
        ("other_syntax", "mistral", f"[TOOL_CALLS][{_HERMES}, {_HERMES}]"),
        ("other_syntax", "mistral_list", f"[TOOL_CALLS]search[ARGS]{_CITY}"),
        ("other_syntax", "gigachat", f"<|function_call|>[{_HERMES}]"),
        ("other_syntax", "llama", '<|python_tag|>search.call(query="x")'),
        ("other_syntax", "deepseek_v31", f"{_BEGIN}function<｜tool▁sep｜>search\n```json\n{_CITY}\n```{_END}"),
        ("other_syntax", "deepseek_v3", f"{_BEGIN}search<｜tool▁sep｜>{_CITY}{_END}"),
        (
            "other_syntax",
            "deepseek_v4",
            f"<｜DSML｜function_calls>\n{_INVOKE}</｜DSML｜invoke>\n</｜DSML｜function_calls>",
        ),
        ("other_syntax", "kimi", f"<|tool_call_section_begin|>{_KIMI}<|tool_call_section_end|>"),
        ("other_syntax", "jamba", f"<tool_calls>{_HERMES}</tool_calls>"),
        ("other_syntax", "xlam", f"<tool_call>[{_HERMES}]</tool_call>"),
        ("other_syntax", "granite", f"<tool_call>[{_HERMES}]"),
        ("other_syntax", "lfm2", f"<|tool_call_start|>[{_HERMES}]<|tool_call_end|>"),
        ("other_syntax", "llama", f'<|python_tag|>{{"name": "search", "parameters": {_CITY}}}'),
        ("other_syntax", "dots", f"<dots_function_call>{_HERMES}</dots_function_call>"),
        ("other_syntax", "mistral", f"[TOOL_CALLS]{_HERMES}"),
        ("several_calls", "hermes", f"<tool_call>{_HERMES}\n{_HERMES}</tool_call>"),
        ("several_calls", "llama", f'{{"name": "a", "parameters": {_CITY}}}; {{"name": "b", "parameters": {_CITY}}}'),
        ("call_in_reasoning", "hermes", f"<think>Hm.<tool_call>{_HERMES}</tool_call><|stop|>"),
        ("call_in_content", "llama", f"I call {_PARAMETERS} now.<|stop|>"),
        ("code_fence", "hermes", f"<tool_call>```json\n{_HERMES}\n```</tool_call>"),
        ("code_fence", "jamba", f"<tool_calls>```json\n[{_HERMES}]\n```</tool_calls>"),
        ("unescaped_quotes", "lfm2", '<|tool_call_start|>[search(query="a "b" c")]<|tool_call_end|>'),
        ("name_prefix", "hermes", '<tool_call>{"name": "functions.search:0", "arguments": {}}</tool_call>'),
        ("name_prefix", "harmony", f"<|channel|>commentary to=search<|message|>{_CITY}<|call|>"),
        ("missing_arguments", "hermes", '<tool_call>{"name": "search"}</tool_call>'),
        ("missing_arguments", "hermes", '<tool_call>{"name": "search", "arguments": null}</tool_call>'),
        ("json_string_arguments", "hermes", '<tool_call>{"name": "search", "arguments": "{}"}</tool_call>'),
        (
            "wrapped_arguments",
            "minicpm",
            f'<function name="get_weather"><param name="arguments">{_CITY}</param></function>',
        ),
        (
            "untyped_value",
            "deepseek_v4",
            f"<｜DSML｜tool_calls>\n{_INVOKE}</｜DSML｜invoke>\n</｜DSML｜tool_calls>".replace(' string="true"', ""),
        ),
        ("untyped_value", "kimi_k3", f'{_K3}<|open|>argument key="city"<|sep|>Rome<|close|>argument<|sep|>{_K3_END}'),
        ("other_syntax", "kimi_k3", f"{_K3}{_CITY}{_K3_END}"),
        ("value_quotes", "lfm2", "<|tool_call_start|>[search(query=New York)]<|tool_call_end|>"),
        ("value_quotes", "gemma", "<|tool_call>call:get_weather{city:Rome}<tool_call|>"),
        ("value_quotes", "gemma", '<|tool_call>call:get_weather{city:"Rome"}<tool_call|>'),
        ("value_quotes", "gemma", '<|tool_call>call:get_weather{"city":<|"|>Rome<|"|>}<tool_call|>'),
        (
            "value_quotes",
            "deepseek_v4",
            f"<｜DSML｜tool_calls>\n{_INVOKE}</｜DSML｜invoke>\n</｜DSML｜tool_calls>".replace('"true"', '"false"'),
        ),
        ("value_quotes", "gemma", '<|tool_call>call:get_weather{days:<|"|>3<|"|>}<tool_call|>'),
    ],
)
def test_a_call_lists_its_differences(kind: str, key: str, text: str) -> None:
    response = parse(key, text)
    assert {call.status for call in response.tool_calls} == {ToolCallParseStatus.OK}
    assert {one for call in response.tool_calls for one in call.recoveries} == {kind}
    assert {one.kind for one in response.recoveries} == {kind}
    for one in response.recoveries:
        assert one.call is not None
        assert (one.start, one.end) == response.tool_calls[one.call].token_span


@pytest.mark.parametrize(
    ("kind", "key", "text", "start"),
    [
        ("missing_header", "harmony", "Hi", 0),
        ("missing_header", "harmony", "<|channel|>analysis<|message|>Hm<|end|>Hi", 13),
        ("missing_header", "inkling", "Hi<|end_message|>", 0),
        ("incomplete_header", "harmony", "<|channel|>final json: Hi", 11),
        ("incomplete_header", "harmony", "final<|message|>Hi", 6),
        (
            "incomplete_header",
            "harmony",
            "<|channel|>analysis<|message|>Hm<|end|><|start|>assistantfinal<|message|>Hi",
            29,
        ),
        ("unknown_channel", "harmony", "<|channel|>confidence<|message|>Hi", 12),
        ("unknown_channel", "harmony", "<|start|>assistant<|message|>Hi", 11),
        (
            "missing_closing_marker",
            "harmony",
            "<|channel|>analysis<|message|>Hm<|start|>assistant<|channel|>final<|message|>Hi",
            12,
        ),
        ("missing_closing_marker", "inkling", "<|content_thinking|>Hm<|content_text|>Hi<|end_message|>", 3),
        ("missing_closing_marker", "kimi", f"<|tool_calls_section_begin|>{_KIMI}<|stop|>", 43),
        ("other_syntax", "kimi", f"<|tool_calls_section_begin|>{_KIMI}<|tool_call_section_end|>", 43),
        ("missing_closing_marker", "jamba", f"<tool_calls>[{_HERMES}]<|stop|>", 57),
    ],
)
def test_a_difference_outside_of_calls_has_the_position_of_the_next_token(
    kind: str, key: str, text: str, start: int
) -> None:
    response = parse(key, text)
    assert [(one.kind, one.start, one.end, one.call) for one in response.recoveries] == [(kind, start, start, None)]
    assert not any(call.recoveries for call in response.tool_calls)


@pytest.mark.parametrize(
    ("prefill", "text", "kinds"),
    [
        ("<|channel|>confidence<|message|>", "Hi", []),
        ("<|channel|>confidence", "<|message|>Hi", ["unknown_channel"]),
        ("Hel", "lo", []),
        ("<|channel|>analysis<|message|>Hm<|end|>", "Hi", ["missing_header"]),
        ("<|channel|>analysis<|message|>Hm", "<|channel|>final<|message|>Hi", ["missing_closing_marker"]),
        ("<|channel|>analysis<|message|>Hm<|channel|>final<|message|>", "Hi", []),
    ],
)
def test_differences_in_the_prompt_are_not_listed(prefill: str, text: str, kinds: list[str]) -> None:
    reader = reader_of_bytes(grammar_of("harmony"), marks=True)
    marker_text = reader.compiled.marker_text
    pieces = marker_text.pieces(reader.encode(prefill), 0)
    response = ResponseParser(reader.compiled, None, prefill=pieces).close(reader.encode(text))
    assert [one.kind for one in response.recoveries] == kinds


def test_a_call_can_have_several_differences() -> None:
    text = '<think>Hm.<tool_call>```{"name": "functions.search", "arguments": "{}"}```<|stop|>'
    (call,) = parse("hermes", text).tool_calls
    assert call.recoveries == (
        RecoveryKind.CALL_IN_REASONING,
        RecoveryKind.MISSING_CLOSING_MARKER,
        RecoveryKind.JSON_STRING_ARGUMENTS,
        RecoveryKind.CODE_FENCE,
        RecoveryKind.NAME_PREFIX,
    )


@pytest.mark.parametrize("key", TOOL_FORMATS)
@pytest.mark.parametrize("calls", [[ROME], [ROME, SEARCH], [Call("search", {})]], ids=["one", "two", "empty"])
def test_calls_in_the_format_list_no_difference(key: str, calls: list[Call]) -> None:
    if key == "llama" and len(calls) > 1:
        pytest.skip("the format has one call")
    response = parse(key, format_calls(key, calls) + "<|stop|>")
    assert [call.status for call in response.tool_calls] == [ToolCallParseStatus.OK] * len(calls)
    assert not response.recoveries
    assert not response.skipped


_UNLISTED = {
    ("harmony", "<|constrain|>"): "the type of the arguments is optional",
    ("mistral", "[ARGS]"): "versions of the format differ in it",
    ("inkling", "<|end_message|>"): "a stop token ends a message",
    ("atem", "<|eom|>"): "a stop token ends a message",
    ("solar", "<|calls|>"): "a stop token ends a message",
}


@pytest.mark.parametrize("key", TOOL_FORMATS)
def test_a_call_without_one_of_its_markers_is_broken_or_lists_the_difference(key: str) -> None:
    calls = [Call("get_weather", {"city": "Rome", "days": 3})]
    text = format_calls(key, calls)
    for marker in re.finditer(r"<[^<>\s][^<>]*>|\[/?[A-Z_]+\]|[\[\]]", text):
        response = parse(key, text[: marker.start()] + text[marker.end() :] + "<|stop|>")
        statuses = {call.status for call in response.tool_calls}
        if statuses == {ToolCallParseStatus.OK} and not response.content and not response.skipped:
            assert response.recoveries or (key, marker[0]) in _UNLISTED, marker[0]


def test_every_kind_is_tested() -> None:
    marks = [
        *test_a_call_lists_its_differences.pytestmark,  # type: ignore[attr-defined]
        *test_a_difference_outside_of_calls_has_the_position_of_the_next_token.pytestmark,  # type: ignore[attr-defined]
    ]
    assert {case[0] for mark in marks for case in mark.args[1]} == {*RecoveryKind}
