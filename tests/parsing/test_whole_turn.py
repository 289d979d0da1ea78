"""A whole completion that is read in few steps gives the result of the scanner."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from renderers.core.completion_variants import CompletionVariants
from renderers.core.completions import ParsedResponse
from renderers.parsing.compiled import markers_within
from renderers.parsing.grammar import apply_variants
from renderers.parsing.parser import ResponseParser, parse_whole
from renderers.parsing.pieces import NO_PIECES, Pieces
from renderers.parsing.schema import ToolSchemas
from renderers.parsing.tool_formats import TOOL_FORMATS, TurnLayout
from renderers.parsing.tool_formats.base import CallKeys
from renderers.parsing.whole_turn import read_whole_turn
from tests.support.call_formats import Call, format_calls
from tests.support.completions import (
    OWN,
    ROME,
    Reader,
    completions,
    grammar_of,
    one_by_one,
    read,
    reader_of_bytes,
    reader_of_pieces,
    turn,
)
from tests.support.conversations import TOOLS
from tests.support.sources import MODELS, source_of

LAYOUTS = (TurnLayout.MARKERS, TurnLayout.LISTS, TurnLayout.BARE_CALLS)
PREFILLS = (
    "",
    "<think>",
    "<think>\n",
    "<think>\n\n</think>\n\n",
    "<think>Hm",
    "Yes: ",
    "<tool_call>",
    "</think>",
    "\n",
)


def described(response: ParsedResponse | None) -> str:
    """Return everything about a response, as NaN is not equal to itself."""
    return repr((response, response and [call.text for call in response.tool_calls]))


def assert_same(reader: Reader, ids: Sequence[int], *, prefill: Pieces = NO_PIECES) -> bool:
    """Fail if the result is not that of the scanner. Return True if the scanner was not needed."""
    compiled, tools = reader.compiled, reader.tools
    expected = ResponseParser(compiled, tools, prefill=prefill, follows_calls=False).close(ids)
    assert described(parse_whole(compiled, tools, prefill=prefill, token_ids=ids)) == described(expected), ids
    if compiled.can_end_in(prefill.byte_text):
        return False
    pieces = compiled.marker_text.pieces(list(ids), len(prefill.byte_text))
    whole = read_whole_turn(compiled, ToolSchemas(tools), prefill=prefill, pieces=pieces)
    assert whole is None or described(whole) == described(expected), ids
    return whole is not None


def cut(ids: Sequence[int], chance: random.Random, *, count: int) -> Iterator[Sequence[int]]:
    """Yield completions that are cut off, or that lack their beginning."""
    for _ in range(count):
        at = chance.randrange(len(ids) + 1)
        yield from (ids[:at], ids[at:])


@pytest.mark.parametrize("key", [key for key, one in TOOL_FORMATS.items() if one.layout in LAYOUTS])
def test_a_turn_without_calls_does_not_need_the_scanner(key: str) -> None:
    reader = reader_of_bytes(grammar_of(key), tools=TOOLS, marks=True)
    for reasoning, content in (("Hm é.", "Yes 🙂."), ("", "Yes."), ("Hm.", "")):
        assert assert_same(reader, reader.encode(turn(key, reasoning, content, "") + "<|stop|>"))


@pytest.mark.parametrize("key", ["hermes", "glm", "qwen_xml", "minimax", "deepseek_v31", "llama", "kimi"])
def test_a_turn_with_a_call_does_not_need_the_scanner(key: str) -> None:
    reader = reader_of_bytes(grammar_of(key), tools=TOOLS, marks=True)
    content = "" if TOOL_FORMATS[key].layout is TurnLayout.BARE_CALLS else "Look:"
    ids = reader.encode(turn(key, "Hm é.", content, format_calls(key, [ROME])) + "<|stop|>")
    assert assert_same(reader, ids)


@pytest.mark.parametrize("key", OWN)
def test_completions_give_the_result_of_the_scanner(key: str) -> None:
    chance = random.Random(key)
    for text in completions(key):
        for reader in (
            reader_of_bytes(grammar_of(key), tools=TOOLS, marks=True),
            reader_of_bytes(grammar_of(key, trims=True), tools=TOOLS, marks=False),
            reader_of_pieces(grammar_of(key), text, tools=TOOLS, seed=len(text)),
        ):
            ids = reader.encode(text)
            for one in (ids, *cut(ids, chance, count=5)):
                assert_same(reader, one)


def marker_words(key: str) -> list[str]:
    """Return the markers of a format, and texts that matter beside them."""
    call = format_calls(key, [Call("get_weather", {"city": "é"})])
    others = (
        "<|stop|>",
        "<|turn|>assistant\n",
        "\n",
        " ",
        "é",
        "{",
        '"',
        '{"name": "a"}',
        '{"name": "a", "arguments": {"x',
    )
    return [*sorted(markers_within(grammar_of(key))), *others, call, call]


@pytest.mark.parametrize("key", TOOL_FORMATS)
def test_markers_in_any_order_give_the_result_of_the_scanner(key: str) -> None:
    chance = random.Random(key)
    whole = 0
    for number in range(12):
        variants = CompletionVariants(
            reasoning_anywhere=chance.random() < 0.5,
            ends_reasoning=chance.choice([None, True, False]),
            keeps_text=chance.choice([None, True, False]),
        )
        grammar = apply_variants(grammar_of(key, trims=chance.random() < 0.5), variants)
        tools: Any = chance.choice([None, [], TOOLS])
        reader = reader_of_bytes(grammar, tools=tools, marks=number % 2 == 0)
        bits = [*map(reader.encode, marker_words(key)), [0xC3], [-1]]
        for _ in range(60):
            ids = [token for _ in range(chance.randrange(12)) for token in chance.choice(bits)]
            before = reader.encode(chance.choice(PREFILLS))
            prefill = reader.compiled.marker_text.pieces(before) if before else NO_PIECES
            whole += assert_same(reader, ids, prefill=prefill)
    assert (whole > 0) == (TOOL_FORMATS[key].layout in LAYOUTS)


@pytest.mark.parametrize("key", ["llama", "xlam", "hermes", "jamba"])
@pytest.mark.parametrize("keys", [CallKeys("tool", "input"), CallKeys("id", "größe"), CallKeys("type", "id", "call")])
def test_other_keys_give_the_result_of_the_scanner(key: str, keys: CallKeys) -> None:
    chance, grammar = random.Random(f"{key} {keys}"), replace(grammar_of(key), keys=keys)
    call = f'{{"{keys.name}": "get_weather", "{keys.arguments}": {{"city": "é"}}}}'
    written = f'{{"{keys.wrapper}": {call}}}' if keys.wrapper else call
    calls, whole = [call, written, f"[{written}]", f"```json\n{written}\n```", f"<tool_call>{written}</tool_call>"], 0
    for tools in (None, TOOLS):
        reader = reader_of_bytes(grammar, tools=tools, marks=True)
        words = [*marker_words(key), *calls, *calls, "Look: ", f'"{keys.name}"']
        bits = [*map(reader.encode, words), [-1]]
        for _ in range(200):
            ids = [token for _ in range(chance.randrange(6)) for token in chance.choice(bits)]
            whole += assert_same(reader, ids)
            assert described(read(reader, one_by_one(ids)).response) == described(read(reader, [ids]).response)
    assert whole


@pytest.mark.parametrize("name", MODELS)
def test_real_models_give_the_result_of_the_scanner(name: str) -> None:
    source, chance = source_of(name), random.Random(name)
    compiled = source.renderer._compiled_grammar
    reader = Reader(compiled, TOOLS, lambda _: [], 0)
    for _ in range(200):
        assert_same(reader, source.completion(chance), prefill=compiled.assumed_prefill)
