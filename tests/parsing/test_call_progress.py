"""A stream has the name of a call as soon as it is complete, and the text of its arguments as it is written."""

from __future__ import annotations

import json
import random
import re
from array import array
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderers.core.completions import ToolCallDelta
from renderers.parsing.buffer import InputBuffer, MarkerSet
from renderers.parsing.call_progress import ArgumentsEnd, ObjectEnd, OpenValue, StringEnd, ends_in_value
from renderers.parsing.pieces import Pieces
from renderers.parsing.tool_formats import TOOL_FORMATS, TurnLayout
from tests.support.call_formats import Call, format_calls
from tests.support.completions import ROME, SEARCH, followed_calls, grammar_of, one_by_one, read, reader_of_bytes
from tests.support.responses import embedded

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text('ab"\\{}[]é', max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text('a"\\}', max_size=2), inner, max_size=2),
    max_leaves=5,
)


@pytest.mark.parametrize("markers", [("<v>", "</v>"), ("~~", "~~")])
@given(st.lists(st.sampled_from(["<v>", "</v>", "~~", "a", "<", "v>"])))
def test_a_whole_call_ends_in_a_value_as_its_pieces_do(markers: tuple[str, str], pieces: list[str]) -> None:
    captured: list[tuple[str, str]] = []
    value = OpenValue(captured, markers)
    for piece in pieces:
        captured.append((piece, ""))
        value.examine()
    assert ends_in_value("".join(pieces), markers) == value.examine()


@given(st.dictionaries(st.text('ab"\\{', max_size=3), VALUES, max_size=3), st.text('}{" a', max_size=4), st.randoms())
def test_the_end_of_an_object_is_found_in_any_pieces(value: dict[str, Any], after: str, chance: random.Random) -> None:
    text = json.dumps(value) + after
    cuts = sorted(chance.choices(range(len(text) + 1), k=3))
    end, position = ObjectEnd(), 0
    for start, stop in zip([0, *cuts], [*cuts, len(text)], strict=True):
        found = end.find(text[start:stop])
        if found is not None:
            position = start + found
            break
    assert json.loads(text[:position]) == value


@given(st.lists(st.text('a"\\ ,', max_size=4), max_size=5))
def test_the_end_of_a_string_and_text_after_it_arrive_in_any_pieces(pieces: list[str]) -> None:
    end = StringEnd(MarkerSet.of())
    arrived = next((number for number, piece in enumerate(pieces, 1) if end.has_arrived(piece)), None)
    has_arrived = re.compile(r'(?:[^"\\]|\\.)*"\s*\S').match
    assert arrived == next(
        (number for number in range(1, len(pieces) + 1) if has_arrived("".join(pieces[:number]))), None
    )


def test_a_stop_token_ends_a_string() -> None:
    end = StringEnd(MarkerSet.of("\ue000"))
    assert [end.has_arrived(piece) for piece in ("a", "\\", "b\ue000")] == [False, False, True]


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ('look[ARGS]{"x": {"y": "}"}} Then.', 27),
        ('look{"x": 1}', 12),
        ('look[ARGS] {"x": 1}', 19),
        ('look[ARGS]"x" {}', None),
        ('[{"name": "look"}]', None),
        ('look[ARGS]{"x": 1', None),
        ("a" * 2000 + '[ARGS]{"x": 1}', None),
    ],
)
def test_the_end_of_the_arguments_is_found_in_any_chunks(text: str, end: int | None) -> None:
    for size in (1, 3, len(text)):
        buffer, found = InputBuffer(), None
        arguments = ArgumentsEnd(buffer, TOOL_FORMATS["mistral"], mark=str, decode=str)
        for start in range(0, len(text), size):
            buffer.add(Pieces(text[start : start + size], array("Q", [start]), []))
            found = arguments.find(len(buffer.byte_text))
            if found is not None:
                found = buffer.offset_of(found)
                break
            # Everything but the last byte is read and discarded.
            buffer.position = len(buffer.byte_text) - 1
            buffer.discard_read()
        assert found == end


@pytest.mark.parametrize("key", TOOL_FORMATS)
def test_a_stream_has_names_and_arguments_before_the_end_of_a_call(key: str) -> None:
    reader = reader_of_bytes(grammar_of(key), marks=True)
    calls = [ROME] if key == "harmony" else [ROME, SEARCH]
    ids = reader.encode(format_calls(key, calls))
    events = read(reader, one_by_one(ids)).events
    assert [names for names, _ in followed_calls(events)] == [[call.name] for call in calls]
    expected = [dict(call.arguments) for call in calls] if TOOL_FORMATS[key].json_arguments else ["", ""]
    found = [json.loads(arguments) if arguments else "" for _, arguments in followed_calls(events)]
    assert found == expected
    deltas = [event for event in events if isinstance(event, ToolCallDelta)]
    if TOOL_FORMATS[key].json_arguments and TOOL_FORMATS[key].layout not in (TurnLayout.LISTS, TurnLayout.BARE_CALLS):
        # The calls of a list are known only at its end.
        assert sum(bool(delta.arguments) for delta in deltas) > 20


@pytest.mark.parametrize(
    ("text", "names", "arguments"),
    [
        ('{"name": "a", "arguments": {"x": 1}}', ["a"], '{"x": 1}'),
        ('\n{ "name" : "\\u0061é" , "parameters" : {"x": "}"} , "more": 1}', ["aé"], '{"x": "}"}'),
        ('{"name": "a", "arguments": "x"}', ["a"], ""),
        ('{"name": "a"}', ["a"], ""),
        ('{"name": "", "arguments": {}}', [], "{}"),
        ('{"name": "a", "arguments": {"x": ', ["a"], '{"x": '),
        ('{"arguments": {}, "name": "a"}', [], ""),
        ('{"name": "a", "id": 1, "arguments": {}}', ["a"], ""),
        (f'{{"name": "{"a" * 2000}", "arguments": {{}}}}', [], ""),
        (f'{{"name": "a", {" " * 2000}"arguments": {{}}}}', ["a"], ""),
    ],
)
def test_unusual_calls_have_names_and_arguments_as_far_as_these_are_known(
    text: str, names: list[str], arguments: str
) -> None:
    reader = reader_of_bytes(grammar_of("hermes"), marks=True)
    ids = reader.encode(f"<tool_call>{text}</tool_call>")
    assert followed_calls(read(reader, one_by_one(ids)).events) == [(names, arguments)]
    assert followed_calls(read(reader, [ids]).events) == [(names, arguments)]


def test_arguments_that_begin_in_the_prompt_are_whole() -> None:
    renderer = embedded()
    encode = renderer.tokenizer.encode
    parser = renderer.parser(prompt_ids=encode('<|turn|>assistant\n<|call|>{"name": "get", "arguments": {"city'))
    events = [event for token in encode('": "Rome"}}<|/call|>') for event in parser.feed([token])]
    assert followed_calls(events) == [(["get"], '{"city": "Rome"}')]


def test_a_call_of_several_objects_ends_its_arguments_with_the_first() -> None:
    call = Call("a", {"x": {"y": "}"}})
    reader = reader_of_bytes(grammar_of("kimi"), marks=True)
    text = format_calls("kimi", [call]).replace("}}<", "}} {}<")
    assert followed_calls(read(reader, one_by_one(reader.encode(text))).events) == [(["a"], json.dumps(call.arguments))]
