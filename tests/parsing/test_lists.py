"""Lists of calls are scanned call by call, and a turn that is nothing but calls needs no markers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from operator import index
from typing import Any, SupportsIndex

import pytest

from renderers import (
    ContentDelta,
    Region,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallParseStatus,
    create_renderer,
    load_tokenizer,
)
from renderers.parsing.lists import ListScanner
from renderers.parsing.parser import ResponseParser
from renderers.parsing.pieces import NO_PIECES
from renderers.parsing.schema import ToolSchemas
from renderers.parsing.tool_formats import TOOL_FORMATS, FoundCalls, Payload
from tests.support.call_formats import Call, format_calls
from tests.support.completions import grammar_of, one_by_one, reader_of_bytes
from tests.support.completions import read as read_chunks
from tests.support.responses import OK, ROME, TOOLS, said

LLAMA = '{"name": "get", "parameters": {"city": "Rome"}}'


BROKEN = ToolCallParseStatus.INVALID_JSON
MALFORMED = ToolCallParseStatus.MALFORMED_STRUCTURE


CUT_OFF = ToolCallParseStatus.UNCLOSED_BLOCK


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{LLAMA}<|eot_id|>", [("get", OK)]),
        (f"{LLAMA}\n{LLAMA}; {LLAMA}<|eot_id|>", [("get", OK)] * 3),
        (LLAMA[:-5], [("get", CUT_OFF)]),
        (f"{LLAMA[:-1]}<|eot_id|>", [("get", MALFORMED)]),
        (f"<|python_tag|>{LLAMA[:-1]}<|eom_id|>", [("get", MALFORMED)]),
        (f"{LLAMA}; {LLAMA[:-5]}", [("get", OK), ("get", CUT_OFF)]),
        ('{"name": "größe"}<|eot_id|>', [("größe", OK)]),
        ('{"name": "gr\\u00f6\\u00dfe"', [("größe", CUT_OFF)]),
        ('{"name": "gr\\u00f6ße"}<|eot_id|>', [("größe", OK)]),
        ('{"name": "Bob", "age": ', []),
        ('{"na', []),
    ],
)
def test_a_broken_call_of_llama_that_begins_with_the_name_of_a_tool_is_a_call(
    text: str, expected: list[Any], hub: object
) -> None:
    renderer = create_renderer(load_tokenizer("meta-llama/Llama-3.2-1B-Instruct"))
    tools = [*TOOLS, {"name": "größe", "parameters": {}}]
    ids = renderer.tokenizer.encode(text, add_special_tokens=False)
    parsed = renderer.parse_response(ids, tools=tools)
    assert [(call.name, call.status) for call in parsed.tool_calls] == expected
    assert bool(parsed.content) == (not expected)


def test_an_id_that_is_not_a_token_is_reported_within_a_call_of_llama(hub: object) -> None:
    renderer = create_renderer(load_tokenizer("meta-llama/Llama-3.2-1B-Instruct"))
    one, two = (renderer.tokenizer.encode(text, add_special_tokens=False) for text in (LLAMA, f"{LLAMA}; {LLAMA}"))
    for at in (3, len(one) - 3, len(one), len(two)):
        parsed = renderer.parse_response([*two[:at], -1, *two[at:]], tools=TOOLS)
        assert said(parsed) == ("", None, [ROME, ROME])
        assert [(skipped.start, skipped.end) for skipped in parsed.skipped] == [(at, at + 1)]


def test_a_call_of_llama_that_is_cut_off_is_open(hub: object) -> None:
    renderer = create_renderer(load_tokenizer("meta-llama/Llama-3.2-1B-Instruct"))
    ids = renderer.tokenizer.encode(LLAMA.replace("Rome", "voilà ")[:-3], add_special_tokens=False)
    parsed = renderer.parse_response(ids, tools=TOOLS)
    assert (parsed.state.region, parsed.tool_calls[0].raw[-6:]) == (Region.CALL, "voilà ")
    prompt = renderer.render_ids([{"role": "user", "content": "Hi"}], tools=TOOLS, add_generation_prompt=True)
    bridge = renderer.bridge(prompt, ids, [{"role": "user", "content": "Go on."}], tools=TOOLS)
    assert not getattr(bridge, "keeps", False)


def test_a_tool_may_have_any_name(hub: object) -> None:
    renderer = create_renderer(load_tokenizer("meta-llama/Llama-3.2-1B-Instruct"))
    tools = [{"name": "\ud800", "parameters": {}}]
    ids = renderer.tokenizer.encode(LLAMA, add_special_tokens=False)
    assert said(renderer.parse_response(ids, tools=tools)) == ("", None, [ROME])


def find_calls(text: str, tools: Sequence[str] = ()) -> FoundCalls | None:
    find = TOOL_FORMATS["llama"].find
    assert find is not None
    return find(Payload(text, str, str, ToolSchemas([{"name": name} for name in tools])))


def test_a_turn_is_calls_only_if_all_of_it_is() -> None:
    call = '{"name": "a", "parameters": {}}'
    found = find_calls(f" {call};{call}\n")
    assert found is not None
    assert found[:3] == ([(1, 32), (33, 64)], False, ("several_calls",))
    assert find_calls(f"{call} {call}") is find_calls(f"{call}, more") is find_calls("[1]") is find_calls("") is None
    assert find_calls("null", ["a"]) is find_calls('{"name": null, "parameters": {}}') is None


def test_a_broken_call_has_a_name_if_the_name_is_valid() -> None:
    assert find_calls('{"name": "a", "parameters": {', ["a"]) == FoundCalls([(0, 29)], True, (), [])
    assert find_calls(r'{"name": "\ud800", "parameters": {', ["a"]) is find_calls('{"name": "b', ["b"]) is None


def test_a_marker_before_a_bare_call_may_arrive_in_pieces() -> None:
    reader = reader_of_bytes(grammar_of("llama"), marks=False)
    ids = reader.encode('<|python_tag|>{"name": "a", "parameters": {}}')
    assert [call.name for call in read_chunks(reader, one_by_one(ids)).response.tool_calls] == ["a"]


def test_each_call_of_a_list_has_its_own_text_and_tokens() -> None:
    reader = reader_of_bytes(grammar_of("jamba"), marks=True)
    text = 'Look:\n<tool_calls>[{"name": "a"}, {"name": "b", "arguments": 1}]</tool_calls><|stop|>'
    response = read_chunks(reader, [reader.encode(text)]).response
    assert [(call.raw, call.status) for call in response.tool_calls] == [
        ('{"name": "a"}', OK),
        ('{"name": "b", "arguments": 1}', BROKEN),
    ]
    assert [call.token_span for call in response.tool_calls] == [(8, 21), (23, 52)]
    assert response.tool_calls[1].text == '\n<tool_calls>{"name": "b", "arguments": 1}</tool_calls>'
    assert (response.content, response.skipped) == ("Look:", ())


def test_text_beside_the_calls_of_a_list_is_skipped() -> None:
    reader = reader_of_bytes(grammar_of("jamba"), marks=True)
    text = '<tool_calls>First {"name": "a"}, then\n```json\n[{"name": "b"}]\n```</tool_calls>'
    response = read_chunks(reader, [reader.encode(text)]).response
    assert [call.name for call in response.tool_calls] == ["a", "b"]
    assert [skipped.text.strip(" \n`") for skipped in response.skipped] == ["First", "then\n```json\n["]


def test_calls_without_markers_can_follow_reasoning() -> None:
    reader = reader_of_bytes(grammar_of("llama"), marks=True)
    ids = reader.encode('<think>\nHm.\n</think>\n\n{"name": "a", "parameters": {}}<|stop|>')
    for chunks in ([ids], one_by_one(ids)):
        response = read_chunks(reader, chunks).response
        assert (response.reasoning_content, response.content) == ("Hm.", "")
        assert [call.name for call in response.tool_calls] == ["a"]


WITHIN = [
    (f"Look: {LLAMA} Then more.", "Look:  Then more.", [ROME]),
    (f"{LLAMA} and more", " and more", [ROME]),
    (f"Look:\n```json\n[{LLAMA}]\n```", "Look:", [ROME]),
    (f"Look: {LLAMA}, then ```x```", "Look: , then ```x```", [ROME]),
    (f"Look: {LLAMA}; {LLAMA} é", "Look:  é", [ROME, ROME]),
    (f"Look: {LLAMA[:-3]}", f"Look: {LLAMA[:-3]}", []),
    (f"A {{ or [ or ``` or {{}} {LLAMA}", "A { or [ or ``` or {} ", [ROME]),
    ('Say {"name": "get"} or {"name": "Bob", "arguments": {}}.', None, []),
    ('Say {"name": "' + "x" * 300 + '", "arguments": {}}.', None, []),
    ('Say [{"name": "ge', None, []),
]


@pytest.mark.parametrize("key", ["llama", "xlam"])
@pytest.mark.parametrize(("text", "content", "calls"), WITHIN)
def test_json_within_an_answer_is_a_call_if_it_names_a_tool_of_the_prompt(
    text: str, content: str | None, calls: list[Any], key: str
) -> None:
    for tools, expected in ((TOOLS, (text if content is None else content, None, calls)), (None, (text, None, []))):
        reader = reader_of_bytes(grammar_of(key), tools=tools, marks=True)
        ids = reader.encode(text)
        parsed = read_chunks(reader, [ids]).response
        if tools or not text.startswith("{"):
            assert said(parsed) == expected
        assert read_chunks(reader, one_by_one(ids)).response == parsed


@pytest.mark.parametrize("key", ["llama", "xlam"])
def test_json_within_an_answer_can_name_a_tool_in_any_script(key: str) -> None:
    reader = reader_of_bytes(grammar_of(key), tools=[{"name": "größe", "parameters": {}}], marks=True)
    ids = reader.encode('Look: {"name": "größe", "arguments": {"ä": "é"}} é')
    parsed = read_chunks(reader, [ids]).response
    assert said(parsed) == ("Look:  é", None, [("größe", {"ä": "é"})])
    assert read_chunks(reader, one_by_one(ids)).response == parsed


@pytest.mark.parametrize("marks", [True, False])
@pytest.mark.parametrize("end", ["<|stop|>", ""])
@pytest.mark.parametrize(
    ("text", "content", "calls"),
    [
        (f"Look: <|python_tag|>{LLAMA}", "Look: ", [ROME]),
        (f"Look: <|python_tag|>\n{LLAMA}; {LLAMA} é", "Look:  é", [ROME, ROME]),
        (f"Look: <|python_tag|>```json\n{LLAMA}\n```", "Look: ", [ROME]),
        ('Look: <|python_tag|>get.call(city="Rome")', "Look: ", [ROME]),
        ('Look: <|python_tag|> a.call(x=1);b.call(y="é")', "Look: ", [("a", {"x": 1}), ("b", {"y": "é"})]),
        ("Look: <|python_tag|>print(1)", None, []),
        (f"Look: <|python_tag|>print(1) {LLAMA}", "Look: <|python_tag|>print(1) ", [ROME]),
        ("Look: <|python_tag|>a.call(x=1) and more", None, []),
        ('Look: <|python_tag|>{"name": "Bob", "arguments": {}}', None, []),
        ("Look: <|python_tag|>", None, []),
    ],
)
def test_the_marker_before_a_call_within_an_answer_is_not_content(
    text: str, content: str | None, calls: list[Any], end: str, marks: bool
) -> None:
    reader = reader_of_bytes(grammar_of("llama"), tools=TOOLS, marks=marks)
    ids = reader.encode(text + end)
    parsed = read_chunks(reader, [ids]).response
    assert said(parsed) == (text if content is None else content, None, calls)
    assert read_chunks(reader, one_by_one(ids)).response == parsed


def test_text_before_a_call_within_an_answer_is_emitted_at_once() -> None:
    reader = reader_of_bytes(grammar_of("llama"), tools=TOOLS, marks=True)
    reading = read_chunks(reader, one_by_one(reader.encode(f"Look: {LLAMA}")))
    deltas = [event.text for event in reading.events if isinstance(event, ContentDelta)]
    assert "".join(deltas) == "Look: "
    assert len(deltas) > 1


def test_many_braces_within_an_answer_take_linear_time() -> None:
    reader = reader_of_bytes(grammar_of("llama"), tools=TOOLS, marks=True)
    text = "a " + '{"name": "get", "arguments": {' * 20_000
    assert read_chunks(reader, [reader.encode(text)]).response.content == text


class CountedText(str):
    """A text that counts the characters that are searched in all such texts."""

    __slots__ = ()
    searched = 0

    def find(self, text: str, start: SupportsIndex | None = 0, end: SupportsIndex | None = None, /) -> int:
        position = super().find(text, start, end)
        last = len(self) if end is None else min(index(end), len(self))
        CountedText.searched += (position if position >= 0 else last) - index(start or 0)
        return position


@pytest.mark.parametrize("key", ["llama", "xlam"])
def test_a_name_after_many_braces_is_searched_for_once(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    begin = ListScanner.begin_unmarked_call

    def begin_counted(scanner: ListScanner, position: int, tag: str, final: bool) -> bool:
        if not isinstance(scanner.buffer.byte_text, CountedText):
            scanner.buffer.byte_text = CountedText(scanner.buffer.byte_text)
        return begin(scanner, position, tag, final)

    monkeypatch.setattr(ListScanner, "begin_unmarked_call", begin_counted)
    monkeypatch.setattr(CountedText, "searched", 0)
    reader = reader_of_bytes(grammar_of(key), tools=TOOLS, marks=True)
    text = "a" + "{a" * 2_000 + '"name"'
    parsed = ResponseParser(reader.compiled, reader.tools, prefill=NO_PIECES).close(reader.encode(f"{text}<|stop|>"))
    assert parsed.content == text
    assert 0 < CountedText.searched < 10 * len(text)


def test_a_stop_token_ends_text_that_could_begin_a_call() -> None:
    reader = reader_of_bytes(grammar_of("llama"), tools=TOOLS, marks=True)
    parser = ResponseParser(reader.compiled, reader.tools, prefill=NO_PIECES)
    parser.feed(reader.encode('Say {"name": "a<|stop|>'))
    assert parser.state.stop_token_id is not None


@pytest.mark.parametrize("key", ["jamba", "mistral_list", "command", "command_r", "granite", "phi4_mini", "apertus"])
def test_the_calls_of_a_json_list_are_emitted_as_they_arrive(key: str) -> None:
    reader = reader_of_bytes(grammar_of(key), marks=True)
    text = format_calls(key, [Call("look", {"city": "Rome"}), Call("find", {"query": "x"})])
    ids = reader.encode(text + "<|stop|>")
    parser = ResponseParser(reader.compiled, reader.tools, prefill=NO_PIECES)
    events = [(position, event) for position, token in enumerate(ids) for event in parser.feed([token])]
    ends = [position for position, event in events if isinstance(event, ToolCallEnd)]
    names = [position for position, event in events if isinstance(event, ToolCallDelta) and event.name is not None]
    assert len(ends) == len(names) == 2
    assert names[0] < ends[0] < names[1] < ends[1] < len(ids) - 2
    arguments = ["", ""]
    for _, event in events:
        if isinstance(event, ToolCallDelta):
            arguments[event.number] += event.arguments
    assert [json.loads(part) for part in arguments] == [{"city": "Rome"}, {"query": "x"}]
    assert [call.arguments for call in parser.close().tool_calls] == [{"city": "Rome"}, {"query": "x"}]


def test_an_object_of_a_list_that_is_not_json_goes_on_to_the_end_of_the_list() -> None:
    reader = reader_of_bytes(grammar_of("jamba"), marks=True)
    text = '<tool_calls>[{"name": "a", "arguments": {}}, {"name": "b", "arguments": {x}}, {"name": "c"}]</tool_calls>'
    for chunks in ([reader.encode(text)], [[token] for token in reader.encode(text)]):
        first, second = read_chunks(reader, chunks).response.tool_calls
        assert (first.name, first.status) == ("a", ToolCallParseStatus.OK)
        assert (second.name, second.status) == ("b", ToolCallParseStatus.INVALID_JSON)
        assert second.raw == '{"name": "b", "arguments": {x}}, {"name": "c"}]'


MISTRAL = '{"name": "get", "arguments": {"city": "Rome"}}'


@pytest.mark.parametrize("key", ["mistral", "mistral_list"])
@pytest.mark.parametrize("tools", [TOOLS, None])
@pytest.mark.parametrize(
    ("before", "skipped"),
    [
        ("```json\n[", []),
        ("```json\n", []),
        (": [", [": ["]),
        ("I think [ ", ["I think [ "]),
        ("calls:[", ["calls:["]),
        (" " * 300 + "[", []),
        (" " * 300, []),
    ],
)
def test_text_before_a_list_of_mistral_is_not_a_name(
    key: str, tools: Sequence[Any] | None, before: str, skipped: list[str]
) -> None:
    reader = reader_of_bytes(grammar_of(key), tools=tools, marks=True)
    ids = reader.encode(f"[TOOL_CALLS]{before}{MISTRAL}<|stop|>")
    parsed = read_chunks(reader, [ids]).response
    assert said(parsed) == ("", None, [ROME])
    assert [text.text for text in parsed.skipped] == skipped
    assert read_chunks(reader, one_by_one(ids)).response == parsed


@pytest.mark.parametrize("name", ["a[", "a[0]", "f(", "f()"])
def test_a_name_has_no_brackets(name: str) -> None:
    reader = reader_of_bytes(grammar_of("mistral"), marks=True)
    (call,) = read_chunks(reader, [reader.encode(f"[TOOL_CALLS]{name}[ARGS]{{}}<|stop|>")]).response.tool_calls
    assert call.status is MALFORMED


@pytest.mark.parametrize("text", [' text {"a": 1} more', ' See {"a": 1}.', f" text {MISTRAL}", " text {"])
@pytest.mark.parametrize(
    ("key", "written"),
    [
        ("mistral_list", f"[TOOL_CALLS][{MISTRAL}]*"),
        ("mistral", f"[TOOL_CALLS][{MISTRAL}]*"),
        ("jamba", f"<tool_calls>[{MISTRAL}]*</tool_calls>"),
        ("gigachat", f"<|function_call|>{MISTRAL}*"),
    ],
)
def test_json_in_text_after_a_list_is_not_a_call(key: str, written: str, text: str) -> None:
    for end in ("", "<|stop|>"):
        reader = reader_of_bytes(grammar_of(key), tools=TOOLS, marks=True)
        ids = reader.encode(written.replace("*", text) + end)
        parsed = read_chunks(reader, [ids]).response
        assert said(parsed) == ("", None, [ROME])
        assert [skipped.text for skipped in parsed.skipped] == [text.lstrip()]
        assert read_chunks(reader, one_by_one(ids)).response == parsed
