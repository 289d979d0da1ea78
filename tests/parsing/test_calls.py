"""A call has its name, its text and its tokens, even if it begins in the prompt."""

from __future__ import annotations

import pytest

from renderers import Region, ToolCallParseStatus
from tests.support import completions
from tests.support.completions import grammar_of, reader_of_bytes
from tests.support.responses import CALL, OK, embedded, read


@pytest.mark.parametrize("end", ["<｜tool▁calls▁end｜>", ""])
def test_the_text_of_a_section_without_calls_stays_in_the_message(end: str) -> None:
    text = f"<｜tool▁calls▁begin｜>function<｜tool▁sep｜>look\n{{}}{end}"
    reader = reader_of_bytes(grammar_of("deepseek_v3"), marks=True)
    response = completions.read(reader, [[token] for token in reader.encode(text)]).response
    assert [call.name for call in response.tool_calls] == [None]
    assert response.to_message() == {"role": "assistant", "content": text}


def test_a_call_that_begins_in_the_prompt_is_parsed() -> None:
    prompt = '<|turn|>assistant\n<|call|>{"name": "get", "arguments'
    (call,) = read('": {"city": "Rome"}}<|/call|><|end|>', prompt=prompt).tool_calls
    assert (call.name, call.arguments, call.status) == ("get", {"city": "Rome"}, OK)
    assert call.token_span is not None
    assert call.token_span[0] == 0


def test_a_call_has_its_tokens_and_its_text() -> None:
    renderer = embedded()
    ids = renderer.tokenizer.encode(f"B{CALL}<|end|>")
    (call,) = renderer.parse_response(ids).tool_calls
    assert call.token_span is not None
    assert renderer.tokenizer.decode(ids[slice(*call.token_span)]) == CALL
    assert f"<|call|>{call.raw}<|/call|>" == CALL


def test_the_state_names_the_calls() -> None:
    state = read(f"{CALL}<|call|>{{").state
    assert [(call.id, call.name) for call in state.calls] == [(None, "get"), (None, None)]
    assert (state.region, state.stop_token_id) == (Region.CALL, None)


KIMI = "<|tool_calls_section_begin|>"


@pytest.mark.parametrize(
    ("text", "status", "span", "region"),
    [
        (KIMI, ToolCallParseStatus.UNCLOSED_BLOCK, (0, 1), Region.CALLS),
        (f"{KIMI}x<|tool_calls_section_end|>", ToolCallParseStatus.MALFORMED_STRUCTURE, (0, 3), Region.CONTENT),
        (f"{KIMI}<|tool_call_begin|>a", ToolCallParseStatus.UNCLOSED_BLOCK, (1, 3), Region.CALL),
    ],
)
def test_a_section_without_a_complete_call_is_a_failed_call(
    text: str, status: ToolCallParseStatus, span: tuple[int, int], region: Region
) -> None:
    reader = reader_of_bytes(grammar_of("kimi"), marks=True)
    response = completions.read(reader, [reader.encode(text)]).response
    assert [(call.name, call.status, call.token_span) for call in response.tool_calls] == [(None, status, span)]
    assert response.state.region is region


def test_several_objects_between_two_markers_are_several_calls() -> None:
    reader = reader_of_bytes(grammar_of("hermes"), marks=True)
    response = completions.read(
        reader, [reader.encode('<tool_call>[{"name": "a"}, {"name": "b"}]</tool_call>')]
    ).response
    assert [(call.name, call.raw) for call in response.tool_calls] == [("a", '{"name": "a"}'), ("b", '{"name": "b"}')]
    # Only the tokens of all of them are known.
    assert {call.token_span for call in response.tool_calls} == {(0, 32)}


def test_a_complete_object_needs_no_closing_marker() -> None:
    for text in ('<tool_call>{"name": "a", "arguments": {}}', '<tool_call>{"name": "a"}\n<|stop|>'):
        reader = reader_of_bytes(grammar_of("hermes"), marks=True)
        (call,) = completions.read(reader, [reader.encode(text)]).response.tool_calls
        assert (call.name, call.arguments, call.status) == ("a", {}, OK)


_FIRST = "<function=look>\n<parameter=at>\nx\n</parameter>\n</function>\n"


@pytest.mark.parametrize("end", ["", "<|stop|>"])
@pytest.mark.parametrize(
    ("key", "text", "arguments"),
    [
        ("qwen_xml", f"<tool_call>\n{_FIRST}<function=get>\n", {}),
        ("qwen_xml", f"<tool_call>\n{_FIRST}<function=get>\n<parameter=at>\ny", {"at": "y"}),
        ("qwen_xml", f"<tool_call>\n{_FIRST}<function=get>\n<parameter=at>\ny\n</parameter>\n", {"at": "y"}),
        ("hermes", '<tool_call>{"name": "look", "arguments": {"at": "x"}}\n{"name": "get", "arguments": {"at', None),
    ],
)
def test_only_the_last_one_of_several_calls_is_cut_off(
    key: str, text: str, arguments: dict[str, str] | None, end: str
) -> None:
    reader = reader_of_bytes(grammar_of(key), marks=True)
    for chunks in ([reader.encode(text + end)], [[token] for token in reader.encode(text + end)]):
        first, second = completions.read(reader, chunks).response.tool_calls
        assert (first.name, first.arguments, first.status) == ("look", {"at": "x"}, OK)
        assert (second.name, second.arguments, second.status) == ("get", arguments, ToolCallParseStatus.UNCLOSED_BLOCK)
        assert second.text
        assert text.endswith(second.text)
