"""Formatted calls are parsed back, and a broken call gives everything that can be parsed of it."""

from __future__ import annotations

import json
import re
import string
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from renderers.core.completions import ToolCallParseStatus
from renderers.parsing.markers import split_at_marker_tokens
from renderers.parsing.parser import ResponseParser
from renderers.parsing.pieces import Pieces
from renderers.parsing.schema import NO_SCHEMAS
from renderers.parsing.tool_formats import TOOL_FORMATS, Payload, TurnLayout
from tests.support.call_formats import Call, format_calls
from tests.support.completions import grammar_of, read, reader_of_bytes
from tests.support.conversations import TOOLS

OK, INVALID, UNCLOSED, MISSING, MALFORMED, UNKNOWN = (
    ToolCallParseStatus.OK,
    ToolCallParseStatus.INVALID_JSON,
    ToolCallParseStatus.UNCLOSED_BLOCK,
    ToolCallParseStatus.MISSING_NAME,
    ToolCallParseStatus.MALFORMED_STRUCTURE,
    ToolCallParseStatus.UNKNOWN_TOOL,
)

PYTHONIC = {"lfm2", "olmo", "pythonic"}
WITHOUT_QUOTES = {
    *PYTHONIC,
    *("qwen_xml", "seed_xml", "glm", "hy3", "hy3_plain", "minimax", "step3", "minicpm", "dots"),
    *("gemma", "functiongemma", "atem"),
}
LURES = st.sampled_from(
    ["", " ", "\n", " a ", "\na\n", "3", "-0.5", "true", "null", "None", "[1]", "{}", '"a"', "</b>"]
)
MARKUP = re.compile(r"<\||\|>|</?\w+[=>]|</?｜")
"""Markers end a value in any format. Hypothesis draws such constants from the modules that it sees."""
TEXTS = (
    LURES
    | st.sampled_from(["tool_call>", "<parameter", "function=a>", "a</"])
    | st.text(max_size=8).filter(lambda text: not MARKUP.search(text))
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
NAME = re.compile(r"[\w.-]+")
NAMES = st.text(string.ascii_letters + string.digits + "_-.é北", min_size=1, max_size=12)
SCALARS = (st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), TEXTS)
ELEMENTS = st.recursive(
    st.one_of(*SCALARS, *(st.lists(scalars, max_size=3) for scalars in SCALARS)),
    lambda inner: st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
"""Values of MiniMax M3, which has neither null nor types of its own."""
KINDS = {
    type(None): "null",
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}

Read = tuple[str | None, Any, ToolCallParseStatus]


def read_calls(key: str, text: str, tools: Sequence[Any] | None, *, marks: bool = False) -> list[Read]:
    """Parse calls in a tool format. Each byte of the markers is a token, or each marker."""
    reader = reader_of_bytes(grammar_of(key), tools=tools, marks=marks)
    calls = read(reader, [reader.encode(text)]).response.tool_calls
    return [(call.name, call.arguments, call.status) for call in calls]


def tools_for(calls: Sequence[Call]) -> list[dict[str, Any]]:
    """Return tools with the parameters of some calls."""
    return [
        {
            "name": call.name,
            "parameters": {"properties": {key: schema_of(one) for key, one in call.arguments.items()}},
        }
        for call in calls
    ]


def schema_of(value: Any) -> dict[str, Any]:
    """Return the schema of a value. Items of a list have the schema of its first one."""
    schema: dict[str, Any] = {"type": KINDS[type(value)]}
    if isinstance(value, dict) and all(map(NAME.fullmatch, value)):
        schema["properties"] = {key: schema_of(member) for key, member in value.items()}
    if isinstance(value, list) and len({type(item) for item in value}) == 1 and not isinstance(value[0], list | dict):
        schema["items"] = schema_of(value[0])
    return schema


@st.composite
def calls_in(draw: st.DrawFn, key: str) -> list[Call]:
    """Draw calls of different tools."""
    keys = NAMES if key in WITHOUT_QUOTES or key == "minimax_m3" else TEXTS
    arguments = st.dictionaries(keys, ELEMENTS if key == "minimax_m3" else VALUES, max_size=4)
    names = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    return [Call(name, draw(arguments)) for name in names]


@pytest.mark.parametrize("key", TOOL_FORMATS)
def test_formatted_calls_are_parsed_back(key: str) -> None:
    @settings(max_examples=150, deadline=None)
    @given(calls_in(key), st.booleans())
    def check(calls: list[Call], marks: bool) -> None:
        parsed = read_calls(key, format_calls(key, calls), tools_for(calls), marks=marks)
        # By their texts: 1 is equal to True and to 1.0.
        assert repr(parsed) == repr([(call.name, dict(call.arguments), OK) for call in calls])

    check()


def test_ids_of_calls_are_kept() -> None:
    text = format_calls("kimi", [Call("a", {}, "functions.a:7"), Call("b", {}, "call_9")])
    reader = reader_of_bytes(grammar_of("kimi"), marks=True)
    calls = read(reader, [reader.encode(text)]).response.tool_calls
    assert [(call.id, call.name) for call in calls] == [("functions.a:7", "a"), ("call_9", "call_9")]


def test_a_section_with_calls_in_the_prompt_is_not_a_failed_call() -> None:
    reader = reader_of_bytes(grammar_of("kimi"), marks=True)
    section = reader.encode(format_calls("kimi", [Call("a", {})]))
    prefill = split_at_marker_tokens(reader.compiled.marker_text.pieces(section[:-1]).byte_text)
    assert ResponseParser(reader.compiled, None, prefill=Pieces.of(prefill)).close(section[-1:]).tool_calls == []
    opened = ResponseParser(reader.compiled, None, prefill=Pieces.of(prefill[:1])).close()
    assert [call.status for call in opened.tool_calls] == [UNCLOSED]


WITH_VALUE_MARKUP = [key for key, tool_format in TOOL_FORMATS.items() if tool_format.value]


def markers_of_calls(key: str) -> list[str]:
    tool_format = TOOL_FORMATS[key]
    return [*(tool_format.call or ()), *(tool_format.section or ())[1:]]


@pytest.mark.parametrize("marks", [False, True])
@pytest.mark.parametrize("key", WITH_VALUE_MARKUP)
def test_markers_of_calls_within_a_value_are_text(key: str, marks: bool) -> None:
    for marker in markers_of_calls(key):
        calls = [Call("a", {"x": f"1{marker}2", "y": marker}), Call("b", {"x": "3"})]
        parsed = read_calls(key, format_calls(key, calls), tools_for(calls), marks=marks)
        assert parsed == [(call.name, call.arguments, OK) for call in calls], marker


@pytest.mark.parametrize("key", WITH_VALUE_MARKUP)
def test_a_value_that_is_not_closed_does_not_contain_the_next_call(key: str) -> None:
    tool_format = TOOL_FORMATS[key]
    assert tool_format.value is not None
    calls = [Call("a", {"x": "1"}), Call("b", {"x": "3"})]
    text = format_calls(key, calls).replace(tool_format.value[1], "", 1)
    first, second = read_calls(key, text, tools_for(calls), marks=True)
    assert first[0] == "a"
    assert first[2] is MALFORMED
    assert second == ("b", {"x": "3"}, OK)


WITH_JSON_STRINGS = [
    key
    for key, tool_format in TOOL_FORMATS.items()
    if tool_format.json_arguments and tool_format.layout in (TurnLayout.MARKERS, TurnLayout.LISTS)
]
"""The formats with markers around JSON. A string in it can contain their markers."""
WITH_CLOSING_MARKERS = [key for key in WITH_JSON_STRINGS if (TOOL_FORMATS[key].call or ("", ""))[1]]


@pytest.mark.parametrize("marks", [False, True])
@pytest.mark.parametrize("key", WITH_JSON_STRINGS)
def test_markers_of_calls_within_a_json_string_are_text(key: str, marks: bool) -> None:
    for marker in filter(None, markers_of_calls(key)):
        for text in (marker, f'1{marker}2 "{marker}{marker}" \\', f'{{"a": 1}}{marker}', marker * 200):
            calls = [Call("a", {"x": text, "y": [marker], marker: "é"}), Call("b", {"x": "3"})]
            parsed = read_calls(key, format_calls(key, calls), tools_for(calls), marks=marks)
            assert parsed == [(call.name, call.arguments, OK) for call in calls], text


@pytest.mark.parametrize("key", WITH_CLOSING_MARKERS)
def test_a_string_that_is_not_closed_does_not_contain_the_next_call(key: str) -> None:
    first, second = Call("a", {"x": "1"}), Call("b", {"x": "3"})
    text = format_calls(key, [first]).replace('"1"', '"1') + format_calls(key, [second])
    broken, whole = read_calls(key, text, tools_for([first, second]), marks=True)
    assert (broken[0], broken[2]) == ("a", INVALID)
    assert whole == ("b", {"x": "3"}, OK)


def hermes(body: str) -> str:
    return f"<tool_call>\n{body}\n</tool_call>"


def xml(body: str) -> str:
    return f"<tool_call>\n<function=search>\n{body}</function>\n</tool_call>"


def seed(body: str) -> str:
    return f"<seed:tool_call><function=search>{body}</function></seed:tool_call>"


K3_DAYS = '<|open|>argument key="days" type="number"<|sep|>2<|close|>argument<|sep|>'


def kimi_k3(body: str) -> str:
    return f"<|open|>tools<|sep|><|open|>call{body}<|close|>call<|sep|><|close|>tools<|sep|>"


def k3_argument(value: str, kind: str = "number") -> str:
    return f' tool="a" index="1"<|sep|><|open|>argument key="x" type="{kind}"<|sep|>{value}<|close|>argument<|sep|>'


def inkling(body: str) -> str:
    return f"a<|content_invoke_tool_json|>{body}<|end_message|>"


def solar(body: str) -> str:
    return f"<|tool_calls|><|tool_call:begin|>{body}<|tool_call:end|><|calls|>"


def atem(body: str, *, to: str = "search") -> str:
    return f" to={to}<|message|><atem:function_calls>\n{body}\n</atem:function_calls><|eom|>"


def glm(body: str) -> str:
    return f"<tool_call>{body}</tool_call>"


def kimi(body: str) -> str:
    return f"<|tool_calls_section_begin|><|tool_call_begin|>{body}<|tool_call_end|><|tool_calls_section_end|>"


def deepseek(body: str) -> str:
    return f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>{body}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"


def dsml(body: str) -> str:
    return f'<｜DSML｜tool_calls>\n<｜DSML｜invoke name="{body}</｜DSML｜invoke>\n</｜DSML｜tool_calls>'


def parameter(key: str, flag: str, value: str) -> str:
    return f'<｜DSML｜parameter name="{key}"{flag}>{value}</｜DSML｜parameter>'


def search(*parts: str) -> str:
    return dsml('search">' + "".join(parts))


STRING, JSON = ' string="true"', ' string="false"'


def minimax(body: str) -> str:
    return f"<minimax:tool_call>\n<invoke {body}</invoke>\n</minimax:tool_call>"


def hy3(body: str, suffix: str = ":opensource") -> str:
    """Return a call of Hy3. In the body all tags have the suffix `*`."""
    text = f"<tool_calls*>\n<tool_call*>{body}</tool_call*>\n</tool_calls*>"
    return text.replace("*", suffix)


def minimax_m3(body: str) -> str:
    """Return a call of MiniMax M3. In the body `*` is the token before a tag."""
    return f"*<tool_call>\n*<invoke {body}*</invoke>\n*</tool_call>".replace("*", "]<]minimax[>[")


def step3(body: str) -> str:
    return f"<｜tool_calls_begin｜><｜tool_call_begin｜>{body}<｜tool_call_end｜><｜tool_calls_end｜>"


def dots(body: str) -> str:
    return f"<dots_function_call>{body}</dots_function_call>"


def gemma(body: str) -> str:
    """Return a call of Gemma. In the body `*` is a quote."""
    return f"<|tool_call>{body}<tool_call|>".replace("*", '<|"|>')


def harmony(header: str, body: str) -> str:
    return f"<|channel|>commentary{header}<|message|>{body}<|call|>"


LISTS = [
    (key, *tool_format.call)
    for key, tool_format in TOOL_FORMATS.items()
    if tool_format.json_list and tool_format.call and key != "apertus"
]
"""The formats with JSON lists, and the markers around them."""

BROKEN: dict[str, list[tuple[str, list[Read]]]] = {
    "hermes": [
        ("<tool_call>", [(None, None, UNCLOSED)]),
        ('<tool_call>\n{"name": "a", "arguments": {"x": 1}}\n', [("a", {"x": 1}, OK)]),
        ('<tool_call>\n{"name": "a", "arguments": {"x": ', [("a", None, UNCLOSED)]),
        ('<tool_call>{"name": "a"}<|stop|>{"name": "b"}</tool_call>', [("a", {}, OK)]),
        (hermes(""), [(None, None, INVALID)]),
        (hermes("get the weather"), [(None, None, INVALID)]),
        (hermes('{"name": "a", "arguments": {"x": 1}'), [("a", {"x": 1}, MALFORMED)]),
        (hermes('{"name": "a"}} '), [("a", None, INVALID)]),
        (hermes('{"name": "a"}\n{"name": "b"}'), [("a", {}, OK), ("b", {}, OK)]),
        (hermes('[{"name": "a"}, {"name": "b", "arguments": {"x": 1}}]'), [("a", {}, OK), ("b", {"x": 1}, OK)]),
        (hermes('```json\n{"name": "a"}\n```'), [("a", {}, OK)]),
        (hermes('{"name": "a", "id": "1", "type": "function", "index": 0}'), [("a", {}, OK)]),
        # The arguments are under another key, which may be a mistake for any of several.
        (hermes('{"name": "a", "args": {"x": 1}}'), [("a", None, MALFORMED)]),
        (hermes('{"name": "a", "x": 1}'), [("a", None, MALFORMED)]),
        (hermes('{"args": {"x": 1}}'), [(None, {}, MISSING)]),
        (hermes('{"name": "functions.search"}'), [("search", {}, OK)]),
        (hermes('{"name": "functions.search:1"}'), [("search", {}, OK)]),
        (hermes('{"name": "search:a"}'), [("search:a", {}, OK)]),
        (hermes('{"name": "functions.a"}'), [("functions.a", {}, OK)]),
        (hermes('[{"name": "a"}, {"name": 1}]'), [(None, None, MISSING)]),
        (hermes('[{"name": "a"}, junk]'), [(None, None, INVALID)]),
        (hermes('{"name": "a"}<tool_call>{"name": "b"}'), [("a", None, INVALID)]),
        (hermes("{'name': 'a'}"), [(None, None, INVALID)]),
        (hermes('{"arguments": {"x": 1}}'), [(None, {"x": 1}, MISSING)]),
        (hermes('{"name": "", "arguments": {}}'), [(None, {}, MISSING)]),
        (hermes('{"name": null, "arguments": "x"}'), [(None, '"x"', MISSING)]),
        (hermes('{"name": ["a"]}'), [(None, {}, MISSING)]),
        (hermes('["a", {}]'), [(None, None, MISSING)]),
        (hermes('"a"'), [(None, None, MISSING)]),
        (hermes('{"arguments": [1]}'), [(None, "[1]", MISSING)]),
        (hermes('{"name": "a", "arguments": [1]}'), [("a", "[1]", INVALID)]),
        (hermes('{"name": "a", "arguments": 1}'), [("a", "1", INVALID)]),
        (hermes('{"name": "a", "parameters": [1], "arguments": false}'), [("a", "false", INVALID)]),
        (hermes(r'{ "x" : ["}\""] , "n\u0061me":"a","arguments" :[ 1,2 ] }'), [("a", "[ 1,2 ]", INVALID)]),
        (hermes('{"arguments": {"x": 1}, "name": "a", "arguments": [1], "arguments": [2]}'), [("a", "[2]", INVALID)]),
        (hermes('{"name": "a", "arguments": ""}'), [("a", {}, OK)]),
        (hermes('{"name": "a", "arguments": null}'), [("a", {}, OK)]),
        (hermes('{"name": "a", "arguments": "{\\"x\\": 1}"}'), [("a", {"x": 1}, OK)]),
        (hermes('{"name": "a", "name": "b", "arguments": {"x": 1, "x": 2}}'), [("b", {"x": 2}, OK)]),
        (hermes('{"name": "a", "arguments": {"x": "1\n2"}}'), [("a", {"x": "1\n2"}, OK)]),
        (hermes('{"name": "a"}') + " and " + hermes('{"name": "b"'), [("a", {}, OK), ("b", None, INVALID)]),
        ("</tool_call>", []),
    ],
    "qwen_xml": [
        ("<tool_call>", [(None, None, UNCLOSED)]),
        (xml("")[: -len("</tool_call>")], [("search", {}, OK)]),
        (xml("")[: -len("</function>\n</tool_call>")], [("search", {}, UNCLOSED)]),
        ("<tool_call><function=search><parameter=query>Ro", [("search", {"query": "Ro"}, UNCLOSED)]),
        ("<tool_call></tool_call>", [(None, None, MALFORMED)]),
        ("<tool_call>search</tool_call>", [(None, None, MALFORMED)]),
        ("<tool_call><function=></function></tool_call>", [(None, None, MALFORMED)]),
        ("<tool_call><function=search</function</tool_call>", [("search", {}, MALFORMED)]),
        ("<tool_call>\n<function=search\n</function>\n</tool_call>", [("search", {}, MALFORMED)]),
        (
            "<tool_call><function=search\n<parameter=query>Rome</parameter></function></tool_call>",
            [("search", {"query": "Rome"}, MALFORMED)],
        ),
        ("<tool_call><function=sea", [(None, None, UNCLOSED)]),
        ("<tool_call><function=search></tool_call>", [("search", {}, OK)]),
        (xml("<parameter=query>\nRome\n"), [("search", {"query": "Rome"}, MALFORMED)]),
        (
            xml("<parameter=query\nRome\n</parameter>"),
            [("search", {"query": "Rome"}, MALFORMED)],
        ),
        (
            xml("<parameter=query>\n1\n</parameter>\n<parameter=query>\n2\n</parameter>"),
            [("search", {"query": "2"}, MALFORMED)],
        ),
        (xml("<parameter=query>\n</parameter>\n</parameter>\n"), [("search", {"query": "</parameter>"}, OK)]),
        (xml("<parameter=query>\na\n</parameter>\n</parameter>\n</parameter>"), [("search", {"query": "a"}, OK)]),
        (xml("<parameter=query>\na</parameter>\n</parameter>"), [("search", {"query": "a</parameter>"}, OK)]),
        # The opening tag of a second value may be missing.
        (
            xml("<parameter=query>\na\n</parameter>\n3\n</parameter>"),
            [("search", {"query": "a\n</parameter>\n3"}, MALFORMED)],
        ),
        (xml("junk<parameter=query>Rome</parameter>"), [("search", {"query": "Rome"}, MALFORMED)]),
        (xml("<parameter=query>Rome</parameter>junk"), [("search", {"query": "Rome"}, MALFORMED)]),
        (
            xml("<parameter=a>\n1\n</parameter>\n</function>\n<function=b>\n<parameter=c>\n2\n</parameter>\n"),
            [("search", {"a": 1}, OK), ("b", {"c": 2}, OK)],
        ),
        # A function or a parameter that is not closed: never a call that looks right.
        (xml("</function>\n<function=b>\n<parameter=c>\n2\n"), [("search", {"c": 2}, MALFORMED)]),
        (
            xml("<parameter=query>\n1\n<parameter=days>\n2\n</parameter>\n"),
            [("search", {"query": "1", "days": 2}, MALFORMED)],
        ),
        (
            "<tool_call>\n<function=search>\n<tool_call>\n<function=b>\n<parameter=c>\n2\n</parameter>\n</tool_call>",
            [("search", {}, MALFORMED), ("b", {"c": 2}, OK)],
        ),
        (xml("<parameter=days>\nthree\n</parameter>"), [("search", {"days": "three"}, OK)]),
        (
            xml("<parameter=days>\nthree\n</parameter>").replace("search", "get_weather"),
            [("get_weather", {"days": "three"}, INVALID)],
        ),
        (xml("<parameter=days>\n3\n</parameter>").replace("search", "unheard_of"), [("unheard_of", {"days": 3}, OK)]),
    ],
    "minicpm": [
        ('<function name="search"><param name="query">Rome</param></function>', [("search", {"query": "Rome"}, OK)]),
        ('<functionname="search"><paramname="query">Rome</param></function>', [("search", {"query": "Rome"}, OK)]),
        (
            '<function name="search"><param name="a"><![CDATA[</param><param name="b">]]></param></function>',
            [("search", {"a": '</param><param name="b">'}, OK)],
        ),
        (
            '<function name="search"><param name="query"><![CDATA[Rome]]>junk</param></function>',
            [("search", {"query": "Rome"}, MALFORMED)],
        ),
        (
            '<function name="search"><param name="a"><![CDATA[</function>]]></param></function>',
            [("search", {"a": "</function>"}, OK)],
        ),
        ('<function name="search"><param name="query"><![CDATA[Ro', [("search", {"query": "Ro"}, UNCLOSED)]),
        ('<function name="search"><param name="query">Rome</function>', [("search", {"query": "Rome"}, MALFORMED)]),
        (
            '<function name="search"><param name="query">a</param>3</param></function>',
            [("search", {"query": "a</param>3"}, MALFORMED)],
        ),
        ('<function name="search"><param>Rome</param></function>', [("search", {}, MALFORMED)]),
        ('<function name="unheard_of"></function>', [("unheard_of", {}, UNKNOWN)]),
        (
            """<function name="get_weather"><param name="properties">{'city': 'Rome'}</param></function>""",
            [("get_weather", {"city": "Rome"}, OK)],
        ),
        ('<function name=""></function>', [(None, None, MALFORMED)]),
    ],
    "dots": [
        (
            dots('<invoke name="search"><parameter name="query">Rome</parameter></invoke>'),
            [("search", {"query": "Rome"}, OK)],
        ),
        (
            dots('<invoke name="search"></invoke> <invoke name="get_weather"></invoke>'),
            [("search", {}, OK), ("get_weather", {}, OK)],
        ),
        (dots('{"name": "search", "arguments": {"query": "Rome"}}'), [("search", {"query": "Rome"}, OK)]),
        (dots('{"name": "search", "arguments": {'), [("search", None, INVALID)]),
        (dots("garbage"), [(None, None, MALFORMED)]),
        ('<dots_function_call><invoke name="search">', [("search", {}, UNCLOSED)]),
    ],
    "seed_xml": [
        ("<seed:tool_call><function=search><parameter=query>Ro", [("search", {"query": "Ro"}, UNCLOSED)]),
        ("<seed:tool_call>search</seed:tool_call>", [(None, None, MALFORMED)]),
        (seed("<parameter=query>\nRome\n</parameter>"), [("search", {"query": "\nRome\n"}, OK)]),
        (seed("<parameter=query>Rome"), [("search", {"query": "Rome"}, MALFORMED)]),
        (seed("<function=broken</function>"), [("search", {}, MALFORMED)]),
        (seed("<parameter=query>1</parameter><parameter=query></parameter>"), [("search", {"query": ""}, MALFORMED)]),
        # A function without the markers around it, and text beside it.
        ("<tool_call><function=search></function></tool_call>", [("search", {}, OK)]),
    ],
    "glm": [
        (glm('{"name": "search", "arguments": {"query": "Rome"}}'), [("search", {"query": "Rome"}, OK)]),
        (glm('{"name": "search", "arguments": {"query": '), [("search", None, INVALID)]),
        ('<tool_call>{"name": "search", "arguments": {"query": "a"}}<|stop|>', [("search", {"query": "a"}, OK)]),
        ('<tool_call>{"name": "search", "arguments": {"query": "a"}}', [("search", {"query": "a"}, OK)]),
        ('<tool_call>{"name": "search", "arguments": {"query": "a"}', [("search", {"query": "a"}, UNCLOSED)]),
        (glm('```json\n{"name": "search", "arguments": {"query": "a"}}\n```'), [("search", {"query": "a"}, OK)]),
        (
            glm('[{"name": "search", "arguments": {"query": "a"}}, {"name": "search"}]'),
            [("search", {"query": "a"}, OK), ("search", {}, OK)],
        ),
        (glm('[{"name": "search", "arguments": {"query": '), [(None, None, INVALID)]),
        ("<tool_call>", [(None, {}, UNCLOSED)]),
        ("<tool_call>search\n<arg_key>query</arg_key>\n<arg_value>Ro", [("search", {}, UNCLOSED)]),
        ("<tool_call>search<arg_key>query</arg_key><arg_value>Ro</arg_value>", [("search", {"query": "Ro"}, UNCLOSED)]),
        (
            "<tool_call>search<arg_key>query</arg_key><arg_value>Ro</arg_value><|stop|>",
            [("search", {"query": "Ro"}, OK)],
        ),
        ("<tool_call>search<arg_key>query</arg_key><|stop|>", [("search", {}, UNCLOSED)]),
        (glm(""), [(None, {}, MISSING)]),
        (glm("<arg_key>query</arg_key><arg_value>Rome</arg_value>"), [(None, {"query": "Rome"}, MISSING)]),
        (
            glm("\n<arg_key>a</arg_key><arg_value>1</arg_value><arg_key>b</arg_key><arg_value>2"),
            [(None, {"a": 1}, MISSING)],
        ),
        (
            "<tool_call><arg_key>query</arg_key><arg_value>Rome</arg_value>",
            [(None, {"query": "Rome"}, UNCLOSED)],
        ),
        (glm(" search \n"), [("search", {}, OK)]),
        (glm("unheard_of"), [("unheard_of", {}, UNKNOWN)]),
        (glm("functions.unheard_of"), [("functions.unheard_of", {}, UNKNOWN)]),
        # The types are those of the tool without the namespace and the index.
        (
            glm("functions.get_weather:0<arg_key>city</arg_key><arg_value>3</arg_value>"),
            [("get_weather", {"city": "3"}, OK)],
        ),
        (glm("unheard_of\n<arg_key>x</arg_key>"), [("unheard_of", {}, UNKNOWN)]),
        (glm("search<arg_key>query"), [("search", {}, MALFORMED)]),
        (glm("search<arg_key>query</arg_key>"), [("search", {}, MALFORMED)]),
        (glm("search<arg_key>query</arg_key><arg_value>Rome"), [("search", {}, MALFORMED)]),
        (
            glm("search<arg_key>query</arg_key>Rome<arg_value>Paris</arg_value>"),
            [("search", {"query": "Paris"}, MALFORMED)],
        ),
        (
            glm(
                "search<arg_key>query</arg_key><arg_value>1</arg_value><tool_call>b<arg_key>c</arg_key><arg_value>2</arg_value>"
            ),
            [("search", {"query": "1"}, OK), ("b", {"c": 2}, UNKNOWN)],
        ),
        (glm("search<arg_key>a</arg_key><arg_value>1</arg_value><arg_key>b"), [("search", {"a": 1}, MALFORMED)]),
        (
            glm("search<arg_key>a</arg_key><arg_value>1</arg_value><arg_key>a</arg_key><arg_value>2</arg_value>"),
            [("search", {"a": 2}, MALFORMED)],
        ),
        (
            glm("search<arg_key>query</arg_key><arg_value>1</arg_value><arg_value>2</arg_value>"),
            [("search", {"query": "1</arg_value><arg_value>2"}, MALFORMED)],
        ),
        (glm("search<arg_key>query</arg_key><arg_value>1</arg_value> junk"), [("search", {"query": "1"}, MALFORMED)]),
        (
            glm("get_weather<arg_key>days</arg_key><arg_value>three</arg_value>"),
            [("get_weather", {"days": "three"}, INVALID)],
        ),
        (glm("search<arg_key>query</arg_key><arg_value> null </arg_value>"), [("search", {"query": " null "}, OK)]),
    ],
    "kimi": [
        ("<|tool_calls_section_begin|>", [(None, None, UNCLOSED)]),
        ("<|tool_calls_section_begin|><|tool_calls_section_end|>", [(None, None, MALFORMED)]),
        ("<|tool_calls_section_begin|>search<|tool_calls_section_end|>", [(None, None, MALFORMED)]),
        (kimi("functions.a:0<|tool_call_argument_begin|>{}")[: -len("<|tool_calls_section_end|>")], [("a", {}, OK)]),
        (kimi("a:0<|tool_call_argument_begin|>{").replace("<|tool_call_end|>", ""), [("a", "{", MALFORMED)]),
        ("<|tool_calls_section_begin|><|tool_call_begin|>functions.a:0", [(None, None, UNCLOSED)]),
        (kimi("functions.a:0{}"), [("a", None, MALFORMED)]),
        (kimi("<|tool_call_argument_begin|>{}"), [(None, {}, MISSING)]),
        (kimi("functions.a:0<|tool_call_argument_begin|>"), [("a", {}, OK)]),
        (kimi(":0<|tool_call_argument_begin|>{}"), [(None, {}, MISSING)]),
        (kimi("functions.a:0<|tool_call_argument_begin|>{} {}"), [("a", "{} {}", INVALID)]),
        (kimi("functions.a:0<|tool_call_argument_begin|>[1]"), [("a", "[1]", INVALID)]),
        (kimi("functions.a:0<|tool_call_argument_begin|>null"), [("a", {}, OK)]),
        (kimi('functions.a:0<|tool_call_argument_begin|>"{}"'), [("a", {}, OK)]),
        (kimi('functions.a:0<|tool_call_argument_begin|>{"x": 1, "x": 2}'), [("a", {"x": 2}, OK)]),
        (kimi(" functions.a.b:12 <|tool_call_argument_begin|> {} "), [("a.b", {}, OK)]),
        (kimi("a:0<|tool_call_argument_begin|>{}"), [("a", {}, OK)]),
        (kimi("web.search:0<|tool_call_argument_begin|>{}"), [("web.search", {}, OK)]),
        (kimi("functions.a:b:0<|tool_call_argument_begin|>{}"), [("a:b", {}, OK)]),
        (kimi("a<|tool_call_argument_begin|>{}"), [("a", {}, OK)]),
    ],
    "kimi_k3": [
        # Without its separator, a tag has no value, and the next one is a tag of its own.
        (
            kimi_k3(k3_argument("1").replace('number"<|sep|>', 'number"') + K3_DAYS),
            [("a", {"x": "", "days": 2}, MALFORMED)],
        ),
        ("<|open|>tools<|sep|>", [(None, None, UNCLOSED)]),
        (kimi_k3(k3_argument("1")), [("a", {"x": 1}, OK)]),
        (kimi_k3(k3_argument("1", "string")), [("a", {"x": "1"}, OK)]),
        (kimi_k3(k3_argument("{")), [("a", {"x": "{"}, INVALID)]),
        (kimi_k3(' tool="a"<|sep|>{"x": 1}'), [("a", {"x": 1}, OK)]),
        (kimi_k3(' tool="a"<|sep|>{"x": '), [("a", '{"x":', INVALID)]),
        (kimi_k3(' tool="a"<|sep|><|open|>x<|sep|>1<|close|>x<|sep|>'), [("a", {}, MALFORMED)]),
        (kimi_k3(k3_argument("1") + "junk"), [("a", {"x": 1}, MALFORMED)]),
        (
            kimi_k3(' tool="a"<|sep|><|open|>argument key="x"<|sep|>1<|close|>argument<|sep|>'),
            [("a", {"x": 1}, OK)],
        ),
        (
            kimi_k3(k3_argument("1") + k3_argument("2").removeprefix(' tool="a" index="1"<|sep|>')),
            [("a", {"x": 2}, MALFORMED)],
        ),
        (
            kimi_k3(k3_argument("1") + "<|open|>json<|sep|>{}<|close|>json<|sep|>"),
            [("a", {}, MALFORMED)],
        ),
        (kimi_k3(' tool="a" index="1"'), [("a", None, MALFORMED)]),
        (kimi_k3(' tool="a" index="1"<|sep|>'), [("a", {}, OK)]),
        (kimi_k3(' index="1"<|sep|>'), [(None, {}, MISSING)]),
        (kimi_k3(' tool="a"<|sep|><|open|>argument type="null"<|sep|>null'), [("a", {}, MALFORMED)]),
        (kimi_k3(' tool="a"<|sep|><|open|>argument key="x" type="number"<|sep|>1'), [("a", {"x": 1}, MALFORMED)]),
        (kimi_k3(' tool="a"<|sep|><|open|>argument key="x"'), [("a", {"x": ""}, MALFORMED)]),
        (
            kimi_k3(' tool="a"<|sep|><|open|>json type="object"<|sep|>{"x": 1}<|close|>json<|sep|>'),
            [("a", {"x": 1}, OK)],
        ),
        (kimi_k3(' tool="a"<|sep|><|open|>json type="object"<|sep|>{"x": 1'), [("a", '{"x": 1', MALFORMED)]),
        (kimi_k3(k3_argument("1"))[: -len("<|close|>tools<|sep|>")], [("a", {"x": 1}, OK)]),
        ("<|open|>tools<|sep|><|open|>call" + k3_argument("1"), [("a", {"x": 1}, UNCLOSED)]),
    ],
    "inkling": [
        (inkling('{"name":"b","args":{"x":1}}'), [("b", {"x": 1}, OK)]),
        (inkling('{"args":{"x":1}}'), [("a", {"x": 1}, OK)]),
        (inkling('{"name":"b"}'), [("b", {}, OK)]),
        (inkling("{}"), [("a", {}, OK)]),
        (inkling('{"x":1}'), [("a", None, MALFORMED)]),
        (inkling("[]"), [(None, None, MISSING)]),
        (inkling('{"name":"b","args":{"x":'), [("b", '{"x":', INVALID)]),
        (inkling("x"), [("a", None, INVALID)]),
        (inkling('{"name":"b","args":{}}').removesuffix("<|end_message|>"), [("b", {}, OK)]),
        (inkling('{"name":"b","args":{').removesuffix("<|end_message|>"), [("b", "{", UNCLOSED)]),
        (inkling('{"name":"b","args":{}}<|message_model|>'), [("b", {}, OK)]),
        ("<|content_invoke_tool_text|>x<|end_message|>", []),
    ],
    "solar": [
        (solar("a1<|tool_call:name|>search<|tool_call:args|>{}"), [("search", {}, OK)]),
        (solar("<|tool_call:name|>search<|tool_call:args|>[1]"), [("search", "[1]", INVALID)]),
        (solar("a1<|tool_call:args|>{}"), [(None, {}, MISSING)]),
        (solar("a1<|tool_call:name|>search"), [(None, None, MALFORMED)]),
        ("<|tool_calls|><|tool_call:begin|>a1<|tool_call:name|>search<|tool_call:args|>{}", [("search", {}, OK)]),
        ("<|tool_calls|><|tool_call:begin|>a1<|tool_call:name|>search", [(None, None, UNCLOSED)]),
    ],
    "atem": [
        (atem('<atem:invoke name="search">\n</atem:invoke>'), [("search", {}, OK)]),
        (
            atem('<atem:invoke name="search">\n<atem:parameter name="query">a<b</atem:parameter>\n</atem:invoke>'),
            [("search", {"query": "a<b"}, OK)],
        ),
        (
            atem('<atem:invoke name="search">\n<atem:parameter name="query">a'),
            [("search", {"query": "a\n"}, MALFORMED)],
        ),
        (atem('<atem:invoke name="search'), [("search", {}, MALFORMED)]),
        (atem(""), [("search", None, MALFORMED)]),
        (" to=search<|message|>", [("search", None, UNCLOSED)]),
        (" to=self<|message|><atem:invoke>", []),
        (atem('<atem:invoke name="search.search">\n</atem:invoke>', to="search.search"), [("search", {}, OK)]),
    ],
    "deepseek_v3": [
        (
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>a\n```json\n{",
            [("a", "{", UNCLOSED)],
        ),
        (
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>a\n{}<｜tool▁calls▁end｜>",
            [("a", {}, OK)],
        ),
        (deepseek("a\n```json\n{}\n```"), [("a", {}, OK)]),
        (deepseek("call a\n{}"), [("call a", {}, MALFORMED)]),
        (deepseek("a"), [(None, None, MALFORMED)]),
        (deepseek("a\nb"), [(None, None, MALFORMED)]),
        # As V3.1 writes calls.
        (deepseek('a<｜tool▁sep｜>{"x": 1}'), [("a", {"x": 1}, OK)]),
        (deepseek('a<｜tool▁sep｜>\n```json\n{"x": 1}\n```'), [("a", {"x": 1}, OK)]),
        (deepseek('function<｜tool▁sep｜>a{"x": 1}'), [("a", {"x": 1}, OK)]),
        (deepseek('function<｜tool▁sep｜>a\n```\n{"x": 1}\n```'), [("a", {"x": 1}, OK)]),
        (
            deepseek("function<｜tool▁sep｜>a\n{}<｜tool▁call▁begin｜>function<｜tool▁sep｜>b\n{}"),
            [("a", {}, OK), ("b", {}, OK)],
        ),
        ("<think>Hm." + deepseek("function<｜tool▁sep｜>a\n{}"), [("a", {}, OK)]),
        (deepseek("function<｜tool▁sep｜>"), [(None, {}, MISSING)]),
        (deepseek("function<｜tool▁sep｜>\n```json\n{}\n```"), [(None, {}, MISSING)]),
        (deepseek("function<｜tool▁sep｜>a"), [("a", {}, OK)]),
        (deepseek("function<｜tool▁sep｜>a\n{}"), [("a", {}, OK)]),
        (deepseek('<｜tool▁sep｜> a \n```json\n{"x": 1}```'), [("a", {"x": 1}, OK)]),
        (deepseek('function<｜tool▁sep｜>a\n```json\n{"x": 1\n```'), [("a", '{"x": 1', INVALID)]),
        (deepseek("function<｜tool▁sep｜>a\n```json\nnull\n```"), [("a", {}, OK)]),
        (deepseek('function<｜tool▁sep｜>a\n```json\n{"x": 1, "x": 2}\n```'), [("a", {"x": 2}, OK)]),
        (deepseek("function<｜tool▁sep｜>a\njunk"), [("a", "junk", INVALID)]),
    ],
    "deepseek_v31": [
        ("<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>a<｜tool▁sep｜>{", [("a", "{", UNCLOSED)]),
        ("<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>a<｜tool▁sep｜>{}<｜tool▁calls▁end｜>", [("a", {}, OK)]),
        (
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>a<｜tool▁sep｜>{}<|stop|><｜tool▁calls▁end｜>",
            [("a", {}, OK)],
        ),
        (deepseek("a{}"), [("a", {}, OK)]),
        (deepseek('function<｜tool▁sep｜>a\n```json\n{"x": 1}\n```'), [("a", {"x": 1}, OK)]),
        (deepseek("function<｜tool▁sep｜>{}"), [("function", {}, OK)]),
        (deepseek("function<｜tool▁sep｜>"), [("function", {}, OK)]),
        (deepseek('a<｜tool▁sep｜>```json\n{"x": 1}\n```'), [("a", {"x": 1}, OK)]),
        (deepseek("a<｜tool▁sep｜>{}<｜tool▁call▁begin｜>b<｜tool▁sep｜>{}"), [("a", {}, OK), ("b", {}, OK)]),
        (deepseek(""), [(None, None, MALFORMED)]),
        (deepseek("<｜tool▁sep｜>{}"), [(None, {}, MISSING)]),
        (deepseek("a<｜tool▁sep｜>"), [("a", {}, OK)]),
        (deepseek("a<｜tool▁sep｜>[]"), [("a", "[]", INVALID)]),
        (deepseek("a<｜tool▁sep｜>{} junk"), [("a", "{} junk", INVALID)]),
        (deepseek('a<｜tool▁sep｜>{"x": 1, "x": 2}'), [("a", {"x": 2}, OK)]),
    ],
    "deepseek_v32": [
        (dsml('search">\n\n').replace("tool_calls", "function_calls"), [("search", {}, OK)]),
        (dsml('search">\n\n'), [("search", {}, OK)]),
    ],
    "deepseek_v4": [
        # A flag that does not fit the schema.
        (dsml('get_weather">' + parameter("days", STRING, "3")), [("get_weather", {"days": 3}, OK)]),
        (dsml('get_weather">' + parameter("days", STRING, "three")), [("get_weather", {"days": "three"}, OK)]),
        (dsml('get_weather">' + parameter("city", JSON, "Rome")), [("get_weather", {"city": "Rome"}, OK)]),
        (dsml('get_weather">' + parameter("city", JSON, "null")), [("get_weather", {"city": None}, OK)]),
        ("<｜DSML｜tool_calls>", [(None, None, UNCLOSED)]),
        ("<｜DSML｜tool_calls>\n</｜DSML｜tool_calls>", [(None, None, MALFORMED)]),
        ('<｜DSML｜tool_calls>\n<｜DSML｜invoke name="sea', [(None, None, UNCLOSED)]),
        (search()[: -len("</｜DSML｜invoke>\n</｜DSML｜tool_calls>")], [("search", {}, UNCLOSED)]),
        (
            f'<｜DSML｜tool_calls>\n<｜DSML｜invoke name="search">\n<｜DSML｜parameter name="query"{STRING}>Ro',
            [("search", {"query": "Ro"}, UNCLOSED)],
        ),
        (search() + " and more", [("search", {}, OK)]),
        (
            search(parameter("query", STRING, "Rome")).replace("</｜DSML｜invoke>", ""),
            [("search", {"query": "Rome"}, OK)],
        ),
        (search(parameter("days", "", "three")), [("search", {"days": "three"}, MALFORMED)]),
        (search().replace("</｜DSML｜invoke>", ""), [("search", {}, MALFORMED)]),
        (dsml('search">\n<｜DSML｜invoke name="b">'), [("search", {}, MALFORMED), ("b", {}, OK)]),
        (dsml("search"), [(None, None, MALFORMED)]),
        (dsml('">'), [(None, None, MISSING)]),
        (dsml('search" >'), [("search", {}, OK)]),
        (search(parameter("query", STRING, " Rome ")), [("search", {"query": " Rome "}, OK)]),
        (search(parameter("query", STRING, "3")), [("search", {"query": "3"}, OK)]),
        (search(parameter("a", JSON, "3"), parameter("b", JSON, " [null] ")), [("search", {"a": 3, "b": [None]}, OK)]),
        (search(parameter("query", JSON, "Rome")), [("search", {"query": "Rome"}, OK)]),
        (search(parameter("other", JSON, "Rome")), [("search", {"other": "Rome"}, INVALID)]),
        (search(parameter("a", JSON, "x"), "junk"), [("search", {"a": "x"}, MALFORMED)]),
        (search("junk", parameter("query", STRING, "Rome")), [("search", {"query": "Rome"}, MALFORMED)]),
        # The flag is missing or neither true nor false: the type in the schema decides.
        (search(parameter("query", "", "3")), [("search", {"query": "3"}, OK)]),
        (search(parameter("x", "", "3")), [("search", {"x": 3}, MALFORMED)]),
        (search(parameter("x", ' string="yes"', "3")), [("search", {"x": 3}, MALFORMED)]),
        (
            search(parameter("query", STRING, "1"), parameter("query", STRING, "2")),
            [("search", {"query": "2"}, MALFORMED)],
        ),
        (
            search(f'\n<｜DSML｜parameter name="a"{STRING}>1\n', parameter("b", STRING, "2")),
            [("search", {"a": "1", "b": "2"}, MALFORMED)],
        ),
        (dsml('search"><｜DSML｜parameter name="a"\n'), [("search", {'a"': ""}, MALFORMED)]),
        (
            search(parameter("query", STRING, "1</｜DSML｜parameter>2")),
            [("search", {"query": "1</｜DSML｜parameter>2"}, OK)],
        ),
        (search(parameter("arguments", JSON, "{}")), [("search", {}, OK)]),
        (
            search(parameter("input", STRING, '{"query": "Rome"}')),
            [("search", {"query": "Rome"}, OK)],
        ),
        (search(parameter("input", JSON, '{"x": 1}')), [("search", {"input": {"x": 1}}, OK)]),
        (dsml('other">' + parameter("input", JSON, "{}")), [("other", {"input": {}}, OK)]),
        (search().replace("tool_calls", "function_calls"), [("search", {}, OK)]),
        (search().replace("<｜DSML｜tool_calls", "<｜DSML｜tool"), [("search", {}, OK)]),
        ("<think>Hm." + search(), [("search", {}, OK)]),
    ],
    "deepseek_v41": [
        (dsml('search">'), []),
        ('<｜DSML｜ calls>\n<｜DSML｜ invoke name="search">\n</｜DSML｜ calls>', [("search", {}, MALFORMED)]),
    ],
    "minimax": [
        (
            '<minimax:tool_call>\n<invoke name="search">\n<parameter name="query">Ro',
            [("search", {"query": "Ro"}, UNCLOSED)],
        ),
        ('<minimax:tool_call>\n<invoke name="search">\n</minimax:tool_call>', [("search", {}, MALFORMED)]),
        (
            '<minimax:tool_call><invoke name="search"><parameter name="query">Rome</parameter></minimax:tool_call>',
            [("search", {"query": "Rome"}, OK)],
        ),
        ('<minimax:tool_call>\n<invoke name="search">\n<|stop|></minimax:tool_call>', [("search", {}, UNCLOSED)]),
        ("<minimax:tool_call>\n</minimax:tool_call>", [(None, None, MALFORMED)]),
        ("<minimax:tool_call>search</minimax:tool_call>", [(None, None, MALFORMED)]),
        (minimax('name="search"'), [(None, None, MALFORMED)]),
        (minimax('name="">'), [(None, None, MISSING)]),
        (minimax('name="search">'), [("search", {}, OK)]),
        (minimax('name="search"><parameter name="query">Rome'), [("search", {"query": "Rome"}, MALFORMED)]),
        (minimax('name="search"><parameter name="query"'), [("search", {}, MALFORMED)]),
        (
            minimax('name="search"><parameter name="query">1</parameter>2</parameter>'),
            [("search", {"query": "1</parameter>2"}, OK)],
        ),
        (
            minimax('name="search"><parameter name="query">1</parameter>\n2</parameter>'),
            [("search", {"query": "1</parameter>\n2"}, MALFORMED)],
        ),
        (
            minimax('name="search"><parameter name="a">1</parameter><parameter name="a">2</parameter>'),
            [("search", {"a": 2}, MALFORMED)],
        ),
        (
            minimax('name="search">junk<parameter name="query">Rome</parameter>junk'),
            [("search", {"query": "Rome"}, MALFORMED)],
        ),
        (minimax('name="get_weather"><parameter name="days">x</parameter>'), [("get_weather", {"days": "x"}, INVALID)]),
    ],
    **{
        key: [
            (opener, [(None, None, UNCLOSED)]),
            (
                f'{opener}[{{"name": "a"}}, {{"name": "b", "arguments": {{"x": 1}}}}]{closer}',
                [("a", {}, OK), ("b", {"x": 1}, OK)],
            ),
            (f'{opener} {{"name": "a"}} {closer}', [("a", {}, OK)]),
            (f'{opener}[{{"name": "a"}}]<|stop|>[{{"name": "b"}}]', [("a", {}, OK)]),
            (f'{opener}[{{"name": "a"}}, {{"name": "b", "argu', [("a", {}, OK), ("b", None, UNCLOSED)]),
            (f'{opener}[{{"name": "a", "arguments": {{}}', [("a", {}, UNCLOSED)]),
            (f'{opener}[{{"tool_name": "a", "parameters": {{"x": 1}}}}]', [("a", {"x": 1}, OK)]),
            (f'{opener}[{{"name": 1}}, {{"x": 1}}]{closer}', [(None, {}, MISSING), (None, {}, MISSING)]),
            (f'{opener}[{{"name": "a", "arguments": [1]}}]{closer}', [("a", "[1]", INVALID)]),
            (f"{opener}junk<|stop|>", [(None, None, UNCLOSED if closer else INVALID)]),
            (f"{opener}[]{closer}<|stop|>", [(None, None, MISSING)]),
        ]
        for key, opener, closer in LISTS
    },
    "apertus": [
        ('<|tools_prefix|>[{"a": {"x": 1}}, {"b": {}}]<|tools_suffix|>', [("a", {"x": 1}, OK), ("b", {}, OK)]),
        ('<|tools_prefix|>[{"a": {"x": 1}', [("a", {"x": 1}, UNCLOSED)]),
        ('<|tools_prefix|>[{"a": {}, "b": {}}, {"c": [1]}]<|stop|>', [(None, None, MISSING), ("c", "[1]", INVALID)]),
        ("<|tools_prefix|>junk<|tools_suffix|>", [(None, None, INVALID)]),
    ],
    "functionary": [
        ("<function=", [(None, None, UNCLOSED)]),
        ('<function=a>{"x": 1}', [("a", {"x": 1}, OK)]),
        ('<function=a>{"x": ', [("a", '{"x":', UNCLOSED)]),
        ("<function=a{}</function>", [(None, None, MALFORMED)]),
        ("<function=>{}</function>", [(None, {}, MISSING)]),
        ("<function=a>junk</function>", [("a", "junk", INVALID)]),
    ],
    "gigachat": [
        ('<|function_call|>{"name": "a", "arguments": {"x": 1}} and so on<|stop|>', [("a", {"x": 1}, OK)]),
        ('<|function_call|>{"name": "a", "arguments": {"x": 1}}', [("a", {"x": 1}, OK)]),
        ('<|message_sep|>\n\nfunction call<|role_sep|>\n{"name": "a"}<|stop|>', [("a", {}, OK)]),
        ('<|function_call|>{"name": "a", "argu<|stop|>', [("a", None, INVALID)]),
        ('<|function_call|>{"name": "a", "argu', [("a", None, UNCLOSED)]),
    ],
    **{
        key: [
            (opener, [(None, None, UNCLOSED)]),
            (
                f"{opener}[a(), b(x=[1, None, true], y={{'z': ('u',)}})]{closer}",
                [("a", {}, OK), ("b", {"x": [1, None, True], "y": {"z": ["u"]}}, OK)],
            ),
            (f"{opener}a(x=07)\nb(y=.5){closer}", [("a", {"x": 7}, OK), ("b", {"y": 0.5}, OK)]),
            (f"{opener}[sh(command='echo 'hi', it's')]{closer}", [("sh", {"command": "echo 'hi', it's"}, OK)]),
            (f"{opener}[a(city=New York, days=3)]{closer}", [("a", {"city": "New York", "days": 3}, INVALID)]),
            (f"{opener}[search(query=New York)]{closer}", [("search", {"query": "New York"}, OK)]),
            (f"{opener}[get_weather(days=int(3))]{closer}", [("get_weather", {"days": "int(3)"}, MALFORMED)]),
            (f"{opener}[get_weather(days=three)]{closer}", [("get_weather", {"days": "three"}, INVALID)]),
            # A parenthesis is missing: never a call that looks right.
            (
                f"{opener}[get_weather(days=3, search(query='a')]{closer}",
                [("get_weather", {"days": "3, search(query='a'"}, MALFORMED)],
            ),
            (
                f"{opener}[get_weather(city='Rome', search(query='a')]{closer}",
                [("get_weather", {"city": "Rome', search(query='a"}, MALFORMED)],
            ),
            (f"{opener}[a(x={{'u', 'v'}})]{closer}", [("a", {"x": ["u", "v"]}, OK)]),
            (f'{opener}[{{"name": "a", "arguments": {{"x": 1}}}}]{closer}', [("a", {"x": 1}, OK)]),
            (f"{opener}[a(x=1), b(y='c", [("a", {"x": 1}, OK), ("b", None, UNCLOSED)]),
            (f"{opener}[a(x=1), b(y=]{closer}", [("a", {"x": 1}, OK), ("b", None, INVALID)]),
            (f"{opener}[a(1)]{closer}", [("a", None, INVALID)]),
            (f"{opener}[]{closer}", [(None, None, INVALID)]),
            (f"{opener}[a()]<|stop|>", [("a", {}, OK)]),
        ]
        for key, opener, closer in (
            ("lfm2", "<|tool_call_start|>", "<|tool_call_end|>"),
            ("olmo", "<function_calls>", "</function_calls>"),
        )
    },
    "pythonic": [
        ("[a(x=1), b(y='c')]", [("a", {"x": 1}, OK), ("b", {"y": "c"}, OK)]),
        ("<|python_start|>[a(x=1)]<|python_end|><|stop|>", [("a", {"x": 1}, OK)]),
        ("Look: <|python_start|>[a(x=1)]<|python_end|>", [("a", {"x": 1}, OK)]),
        ("[search()]", [("search", {}, OK)]),
        ("[unheard_of()]", []),
        ("[a(x=1)] and more", []),
        ("Look: [a(x=1)]", []),
        ("[search(query='Ro", [("search", None, UNCLOSED)]),
        ("[search(query='Ro<|stop|>", [("search", None, INVALID)]),
        ("[unheard_of(query='Ro", []),
        ("[f(x)]", []),
        ("[1, 2]", []),
        ("[link](https://example.org)", []),
    ],
    "xlam": [
        ('[{"name": "a", "arguments": {"x": 1}}, {"name": "search"}]', [("a", {"x": 1}, OK), ("search", {}, OK)]),
        ('{"name": "a", "arguments": {}}', [("a", {}, OK)]),
        ('```json\n[{"name": "a", "arguments": {}}]\n```', [("a", {}, OK)]),
        ('[TOOL_CALLS][{"name": "a", "arguments": {}}]', [("a", {}, OK)]),
        ('Look: <tool_call>[{"name": "a", "arguments": {}}]</tool_call>', [("a", {}, OK)]),
        ('[{"name": "Bob"}]', []),
        ('[{"name": "a", "arguments": {}}] and more', []),
        ('[{"name": "search", "argu', [("search", None, UNCLOSED)]),
        ('[{"name": "b", "argu', []),
        ("[1, 2]", []),
        ("[]", []),
    ],
    "mistral": [
        ("[TOOL_CALLS]", [(None, {}, UNCLOSED)]),
        ("[TOOL_CALLS]a", [("a", {}, UNCLOSED)]),
        ("[TOOL_CALLS]a<|stop|>", [("a", {}, OK)]),
        ('[TOOL_CALLS]a[ARGS]{"x": 1}', [("a", {"x": 1}, OK)]),
        ('[TOOL_CALLS]a[ARGS]{"x": 1', [("a", '{"x": 1', UNCLOSED)]),
        ('[TOOL_CALLS]a[ARGS]{"x": 1<|stop|>', [("a", '{"x": 1', INVALID)]),
        ('[TOOL_CALLS]a{"x": 1}[TOOL_CALLS]b[ARGS]{}<|stop|>', [("a", {"x": 1}, OK), ("b", {}, OK)]),
        ('[TOOL_CALLS]a{"x": "[ARGS]"}<|stop|>', [("a", {"x": "[ARGS]"}, OK)]),
        ('[TOOL_CALLS]a[CALL_ID]0123456ab[ARGS]{"x": 1}<|stop|>', [("a", {"x": 1}, OK)]),
        ('[TOOL_CALLS]a[ARGS]{"x": 1} and then<|stop|>', [("a", {"x": 1}, OK)]),
        ('[TOOL_CALLS]{"x": 1}<|stop|>', [(None, {"x": 1}, MISSING)]),
        ('[TOOL_CALLS][ARGS]{"x": 1}<|stop|>', [(None, {"x": 1}, MISSING)]),
        ("[TOOL_CALLS]a[ARGS][1]<|stop|>", [("a", "[1]", INVALID)]),
        ('[TOOL_CALLS]a[ARGS] "P", "days": 2}<|stop|>', [("a", '"P", "days": 2}', INVALID)]),
        (
            '[TOOL_CALLS] [{"name": "a", "arguments": {}}, {"name": "b", "arguments": {}}]<|stop|>',
            [("a", {}, OK), ("b", {}, OK)],
        ),
        ('[TOOL_CALLS] [{"name": "a"}, {"name": "b"', [("a", {}, OK), ("b", None, UNCLOSED)]),
        ('[TOOL_CALLS][{"name": "a", "arguments": {}}] And so on.', [("a", {}, OK)]),
    ],
    "mistral_list": [
        ('[TOOL_CALLS]a[ARGS]{"x": 1}[TOOL_CALLS]b{}<|stop|>', [("a", {"x": 1}, OK), ("b", {}, OK)]),
        ('[TOOL_CALLS]a[CALL_ID]0123456ab[ARGS]{"x": 1} and', [("a", {"x": 1}, OK)]),
        ('[TOOL_CALLS]a[ARGS]{"x": 1', [("a", '{"x": 1', UNCLOSED)]),
        ("[TOOL_CALLS]", [(None, {}, UNCLOSED)]),
    ],
    "hy3": [
        ("<tool_calls:opensource>", [(None, None, UNCLOSED)]),
        (
            hy3("search<tool_sep*>\n<arg_key*>query</arg_key*>\n<arg_value*>Rome</arg_value*>\n"),
            [("search", {"query": "Rome"}, OK)],
        ),
        (hy3("search<tool_sep*>"), [("search", {}, OK)]),
        (hy3("search"), [("search", {}, OK)]),
        (hy3("search<tool_sep*>junk<arg_key*>"), [("search", {}, MALFORMED)]),
        (hy3("<tool_sep*>"), [(None, {}, MISSING)]),
        (hy3("unheard_of<tool_sep*>"), [("unheard_of", {}, UNKNOWN)]),
        (hy3("get_weather<tool_sep*><arg_key*>days</arg_key*><arg_value*>3"), [("get_weather", {}, MALFORMED)]),
        ("<tool_calls><tool_call>search<tool_sep></tool_call></tool_calls>", []),
    ],
    "hy3_plain": [
        (hy3("search<tool_sep*>", ""), [("search", {}, OK)]),
        (hy3("search<tool_sep*><arg_key*>a</arg_key*><arg_value*>b</arg_value*>", ""), [("search", {"a": "b"}, OK)]),
        ("<tool_calls><tool_call>search<tool_sep>", [("search", {}, UNCLOSED)]),
    ],
    "minimax_m3": [
        (minimax_m3('name="search">*<query>Rome*</query>'), [("search", {"query": "Rome"}, OK)]),
        (
            minimax_m3('name="search">*<a>*<item>1*</item>*<item>*<b>x*</b>*</item>*</a>*<c>*<item>2*</item>*</c>'),
            [("search", {"a": [1, {"b": "x"}], "c": [2]}, OK)],
        ),
        (
            minimax_m3('name="search">*<query>a*</query>*<query>b*</query>'),
            [("search", {"query": "b"}, MALFORMED)],
        ),
        (
            minimax_m3('name="search">*<a>*<b>1*</b>*<b>2*</b>*</a>'),
            [("search", {"a": {"b": 2}}, MALFORMED)],
        ),
        (minimax_m3('name="get_weather">*<days>three*</days>'), [("get_weather", {"days": "three"}, INVALID)]),
        (minimax_m3('name="get_weather">*<days>*<a>3*</a>*</days>'), [("get_weather", {"days": {"a": 3}}, INVALID)]),
        (minimax_m3('name="search">*<query>Rome'), [("search", {"query": "Rome"}, MALFORMED)]),
        (minimax_m3('name="search">*<a>*<b>1*</a>*<c>2*</c>'), [("search", {"a": {"b": 1}, "c": 2}, MALFORMED)]),
        (minimax_m3('name="search">*</a>*<query>Rome*</query>'), [("search", {"query": "Rome"}, MALFORMED)]),
        (minimax_m3('name="search">*<query>Rome*</query>junk'), [("search", {"query": "Rome"}, MALFORMED)]),
        (minimax_m3('name="search">*junk*<query>Rome*</query>'), [("search", {"query": "Rome"}, MALFORMED)]),
        (minimax_m3('name="search">*<a>1*</a>*<a>2*</a>'), [("search", {"a": 2}, MALFORMED)]),
        (minimax_m3('name="search">'), [("search", {}, OK)]),
        (minimax_m3('name="unheard_of">'), [("unheard_of", {}, UNKNOWN)]),
        (minimax_m3('name="">'), [(None, {}, MISSING)]),
    ],
    "step3": [
        (
            step3(
                '<steptml:invoke name="search"><steptml:parameter name="query">Rome</steptml:parameter>'
                "</steptml:invoke>"
            ),
            [("search", {"query": "Rome"}, OK)],
        ),
        (step3('function<｜tool_sep｜><steptml:invoke name="search"></steptml:invoke>'), [("search", {}, OK)]),
        (step3('junk<｜tool_sep｜><steptml:invoke name="search"></steptml:invoke>'), [("search", {}, MALFORMED)]),
        (step3('<steptml:invoke name="'), [(None, None, MALFORMED)]),
        (step3(""), [(None, None, MALFORMED)]),
    ],
    "gemma": [
        (gemma("call:search{\"query\":*Rome*, 'days' : 3}"), [("search", {"query": "Rome", "days": 3}, OK)]),
        (gemma('call:search{"query:*Rome*}'), [("search", {}, MALFORMED)]),
        (gemma("call:search{a:1,b,c:*Rome*}"), [("search", {"a": 1}, MALFORMED)]),
        (gemma('call:search{"query":"a b"}'), [("search", {"query": "a b"}, OK)]),
        (
            gemma(r'call:get_weather{city:"a, \"é\u00df}" , days: "2"}'),
            [("get_weather", {"city": 'a, "éß}', "days": 2}, OK)],
        ),
        (gemma(r"call:search{a:'it\'s, ok',b:['x','y']}"), [("search", {"a": "it's, ok", "b": ["x", "y"]}, OK)]),
        (
            gemma('call:get_weather{city:"Rome" now,days:2}'),
            [("get_weather", {"city": 'Rome" now,days:2}'}, MALFORMED)],
        ),
        (gemma('call:get_weather{city:"Rome}'), [("get_weather", {"city": "Rome}"}, MALFORMED)]),
        (gemma(r'call:get_weather{city:"\q"}'), [("get_weather", {"city": r"\q"}, MALFORMED)]),
        (gemma('call:get_weather{days:"three"}'), [("get_weather", {"days": "three"}, INVALID)]),
        ("<|tool_call>", [(None, None, UNCLOSED)]),
        ('<|tool_call>call:search{query:<|"|>Rome', [("search", {"query": "Rome"}, UNCLOSED)]),
        ('<|tool_call>call:search{query:<|"|>Rome<|"|>', [("search", {"query": "Rome"}, UNCLOSED)]),
        ('<|tool_call>call:search{query:Rome<|"|>}<tool_call|>', [("search", {"query": 'Rome<|"|>'}, MALFORMED)]),
        ("<|tool_call>call:search{query:", [("search", {"query": ""}, UNCLOSED)]),
        (gemma(""), [(None, None, MALFORMED)]),
        (gemma("call:"), [(None, None, MALFORMED)]),
        (gemma("call:search"), [("search", None, MALFORMED)]),
        (gemma("call:search{query:*a*,query:*b*}"), [("search", {"query": "b"}, MALFORMED)]),
        (gemma("call:{}"), [(None, {}, MISSING)]),
        (gemma("search{}"), [("search", {}, MALFORMED)]),
        (gemma("call:search{}"), [("search", {}, OK)]),
        (gemma(" call:search { } \n"), [("search", {}, OK)]),
        (gemma("call:search{} junk"), [("search", {}, MALFORMED)]),
        (gemma("call:unheard_of{a:1}"), [("unheard_of", {"a": 1}, UNKNOWN)]),
        (
            gemma("call:search{a: [1 , *x,}]* , {*b*:null}],c:-0.5,d:None,e:{f:{}},g:[]}"),
            [("search", {"a": [1, "x,}]", {"b": None}], "c": -0.5, "d": None, "e": {"f": {}}, "g": []}, OK)],
        ),
        (gemma("call:search{query:*Rome*,}"), [("search", {"query": "Rome"}, OK)]),
        (gemma("call:search{query:*Rome"), [("search", {"query": "Rome"}, MALFORMED)]),
        (gemma("call:search{query:*Rome*"), [("search", {"query": "Rome"}, MALFORMED)]),
        (gemma("call:search{query:*Rome*days:3}"), [("search", {"query": "Rome"}, MALFORMED)]),
        (gemma("call:search{query}"), [("search", {}, MALFORMED)]),
        (gemma("call:search{*query*}"), [("search", {}, MALFORMED)]),
        (gemma("call:search{a:[1,[2}"), [("search", {"a": [1, [2]]}, MALFORMED)]),
        (gemma("call:search{a:1,a:2}"), [("search", {"a": 2}, MALFORMED)]),
        # A word without quotes is a string only if the schema says so.
        (gemma("call:get_weather{city:Rome,days:3}"), [("get_weather", {"city": "Rome", "days": 3}, OK)]),
        (gemma("call:search{a:Rome}"), [("search", {"a": "Rome"}, INVALID)]),
        (gemma("call:get_weather{city:12345,days:*3*}"), [("get_weather", {"city": "12345", "days": 3}, OK)]),
        (gemma("call:get_weather{days:three}"), [("get_weather", {"days": "three"}, INVALID)]),
        (gemma("call:get_weather{days:[3]}"), [("get_weather", {"days": [3]}, INVALID)]),
    ],
    "functiongemma": [
        (
            "<start_function_call>call:get_weather{days:<escape>3<escape>}<end_function_call>",
            [("get_weather", {"days": 3}, OK)],
        ),
        ("<start_function_call>call:get_weather{days:<escape>3", [("get_weather", {"days": 3}, UNCLOSED)]),
    ],
    "llama": [
        ('<|python_tag|>brave_search.call(query="Rome")<|stop|>', [("brave_search", {"query": "Rome"}, OK)]),
        ('<|python_tag|>search.call(query="Rome"); 1<|stop|>', []),
        ('<|python_tag|>print("Rome")<|stop|>', []),
        (
            '<|python_tag|>a.call(x="1");\nb.call(y=2)<|stop|>',
            [("a", {"x": "1"}, OK), ("b", {"y": 2}, OK)],
        ),
        ('<|python_tag|>a.call(x=1); search.call(query="Ro', [("a", {"x": 1}, OK), ("search", None, UNCLOSED)]),
        ('<|python_tag|>search.call(query="Ro', [("search", None, UNCLOSED)]),
        ('<|python_tag|>search.call(query="Ro<|stop|>', [("search", None, MALFORMED)]),
        ('<|python_tag|>a.call(x="1', []),
        ('{"name": "a"', []),
        ('{"name": "a"} and more', []),
        ('Look: {"name": "a"}', []),
        ('{"x": 1}', []),
        ('{"name": ""}', []),
        ('{"name": "a"} {"name": "b"}', []),
        ('{"name": "a"};', []),
        ('{"name": "a"}; junk', []),
        ('{"name": "search"} ;\n{"name": "b", "parameters": {"x": 1}}', [("search", {}, OK), ("b", {"x": 1}, OK)]),
        ('<|python_tag|>{"name": "search"}<|stop|>', [("search", {}, OK)]),
        # An answer, not a call: no parameters, and no tool of that name.
        ('{"name": "Bob", "age": 3}', []),
        ('{"name": "a", "arguments": {"x": 1}}', [("a", {"x": 1}, OK)]),
        ('{"name": "a", "parameters": {"x": 1}, "arguments": {"x": 2}}', [("a", {"x": 1}, OK)]),
        ('{"name": "a", "parameters": null}', [("a", {}, OK)]),
        ('{"name": "a", "parameters": "{}"}', [("a", {}, OK)]),
        ('{"name": "a", "parameters": [1]}', [("a", "[1]", INVALID)]),
        (
            '{"name": "a", "parameters": 1}; {"name": "b", "arguments": [2]}',
            [("a", "1", INVALID), ("b", "[2]", INVALID)],
        ),
        ('{"name": "a", "parameters": {"x": 1, "x": 2}}', [("a", {"x": 2}, OK)]),
    ],
    "harmony": [
        (
            'commentary to=functions.search <|constrain|>json<|message|>{"query": "x"}<|call|>',
            [("search", {"query": "x"}, OK)],
        ),
        ("<|start|>assistantcommentary to=functions.a<|message|>{}<|call|>", [("a", {}, OK)]),
        ("<|channel|>commentary to=functions.a <|constrain|>json", [("a", {}, UNCLOSED)]),
        ("<|channel|>commentary to=functions.a <|constrain|>json<|message|>{", [("a", "{", UNCLOSED)]),
        (" to=functions.a<|channel|>commentary json<|message|>{}<|call|>", [("a", {}, OK)]),
        ("<|start|>assistant to=functions.a<|channel|>analysis<|message|>{}<|call|>", [("a", {}, OK)]),
        (harmony(" to=functions.a", '{"x": 1}'), [("a", {"x": 1}, OK)]),
        (harmony(" to=functions.", "{}"), [(None, {}, MISSING)]),
        (harmony(" to=functions. a", "{}"), [(None, {}, MISSING)]),
        (harmony(" to=browser.search", "{}"), [("browser.search", {}, OK)]),
        (harmony(" to=a", '{"x": 1}'), [("a", {"x": 1}, OK)]),
        (harmony(" to=math.sum", "{}"), [("math.sum", {}, OK)]),
        (harmony(" to=python code", "print(1)"), [("python", "print(1)", OK)]),
        (harmony(" to=assistant", "{}"), []),
        (harmony(" to=user", "{}"), []),
        (harmony("", "{}"), []),
        (harmony(" to=functions.a", ""), [("a", {}, OK)]),
        (harmony(" to=functions.a", "junk"), [("a", "junk", INVALID)]),
        (harmony(" to=functions.a", " \n"), [("a", {}, OK)]),
        (harmony(" to=functions.a", "null"), [("a", {}, OK)]),
        (harmony(" to=functions.a", '"{}"'), [("a", {}, OK)]),
        # Another message begins: the completion did not end within the call.
        (harmony(" to=functions.a", "{}").replace("<|call|>", "<|start|>assistant"), [("a", {}, OK)]),
        (harmony(" to=functions.a", '{"x": 1, "x": 2}'), [("a", {"x": 2}, OK)]),
        (harmony(" to=functions.a", "{}") + harmony(" to=functions.b", "[]"), [("a", {}, OK), ("b", "[]", INVALID)]),
    ],
}
"""Calls that a model got wrong or wrote in another way, and the parsed results."""


def test_every_tool_format_has_a_table_of_broken_calls() -> None:
    assert BROKEN.keys() == TOOL_FORMATS.keys()
    assert all(BROKEN.values())


@pytest.mark.parametrize(("key", "text", "expected"), [(key, *row) for key, rows in BROKEN.items() for row in rows])
def test_a_broken_call_gives_everything_that_can_be_parsed(key: str, text: str, expected: list[Read]) -> None:
    assert read_calls(key, text, TOOLS, marks=False) == expected
    assert read_calls(key, text, TOOLS, marks=True) == expected


WITH_ARGUMENTS: dict[str, Callable[[str], str]] = {
    "hermes": lambda value: hermes(f'{{"name": "a", "arguments": {value}}}'),
    "llama": lambda value: f'{{"name": "a", "parameters": {value}}}',
    "kimi": lambda value: kimi(f"functions.a:0<|tool_call_argument_begin|> {value} "),
    "deepseek_v3": lambda value: deepseek(f"function<｜tool▁sep｜>a\n```json\n{value}\n```"),
    "deepseek_v31": lambda value: deepseek(f"a<｜tool▁sep｜>{value}"),
    "mistral": lambda value: f"[TOOL_CALLS]a[ARGS]{value}<|stop|>",
    "mistral_list": lambda value: f'[TOOL_CALLS][{{"name": "a", "arguments": {value}}}]',
    "harmony": lambda value: harmony(" to=functions.a", f" {value}\n"),
}
"""A call with a JSON value as its arguments, in the formats with JSON arguments."""


@pytest.mark.parametrize("key", WITH_ARGUMENTS)
@pytest.mark.parametrize(
    ("value", "arguments", "status"),
    [
        ('{"x": 1}', {"x": 1}, OK),
        ("null", {}, OK),
        (r'"{\"x\": \u0031}"', {"x": 1}, OK),
        ('""', {}, OK),
        ('" "', {}, OK),
        ('"Paris"', '"Paris"', INVALID),
        (r'"[\"Paris\"]"', r'"[\"Paris\"]"', INVALID),
        (r'"\"{}\""', r'"\"{}\""', INVALID),
        ('[1,  "é]"]', '[1,  "é]"]', INVALID),
        ("[]", "[]", INVALID),
        ("-1.50e+3", "-1.50e+3", INVALID),
        ("NaN", "NaN", INVALID),
        ("true", "true", INVALID),
    ],
)
def test_arguments_that_are_not_an_object_are_treated_alike(
    key: str, value: str, arguments: Any, status: ToolCallParseStatus
) -> None:
    for marks in (True, False):
        assert read_calls(key, WITH_ARGUMENTS[key](value), None, marks=marks) == [("a", arguments, status)]


WITH_NAME: dict[str, Callable[[str], str]] = {
    "hermes": lambda name: hermes(json.dumps({"name": name, "arguments": {}})),
    "glm": glm,
    "kimi": lambda name: kimi(f"{name}<|tool_call_argument_begin|>{{}}"),
    "mistral": lambda name: f"[TOOL_CALLS]{name}[ARGS]{{}}<|stop|>",
    "deepseek_v31": lambda name: deepseek(f"{name}<｜tool▁sep｜>{{}}"),
}
"""A call without arguments of a tool."""


@pytest.mark.parametrize("key", WITH_NAME)
@pytest.mark.parametrize("name", ["get weather, please", "a\nb", 'search"', "search\\", "a<b", "I will now call it"])
def test_a_text_that_is_not_a_name_is_malformed_unless_a_tool_has_it(key: str, name: str) -> None:
    call = WITH_NAME[key](name)
    assert read_calls(key, call, None) == [(name, {}, MALFORMED)]
    assert read_calls(key, call, [{"name": name}]) == [(name, {}, OK)]


def test_a_recipient_with_quotes_and_a_name_with_arguments_after_it_are_malformed() -> None:
    assert read_calls("harmony", harmony(' to=functions.search"', "{}"), None) == [('search"', {}, MALFORMED)]
    assert read_calls("glm", glm('search\n{"query": 1}\n'), None) == [('search\n{"query": 1}', {}, MALFORMED)]


FENCED = ["harmony", "kimi", "mistral", "deepseek_v3", "deepseek_v31"]
"""Formats with the arguments as a text of their own."""


@pytest.mark.parametrize("key", FENCED)
@pytest.mark.parametrize("fences", ["```json\n{}\n```", "```{}```", " ```json {} ``` "])
def test_arguments_can_be_between_code_fences(key: str, fences: str) -> None:
    call = WITH_ARGUMENTS[key](fences.replace("{}", '{"x": 1}'))
    for marks in (True, False):
        assert read_calls(key, call, None, marks=marks) == [("a", {"x": 1}, OK)]


def test_many_arguments_that_are_not_closed_take_linear_time() -> None:
    text = ' tool="a"<|sep|>' + '<|open|>argument key="x"<|sep|>' * 100_000
    call = TOOL_FORMATS["kimi_k3"].read(Payload(text, str, str, NO_SCHEMAS))
    assert (call.name, call.status) == ("a", MALFORMED)


def test_a_name_is_unknown_only_if_there_are_tools() -> None:
    call = glm("unheard_of")
    assert read_calls("glm", call, None) == read_calls("glm", call, []) == [("unheard_of", {}, OK)]


def test_a_call_outside_of_a_section_counts_if_its_marker_is_a_token() -> None:
    call = kimi("functions.a:0<|tool_call_argument_begin|>{}")[len("<|tool_calls_section_begin|>") :]
    assert read_calls("kimi", call, None, marks=True) == [("a", {}, OK)]
    assert read_calls("kimi", call, None, marks=False) == []


@pytest.mark.parametrize("marks", [True, False])
def test_text_after_the_arguments_of_mistral_is_skipped_text(marks: bool) -> None:
    reader = reader_of_bytes(grammar_of("mistral"), marks=marks)
    first, second = '[TOOL_CALLS]a[ARGS]{"x": 1} I will wait.', '[TOOL_CALLS]b[ARGS]{"x": 2}\n<|stop|>'
    response = read(reader, [reader.encode(first + second)]).response
    assert [(call.name, call.arguments, call.status) for call in response.tool_calls] == [
        ("a", {"x": 1}, OK),
        ("b", {"x": 2}, OK),
    ]
    (skipped,) = response.skipped
    assert (skipped.text, skipped.reason) == ("I will wait.", "beside tool calls")
    tokens = reader.encode(first + second)[skipped.start : skipped.end]
    assert tokens == reader.encode("I will wait.")
    assert response.tool_calls[0].token_span == (0, skipped.start - 1)


UNMARKED = "<function=search>\n<parameter=query>\nRome\n</parameter>\n</function>"


@pytest.mark.parametrize(
    ("text", "content", "calls"),
    [
        (UNMARKED, "", [("search", {"query": "Rome"}, OK)]),
        (f"Look.\n{UNMARKED}\n</tool_call>", "Look.", [("search", {"query": "Rome"}, OK)]),
        (f"{UNMARKED}\n{UNMARKED}", "", [("search", {"query": "Rome"}, OK)] * 2),
        ("<function=search>\n<parameter=query>\nRo", "", [("search", {"query": "Ro"}, UNCLOSED)]),
        # Text that only looks like a call.
        ("Write <function=name> here.", "Write <function=name> here.", []),
        ("<function=search", "<function=search", []),
        ("<function=\nsearch\n>", "<function=\nsearch\n>", []),
    ],
)
def test_a_call_without_markers_is_a_call_if_it_names_a_tool(text: str, content: str, calls: list[Read]) -> None:
    for marks in (True, False):
        reader = reader_of_bytes(grammar_of("qwen_xml"), tools=TOOLS, marks=marks)
        response = read(reader, [reader.encode(text)]).response
        assert response.content == content
        assert [(call.name, call.arguments, call.status) for call in response.tool_calls] == calls
        assert not response.skipped
    without_tools = reader_of_bytes(grammar_of("qwen_xml"), marks=False)
    assert read(without_tools, [without_tools.encode(text)]).response.tool_calls == []


ENDS_REASONING = [
    key
    for key, tool_format in TOOL_FORMATS.items()
    if tool_format.ends_reasoning and tool_format.call and tool_format.layout in (TurnLayout.MARKERS, TurnLayout.LISTS)
]


@pytest.mark.parametrize("key", ENDS_REASONING)
@pytest.mark.parametrize("marks", [True, False], ids=["tokens", "bytes"])
def test_reasoning_that_quotes_a_call_is_not_a_call(key: str, marks: bool) -> None:
    reader = reader_of_bytes(grammar_of(key), marks=marks)
    call = format_calls(key, [Call("a", {})])
    for quoted in (call, call[: call.index("a")], TOOL_FORMATS[key].section or TOOL_FORMATS[key].call):
        text = quoted if isinstance(quoted, str) else (quoted or ("",))[0]
        response = read(reader, [reader.encode(f"<think>\nI write {text} now.\n</think>\n\nDone.")]).response
        assert (response.reasoning_content, response.content) == (f"I write {text} now.", "Done.")
        assert response.tool_calls == []


def test_a_marker_that_is_a_word_does_not_end_reasoning() -> None:
    reader = reader_of_bytes(grammar_of("phi4_mini"), marks=True)
    text = "I need functools.cache here."
    response = read(reader, [reader.encode(f"<think>\n{text}")]).response
    assert (response.reasoning_content, response.content, response.tool_calls) == (text, "", [])


@pytest.mark.parametrize("key", ENDS_REASONING)
def test_a_call_ends_reasoning_that_is_not_closed(key: str) -> None:
    reader = reader_of_bytes(grammar_of(key), marks=True)
    text = "<think>\nHm." + format_calls(key, [Call("a", {})])
    response = read(reader, [reader.encode(text)]).response
    assert (response.reasoning_content, response.content) == ("Hm.", "")
    assert [(call.name, call.status) for call in response.tool_calls] == [("a", OK)]
