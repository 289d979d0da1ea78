"""Parsing gives the same result for any chunks, and every token belongs to exactly one event."""

from __future__ import annotations

import random

import pytest

from renderers import create_renderer, load_tokenizer
from renderers.core.completions import ToolCallDelta
from renderers.parsing.compiled import compile_grammar
from renderers.parsing.tool_formats import TOOL_FORMATS
from tests.support.call_formats import Call, format_calls
from tests.support.completions import (
    HUB,
    OWN,
    ROME,
    SEARCH,
    Reader,
    Reading,
    Vocabulary,
    assert_accounted,
    completions,
    followed_calls,
    grammar_of,
    in_two,
    one_by_one,
    random_chunks,
    read,
    reader_of,
    reader_of_bytes,
    reader_of_pieces,
    turn,
)
from tests.support.conversations import TOOLS


def readers(key: str, text: str) -> dict[str, Reader]:
    """Return readers for a text: its markers are tokens, or bytes, or split anywhere."""
    grammar, trims = grammar_of(key), grammar_of(key, trims=True)
    return {
        "tokens": reader_of_bytes(grammar, tools=TOOLS, marks=True),
        "bytes": reader_of_bytes(trims, tools=TOOLS, marks=False),
        "pieces": reader_of_pieces(grammar, text, tools=TOOLS, seed=len(text)),
        "trimmed pieces": reader_of_pieces(trims, text, tools=TOOLS, seed=len(text) + 1),
    }


def described(reading: Reading) -> str:
    response = reading.response
    return repr((response, [call.text for call in response.tool_calls], followed_calls(reading.events)))


def unfollowed(reading: Reading) -> str:
    """Return a description of all events, without the progress of calls."""
    events = [
        event._replace(name=None, arguments="") if isinstance(event, ToolCallDelta) else event
        for event in reading.events
    ]
    return repr((reading.response, [call.text for call in reading.response.tool_calls], events))


def assert_same_in_any_chunks(reader: Reader, ids: list[int], *, splits: int = 100, seed: int = 0) -> None:
    """Fail if chunks change the result. Results are compared by their repr, since NaN is not equal to itself.

    The ids are split in two at every position, or at `splits` random ones if there are more.
    """
    whole = read(reader, [ids])
    assert_accounted(whole, len(ids))
    expected = described(whole)
    assert unfollowed(read(reader, [ids], follows_calls=False)) == unfollowed(whole)
    chance = random.Random(seed)
    every = range(len(ids) + 1)
    places = sorted(chance.sample(every, min(splits, len(every))))
    ways = [in_two(ids, at) for at in places]
    for chunks in (*ways, one_by_one(ids), *(random_chunks(ids, chance) for _ in range(3))):
        reading = read(reader, chunks)
        assert described(reading) == expected, chunks
        assert_accounted(reading, len(ids))


def test_every_tool_format_has_completions_and_a_model() -> None:
    assert OWN.keys() == TOOL_FORMATS.keys()
    assert all(OWN.values())


@pytest.mark.parametrize("key", TOOL_FORMATS)
def test_a_completion_is_parsed_the_same_in_any_chunks(key: str) -> None:
    for text in completions(key):
        for reader in readers(key, text).values():
            assert_same_in_any_chunks(reader, reader.encode(text))


@pytest.mark.parametrize("key", TOOL_FORMATS)
def test_a_truncated_completion_is_parsed_the_same_in_any_chunks(key: str) -> None:
    text = turn(key, "Hm é.", "Look 🙂: ", format_calls(key, [ROME, SEARCH])) + "\nDone.<|stop|>é"
    reader = reader_of_bytes(grammar_of(key), tools=TOOLS, marks=key != "minimax")
    ids = reader.encode(text)
    for end in range(len(ids)):
        assert_same_in_any_chunks(reader, ids[:end], splits=2, seed=end)


@pytest.mark.parametrize("key", TOOL_FORMATS)
def test_ids_that_are_not_tokens_are_parsed_the_same_in_any_chunks(key: str) -> None:
    text = turn(key, "é", "é", format_calls(key, [Call("a", {"x": "é"})])) + "é<|stop|>é"
    for marks in (True, False):
        reader = reader_of_bytes(grammar_of(key), tools=TOOLS, marks=marks)
        ids = reader.encode(text)
        for at in range(len(ids) + 1):
            assert_same_in_any_chunks(reader, [*ids[:at], -1, *ids[at:]], splits=1, seed=at)


def test_tokens_without_text_are_parsed_the_same_in_any_chunks() -> None:
    compiled = compile_grammar(
        grammar_of("hermes"), Vocabulary(["", "é", "<tool_call>", "<|stop|>"], {"<|stop|>": 3}), stops=[3]
    )
    reader = Reader(compiled, None, lambda _: [], 4)
    for ids in ([0], [0, 0, 1, 0], [1, 0, 0], [0, 2, 0], [1, 0, 3, 0, 1, 0], [1, 0, 3, 0]):
        assert_same_in_any_chunks(reader, ids)


@pytest.mark.parametrize(("key", "name"), [*HUB.items(), ("qwen_xml", "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16")])
def test_real_models_are_parsed_the_same_in_any_chunks(key: str, name: str, hub: object) -> None:
    renderer = create_renderer(load_tokenizer(name))
    assert renderer.resolution.grammar.tools == key
    reader = reader_of(renderer, tools=TOOLS)
    stop = renderer.tokenizer.decode([renderer.get_stop_token_ids()[0]])
    for text in completions(key):
        assert_same_in_any_chunks(reader, reader.encode(text.replace("<|stop|>", stop)))
