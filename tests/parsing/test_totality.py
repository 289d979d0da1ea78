"""Parsing never raises for ints, whatever they are, and accounts for every one of them."""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

import numpy as np
import pytest

from renderers import EMBEDDED, ChatRenderer, ParsedResponse, create_renderer, load_tokenizer
from renderers.core.completion_variants import CompletionVariants
from renderers.core.completions import ToolCallDelta, ToolCallEnd
from renderers.parsing import base_scanner
from renderers.parsing.buffer import InputBuffer
from renderers.parsing.compiled import markers_within
from renderers.parsing.grammar import apply_variants
from renderers.parsing.tool_formats import TOOL_FORMATS, TurnLayout
from tests.core.test_token_ids import NO_INTS
from tests.stress_parsing import problem_of
from tests.support.call_formats import Call, format_calls
from tests.support.completions import (
    HUB,
    MESSAGE_ENDS,
    Chunks,
    Reader,
    assert_accounted,
    grammar_of,
    one_by_one,
    random_chunks,
    read,
    reader_of_bytes,
)
from tests.support.sources import Source, source_of

CASES = 400
KEPT = '<|call|>{"name": "a", "arguments": {"x": 1}}<|/call|><|end|>'
INVALID = "invalid_json"


@pytest.fixture(scope="module")
def renderer() -> ChatRenderer:
    return create_renderer(load_tokenizer(EMBEDDED))


def ids_of(renderer: ChatRenderer, text: str) -> list[int]:
    return renderer.tokenizer.encode(text, add_special_tokens=False)


def call_with(renderer: ChatRenderer, arguments: str) -> ParsedResponse:
    """Parse a call with the given text as its arguments."""
    text = f'<|call|>{{"name": "a", "arguments": {arguments}}}<|/call|><|end|>'
    parsed = renderer.parse_response(ids_of(renderer, text))
    assert parsed.parts[-1].end == len(ids_of(renderer, text))
    return parsed


# ==================
# Completions that no model would write
# ==================


def cases(source: Source, *, seed: int) -> Iterator[tuple[list[int], list[int] | None, list[Any]]]:
    chance = random.Random(seed)
    for _ in range(CASES):
        ids = source.completion(chance)
        prompt = source.prompt(chance) if chance.randrange(2) else None
        yield ids, prompt, list(random_chunks(ids, chance))


def assert_all_are_read(name: str) -> None:
    source = source_of(name)
    seen: set[str] = set()
    for ids, prompt, chunks in cases(source, seed=1):
        parsed, problem = problem_of(source, ids, prompt, chunks=chunks)
        assert problem is None, (problem, ids, prompt)
        assert parsed is not None
        seen.update(part.region.value for part in parsed.parts)
        seen.update(call.status.value for call in parsed.tool_calls)
    assert {"content", "marker", "skipped", "call", "ok"} <= seen


def test_any_completion_of_the_embedded_model_is_parsed() -> None:
    assert_all_are_read(str(EMBEDDED))


@pytest.mark.parametrize("name", HUB.values())
def test_any_completion_of_a_real_model_is_parsed(name: str, hub: object) -> None:
    assert_all_are_read(name)


@pytest.mark.parametrize("key", TOOL_FORMATS)
def test_markers_in_any_order_are_parsed_the_same_in_any_chunks(key: str) -> None:
    chance = random.Random(key)
    for marks in (True, False):
        variants = CompletionVariants(
            reasoning_anywhere=chance.random() < 0.5,
            ends_reasoning=chance.choice([None, True, False]),
            keeps_text=chance.choice([None, True, False]),
        )
        grammar = apply_variants(grammar_of(key, trims=chance.random() < 0.5), variants)
        reader = reader_of_bytes(grammar, marks=marks)
        words = [
            *markers_within(grammar_of(key)),
            "<|stop|>",
            "<|turn|>assistant\n",
            "\n",
            " ",
            "é",
            "{",
            '{"name": "a"}',
        ]
        bits = [*map(reader.encode, words), [0xC3], [0xA9], [-1], [10**6], [0xC3, -1, 0xA9]]
        for _ in range(CASES // 4):
            ids = [number for _ in range(chance.randrange(14)) for number in chance.choice(bits)]
            whole = read(reader, [ids])
            assert_accounted(whole, len(ids))
            for chunks in (one_by_one(ids), random_chunks(ids, chance)):
                assert repr(read(reader, chunks).response) == repr(whole.response), ids


# ==================
# JSON
# ==================


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_deeply_nested_json_is_rejected(renderer: ChatRenderer, opening: str) -> None:
    for text in (opening * 100_000, opening * 100_000 + "1" + {"[": "]", '{"a":': "}"}[opening] * 100_000):
        (call,) = call_with(renderer, text).tool_calls
        assert (call.name, call.arguments, call.status) == ("a", None, INVALID)


def test_an_integer_of_many_digits_is_rejected(renderer: ChatRenderer) -> None:
    (call,) = call_with(renderer, '{"x": ' + "9" * 5_000 + "}").tool_calls
    assert (call.name, call.status) == ("a", INVALID)


def test_a_string_without_a_utf8_form_is_rejected(renderer: ChatRenderer) -> None:
    (call,) = call_with(renderer, r'{"x": "\ud800"}').tool_calls
    assert (call.name, call.status) == ("a", INVALID)
    (call,) = call_with(renderer, r'{"x": "\ud83d\ude42"}').tool_calls
    assert (call.arguments, call.status) == ({"x": "🙂"}, "ok")


def test_numbers_that_are_not_finite_are_parsed(renderer: ChatRenderer) -> None:
    (call,) = call_with(renderer, '{"x": [NaN, -Infinity]}').tool_calls
    assert (repr(call.arguments), call.status) == ("{'x': [nan, -inf]}", "ok")


def test_the_last_of_duplicate_keys_counts(renderer: ChatRenderer) -> None:
    (call,) = call_with(renderer, '{"x": 1, "x": 2}').tool_calls
    assert (call.arguments, call.status) == ({"x": 2}, "ok")


# ==================
# Numbers that are no ids
# ==================

UNKNOWN_IDS: dict[str, list[int]] = {
    "negative": [-1, -100],
    "far below": [-1_000, -(10**6)],
    "out of the vocabulary": [10**6, 10**9],
    "larger than a word": [2**70, -(2**70)],
}


@pytest.mark.parametrize("kind", UNKNOWN_IDS)
def test_a_number_that_is_not_an_id_is_skipped_and_accounted_for(renderer: ChatRenderer, kind: str) -> None:
    junk, kept = UNKNOWN_IDS[kind], ids_of(renderer, KEPT)
    for ids in (junk, junk[:1], [*junk, *kept], [*kept[:-1], *junk, *kept[-1:]], [*kept, *junk]):
        parsed = renderer.parse_response(ids)
        assert parsed.parts[-1].end == len(ids)
        assert parsed.content == ""
        assert [call.arguments for call in parsed.tool_calls] == [{"x": 1}] * (len(ids) > len(junk))
        parser = renderer.stream()
        for one in ids:
            parser.feed([one])
        assert repr(parser.close()) == repr(parsed)


@pytest.mark.parametrize("kind", UNKNOWN_IDS)
def test_a_prompt_of_numbers_that_are_not_ids_is_like_no_prompt(renderer: ChatRenderer, kind: str) -> None:
    kept = ids_of(renderer, KEPT)
    expected = renderer.parse_response(kept)
    for prompt in (UNKNOWN_IDS[kind], UNKNOWN_IDS[kind][:1]):
        assert renderer.parse_response(kept, prompt_ids=prompt) == expected


@pytest.mark.parametrize("kind", UNKNOWN_IDS)
def test_a_number_that_is_not_an_id_in_a_prompt_does_not_hide_the_rest(renderer: ChatRenderer, kind: str) -> None:
    prompt = [*UNKNOWN_IDS[kind], *ids_of(renderer, "<|turn|>assistant\n<|think|>")]
    parsed = renderer.parse_response(ids_of(renderer, "Hm."), prompt_ids=prompt)
    assert (parsed.reasoning_content, parsed.reasoning_complete) == ("Hm.", False)


# ==================
# Values that are not ints
# ==================


@pytest.mark.parametrize("kind", NO_INTS)
def test_a_value_that_is_not_an_int_is_rejected_with_its_position(renderer: ChatRenderer, kind: str) -> None:
    kept = ids_of(renderer, KEPT)
    for value in NO_INTS[kind]:
        ids = [*kept, value]
        with pytest.raises(TypeError, match=rf"^token_ids\[{len(kept)}\] must be an int, not "):
            renderer.parse_response(ids)
        with pytest.raises(TypeError, match=rf"^token_ids\[{len(kept)}\] must be an int, not "):
            renderer.parser().feed(ids)
        with pytest.raises(TypeError, match=rf"^completion 1: token_ids\[{len(kept)}\] must be an int, not "):
            renderer.parse_batch([kept, ids])
        with pytest.raises(TypeError, match=rf"^prompt_ids\[{len(kept)}\] must be an int, not "):
            renderer.parse_response(kept, prompt_ids=ids)


@pytest.mark.parametrize(
    "ids",
    [np.zeros((2, 3), int), np.array([0.5, 1.0]), np.array(["a", "b"]), np.array([None, 1]), np.array([1j])],
    ids=lambda ids: str(ids.dtype),
)
def test_an_array_that_is_not_one_sequence_of_ints_is_rejected(
    renderer: ChatRenderer, ids: np.ndarray[Any, Any]
) -> None:
    for call in (renderer.parse_response, renderer.parser().feed):
        with pytest.raises(TypeError, match=r"^token_ids(\[0\] must be an int| has 2 rows)"):
            call(ids)
    with pytest.raises(TypeError, match=r"^prompt_ids(\[0\] must be an int| has 2 rows)"):
        renderer.parse_response([1], prompt_ids=ids)


def test_a_chunk_that_is_rejected_changes_nothing(renderer: ChatRenderer) -> None:
    ids = ids_of(renderer, KEPT)
    parser = renderer.parser()
    parser.feed(ids[:3])
    with pytest.raises(TypeError):
        parser.feed([*ids[3:5], None])
    parser.feed(ids[3:])
    assert parser.close() == renderer.parse_response(ids)


def test_a_long_prompt_is_rejected_if_the_part_that_is_read_has_a_value_that_is_not_an_int(
    renderer: ChatRenderer,
) -> None:
    ids, header = [5] * 1000, ids_of(renderer, "<|turn|>assistant\n")
    read: list[Any] = [*ids[:3], None, *ids]
    with pytest.raises(TypeError, match=r"^prompt_ids\[3\] must be an int, not None$"):
        renderer.parse_response([1], prompt_ids=read)
    # The header is found at the end.
    unread: list[Any] = [*ids, None, *ids, *header]
    assert renderer.parse_response([1], prompt_ids=unread) == renderer.parse_response([1])


@pytest.mark.parametrize("dtype", ["int16", "int32", "int64", "uint16", "uint64", "object"])
def test_arrays_are_parsed_like_lists(renderer: ChatRenderer, dtype: str) -> None:
    ids = ids_of(renderer, KEPT)
    prompt = ids_of(renderer, "<|turn|>assistant\n<|think|>")
    expected = renderer.parse_response(ids, prompt_ids=prompt)
    assert renderer.parse_response(np.array(ids, dtype), prompt_ids=np.array(prompt, dtype)) == expected
    assert renderer.parse_response(list(np.array(ids, dtype)), prompt_ids=tuple(prompt)) == expected
    parser = renderer.stream(prompt_ids=np.array(prompt, dtype))
    for chunk in np.split(np.array(ids, dtype), len(ids)):
        parser.feed(chunk)
    assert parser.close() == expected


@pytest.mark.parametrize("ids", [[], (), np.array([], int), range(0)], ids=lambda ids: type(ids).__name__)
def test_an_empty_completion_gives_an_empty_response(renderer: ChatRenderer, ids: Any) -> None:
    parsed = renderer.parse_response(ids, prompt_ids=ids)
    assert (parsed.content, parsed.parts, parsed.state.region) == ("", (), "start")
    parser = renderer.stream()
    parser.feed(ids)
    assert parser.close() == parsed


# ==================
# Prompts
# ==================


def test_markers_in_a_prompt_are_not_taken_for_those_of_the_completion(renderer: ChatRenderer) -> None:
    words = "Hm, what now? " * 5
    prompt = ids_of(renderer, f"<|turn|>assistant\n<|think|>{words}<|call|>{words}<|call|>x")
    ids = ids_of(renderer, "yes<|call|>z<|/call|><|end|>")
    parsed = renderer.parse_response(ids, prompt_ids=prompt)
    assert [(part.region, part.start, part.end) for part in parsed.parts] == [
        ("call", 0, len(ids) - 2),
        ("marker", len(ids) - 2, len(ids)),
    ]
    assert renderer.parse_response([], prompt_ids=prompt).parts == ()


def test_calls_are_counted_from_the_first_that_ends_in_the_completion(renderer: ChatRenderer) -> None:
    prompt = ids_of(renderer, '<|turn|>assistant\n<|call|>{"name": "a"}<|/call|><|call|>{"name":')
    parser = renderer.stream(prompt_ids=prompt)
    events = parser.feed(ids_of(renderer, ' "b"}<|/call|><|end|>'))
    assert {event.number for event in events if isinstance(event, ToolCallDelta | ToolCallEnd)} == {0}
    assert [call.name for call in parser.close().tool_calls] == ["b"]


# ==================
# Work
# ==================


@pytest.mark.parametrize("key", TOOL_FORMATS)
@pytest.mark.parametrize("vocabulary", ["tokens", "bytes", "inner"])
def test_the_number_of_steps_is_linear_in_repetitions(key: str, vocabulary: str) -> None:
    """`benchmarks.growth` measures the time. In DSML a marker within other markers is a token."""
    tokens = TOOL_FORMATS[key].inner if vocabulary == "inner" else ()
    reader = reader_of_bytes(grammar_of(key), marks=vocabulary == "tokens", tokens=tokens)
    markers = markers_within(grammar_of(key))
    words = [*markers, "".join(markers), "\n", " ", "é", "{", '{"name": "a"};', "<", '"']
    opened = "".join(pair[0] for pair in (TOOL_FORMATS[key].section, TOOL_FORMATS[key].call) if pair)
    for word in words:
        for before in ("", "<think>", opened):
            few, many = (reader.encode(before) + reader.encode(word) * count for count in (20, 320))
            assert _steps(reader, [many]) < 20 * _steps(reader, [few]), (before, word)


@pytest.mark.parametrize(
    "key",
    [key for key, form in TOOL_FORMATS.items() if form.layout in (TurnLayout.MESSAGES, TurnLayout.SEGMENTS)],
)
def test_a_stream_of_markers_in_place_of_a_header_takes_linear_steps(key: str) -> None:
    reader = reader_of_bytes(grammar_of(key), marks=True)
    for marker in markers_within(grammar_of(key)):
        few, many = (list(one_by_one(reader.encode(marker) * count)) for count in (40, 640))
        assert _steps(reader, many) < 20 * _steps(reader, few), marker


@pytest.mark.parametrize("key", [key for key, tool_format in TOOL_FORMATS.items() if tool_format.json_arguments])
@pytest.mark.parametrize("marks", [True, False])
def test_strings_with_markers_are_searched_in_linear_work(
    key: str, marks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts the characters that are searched for the end of a string, and those that are joined after a deferral."""
    reader, tool_format = reader_of_bytes(grammar_of(key), marks=marks), TOOL_FORMATS[key]
    searched = _count_searched(monkeypatch)
    opened = "".join(pair[0] for pair in (tool_format.section, tool_format.call) if pair)
    closer = (tool_format.call[1] or tool_format.call[0]) if tool_format.call else MESSAGE_ENDS.get(key, "<|end|>")
    start = opened + '{"name": "a", "arguments": {"x": "'
    if key in MESSAGE_ENDS:
        start, _, _ = format_calls(key, [Call("a", {"x": "here"})]).partition("here")
    words = [
        *(
            closer + run
            for run in ("", '\\"', "\\\\", '\\\\\\"', 'a", "', '", "\\"', '" ', f" text {start}", f'\\"{start}')
        ),
        f'\\"{closer}',
        f"{start}{closer}",
    ]
    for word in words:
        for end in ("", '"}}' + closer):
            ids = reader.encode(start + word * 60 + end)
            for chunks in ([ids], one_by_one(ids)):
                searched.clear()
                read(reader, chunks)
                assert sum(searched) <= 4 * len(ids), (word, end)


def _count_searched(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list to which the number of characters of each search and of each joined text is appended."""
    searched: list[int] = []
    rest_of_string, resume = base_scanner._REST_OF_STRING, InputBuffer.resume

    class Counting:
        def match(self, text: str, start: int, limit: int) -> re.Match[str] | None:
            found = rest_of_string.match(text, start, limit)
            searched.append((found.end() if found else limit) - start)
            return found

    def count_resumed(buffer: InputBuffer) -> None:
        searched.append(sum(len(pieces.byte_text) for pieces in buffer.deferred))
        resume(buffer)

    monkeypatch.setattr(base_scanner, "_REST_OF_STRING", Counting())
    monkeypatch.setattr(InputBuffer, "resume", count_resumed)
    return searched


def _steps(reader: Reader, chunks: Chunks) -> int:
    """Return the number of function calls and of lines that parsing takes. A loop without calls has lines."""
    steps = 0

    def count(_frame: FrameType, _event: str, _argument: Any) -> Any:
        nonlocal steps
        steps += 1
        return count

    read(reader, chunks)
    before = sys.gettrace()
    sys.settrace(count)
    try:
        read(reader, chunks)
    finally:
        sys.settrace(before)
    return steps
