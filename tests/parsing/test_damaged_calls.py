"""Calls with a marker too few or too many, and calls that are cut off, are not executed with other arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from renderers.core.completions import ParsedResponse, RecoveryKind, ToolCallParseStatus
from renderers.parsing.tool_formats import TOOL_FORMATS
from tests.support.call_formats import Call, format_calls
from tests.support.completions import Reader, grammar_of, read, reader_of_bytes
from tests.support.completions import one_by_one as one_by_one_of

TOOLS = [
    {"name": "get_weather", "parameters": {"properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}},
    {"name": "search", "parameters": {"properties": {"query": {"type": "string"}, "deep": {"type": "boolean"}}}},
    {"name": "now", "parameters": {"properties": {}}},
]
ROME, SEARCH = Call("get_weather", {"city": "Rome", "days": 3}), Call("search", {"query": "alpha", "deep": True})
CALLS = {"one": [ROME], "two": [ROME, SEARCH], "same": [SEARCH, SEARCH._replace(arguments={"query": "beta"})]}
WORDS = ("Before", "Rome", "alpha", "beta")
MARKER = re.compile(r"<[^<>\s][^<>]*>|\[/?[A-Z_]+\]|[\[\]{}()]|```(?:json)?|to=[\w.]+")
BLANK = RecoveryKind.MISSING_ARGUMENTS
TEXT_OF_VALUES = {("minimax_m3", "<city>"), ("minimax_m3", "]"), ("kimi_k3", "<|sep|>"), ("kimi_k3", "<|close|>")}
"""The texts that a value can begin or end with, so that a second one is part of the value."""


def damaged(key: str, text: str) -> Iterator[str]:
    """Yield a text without one of its markers, and with one of them twice."""
    for marker in MARKER.finditer(text):
        start, end = marker.span()
        yield text[:start] + text[end:]
        if (key, re.sub("(?<=<)deep|query|days", "city", marker[0])) not in TEXT_OF_VALUES:
            yield text[:end] + text[start:]


def problems(parsed: ParsedResponse, text: str, calls: list[Call]) -> Iterator[str]:
    """Yield the calls with other arguments that are ok, and the words that are nowhere."""
    written = [(call.name, call.arguments) for call in calls]
    for call in parsed.tool_calls:
        is_ok = call.status is ToolCallParseStatus.OK and BLANK not in call.recoveries
        if is_ok and (call.name, call.arguments) not in written:
            yield f"{call.name} {call.arguments} in {text!r}"
    parts = [f"{call.text} {call.raw} {call.name} {call.arguments}" for call in parsed.tool_calls]
    found = " ".join(
        [parsed.content, parsed.reasoning_content or "", *(skipped.text for skipped in parsed.skipped), *parts]
    )
    yield from (f"no {word} of {text!r}" for word in WORDS if word in text and word not in found)


def reader_of(key: str) -> Reader:
    return reader_of_bytes(grammar_of(key), marks=True, tools=TOOLS)


@pytest.mark.parametrize("calls", CALLS)
@pytest.mark.parametrize("key", TOOL_FORMATS)
def test_a_marker_too_few_or_too_many_changes_no_call(key: str, calls: str) -> None:
    if key == "llama" and len(CALLS[calls]) > 1:
        pytest.skip("the format has one call")
    reader, text = reader_of(key), format_calls(key, CALLS[calls])
    found: list[str] = []
    for number, damage in enumerate(damaged(key, text)):
        whole = ("Before.\n" if number % 2 else "") + damage + "<|stop|>"
        ids = reader.encode(whole)
        parsed = read(reader, [ids]).response
        found += problems(parsed, whole, CALLS[calls])
        if number % 7 == 0:
            assert read(reader, one_by_one_of(ids)).response == parsed
    assert found == []


@pytest.mark.parametrize("calls", CALLS)
@pytest.mark.parametrize("key", TOOL_FORMATS)
def test_a_call_that_is_cut_off_is_not_ok(key: str, calls: str) -> None:
    if key == "llama" and len(CALLS[calls]) > 1:
        pytest.skip("the format has one call")
    reader, text = reader_of(key), format_calls(key, CALLS[calls])
    found: list[str] = []
    for end in range(1, len(text), 3):
        found += problems(read(reader, [reader.encode(text[:end])]).response, text[:end], CALLS[calls])
    assert found == []


K3 = '<|open|>tools<|sep|><|open|>call tool="get_weather"<|sep|><|open|>argument key="{}" type="string"<|sep|>Rome'
K3_END = "<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>"
PAIR = "<arg_key>{}city</arg_key>\n<arg_value>Rome</arg_value>\n"
HARMONY = '<|channel|>commentary <|constrain|> to=functions.{}<|message|>{{"city": "Rome"}}<|call|>'


@pytest.mark.parametrize(
    ("key", "text", "name", "status"),
    [
        ("kimi_k3", f"{K3.format('city')}{K3_END}", "get_weather", "ok"),
        ("kimi_k3", f"{K3.format(chr(34) + 'city')}{K3_END}", "get_weather", "malformed_structure"),
        ("kimi_k3", K3.replace('}" ', "} ").format("city") + K3_END, "get_weather", "malformed_structure"),
        (
            "hy3_plain",
            f"<tool_calls><tool_call>now{PAIR.format('<tool_sep>')}</tool_call>",
            "now",
            "malformed_structure",
        ),
        ("mistral", "[TOOL_CALLS]now<|stop|>", "now", "ok"),
        ("harmony", HARMONY.format("get_weatherjson"), "get_weather", "ok"),
        ("harmony", HARMONY.format("json"), "json", "ok"),
        ("harmony", HARMONY.format("get_weatherto=x"), "get_weatherto=x", "malformed_structure"),
        (
            "qwen_xml",
            "<tool_call>\n<function=search>\n<parameter=query>\na</function>\n</parameter>\n</tool_call>",
            *("search", "malformed_structure"),
        ),
        ("deepseek_v3", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>functionnow\n{}", "now", "ok"),
        (
            "deepseek_v3",
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>functionx\n{}<｜tool▁call▁end｜>",
            "functionx",
            "malformed_structure",
        ),
    ],
)
def test_parts_of_a_call_in_another_place_are_no_names_and_values(key: str, text: str, name: str, status: str) -> None:
    (call,) = read(reader_of(key), [reader_of(key).encode(text)]).response.tool_calls
    assert (call.name, call.status) == (name, status)
