"""A completion says the same in whatever chunks it comes, and every token of it is told of once."""

from __future__ import annotations

import random

import pytest

from renderers import create_renderer, load_tokenizer
from renderers.parse.events import ContentDelta
from renderers.parse.grammar import Grammar
from renderers.parse.stream import new_scanner
from renderers.parse.syntax import SYNTAXES, Call
from renderers.parse.tables import tables_for
from tests.completions import (
    Reader,
    Vocabulary,
    assert_accounted,
    grammar_of,
    in_two,
    one_by_one,
    random_chunks,
    read,
    reader_of,
    reader_of_bytes,
    reader_of_pieces,
)
from tests.conversations import TOOLS

HUB = {
    "hermes": "Qwen/Qwen3-8B",
    "qwen_xml": "Qwen/Qwen3.5-9B",
    "seed_xml": "ByteDance-Seed/Seed-OSS-36B-Instruct",
    "glm": "zai-org/GLM-4.5-Air",
    "kimi": "moonshotai/Kimi-K2.5",
    "deepseek_v3": "deepseek-ai/DeepSeek-V3",
    "deepseek_v31": "deepseek-ai/DeepSeek-V3.1",
    "minimax": "MiniMaxAI/MiniMax-M2",
    "llama": "meta-llama/Llama-3.2-1B-Instruct",
    "harmony": "openai/gpt-oss-20b",
}
"""A real model for each syntax."""

ROME, SEARCH = Call("get_weather", {"city": "Rom é", "days": 3}), Call("search", {"query": "🙂 <b>\n1 < 2"})

OWN: dict[str, tuple[str, ...]] = {
    "hermes": (
        '<tool_call>{"name": "a"}<tool_call>{"name": "b"}</tool_call>',
        '<tool_call><tool_call>\n{"name": "a", "arguments": "x"}\n</tool_call></tool_call>',
        "<tool_call></tool_call><tool_call> </tool_call>",
    ),
    "qwen_xml": (
        "<tool_call><function=a><parameter=x>\n</parameter>\n</parameter></function></tool_call>",
        "<tool_call>\n<function=a>\n<parameter=x>\n1\n</tool_call>",
    ),
    "seed_xml": ("<seed:tool_call><function=a><parameter=x>1</parameter></function></seed:tool_call><seed:tool_call>",),
    "glm": (
        "<tool_call>a<arg_key>x</arg_key><arg_value>1</arg_value></tool_call>\nAnd é.",
        "<tool_call>a\n<arg_key>x</arg_key>\n<arg_value></arg_value></arg_value>\n</tool_call>",
    ),
    "kimi": (
        "<|tool_call_begin|>functions.a:0<|tool_call_argument_begin|>{}<|tool_call_end|>",
        "<|tool_calls_section_begin|> \n <|tool_call_begin|>a:1<|tool_calls_section_end|>Then.",
        "<|tool_calls_section_begin|>é<|tool_call_begin|>a<|tool_call_end|> é <|tool_calls_section_end|>",
    ),
    "deepseek_v3": (
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>a\n```json\n{}\n```<｜tool▁calls▁end｜>",
        "<｜tool▁call▁begin｜>function<｜tool▁sep｜>a\n{}<｜tool▁call▁end｜>",
    ),
    "deepseek_v31": (
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>a<｜tool▁sep｜>{}<｜tool▁call▁end｜>｜<｜tool▁calls▁",
        "<｜tool▁calls▁begin｜><｜tool▁calls▁begin｜><｜tool▁calls▁end｜><｜tool▁calls▁end｜>",
    ),
    "minimax": (
        '<minimax:tool_call><invoke name="a"><parameter name="x">1</parameter></minimax:tool_call>',
        '<minimax:tool_call><invoke name="</invoke><invoke name="a"></invoke>',
    ),
    "llama": (
        '<|python_tag|>{"name": "a"}',
        '<|python_tag|>{"name": "é"} ; {"name": "b", "arguments": {}}  <|stop|>',
        '\n {"name": "a", "parameters": {"x": "<|python_tag|>"}}',
        "<|python_tag|>print(1)",
        '{"name": "a"} and more',
        '{"x": 1}; {',
        "{",
    ),
    "harmony": (
        "<|channel|>analysis<|message|>é<|end|><|start|>assistant<|channel|>analysis<|message|>ü<|stop|>",
        "<|start|>assistant to=functions.a<|channel|>commentary json<|message|>{}<|call|>",
        "<|channel|>commentary<|message|>First.<|end|><|start|>assistant<|channel|>final<|message|>Then.",
        "<|channel|>final<|channel|>analysis<|message|>a<|start|>assistant<|channel|>final<|message|>b",
        "<|channel|>analysis" + " no message" * 40,
        "no header" + " at all é" * 40 + "<|end|>é",
        "<|message|>é<|end|><|message|><|end|><|message|>🙂",
        "<|start|><|start|>",
    ),
}
"""What only one syntax has."""


def turn(key: str, reasoning: str, content: str, calls: str) -> str:
    """Writes a turn as models with a syntax do."""
    if key == "harmony":
        messages = [("analysis", reasoning), ("final", content)]
        written = [f"<|channel|>{channel}<|message|>{text}<|end|>" for channel, text in messages if text]
        return "<|start|>assistant".join([*written, *([calls] if calls else [])])
    return (f"<think>\n{reasoning}\n</think>\n\n" if reasoning else "") + content + ("\n" * bool(content)) + calls


def completions(key: str) -> list[str]:
    """Returns completions in a syntax, as text."""
    write = SYNTAXES[key].write
    one, two = write([ROME]), write([ROME, SEARCH])
    return [
        "",
        "é",
        turn(key, "", "Yes: 1 < 2 </b> 🙂", ""),
        turn(key, "Hm, é.", "Yes 🙂.  \n", ""),
        turn(key, "", "", one),
        turn(key, "Hm.", "Look: ", two),
        turn(key, "", one + " é\n " + two, "\n\n") + "Done é. ",
        turn(key, f"Then {one} maybe.", "No.", one),
        turn(key, "Hm. ", "", one).replace("\n</think>", ""),
        turn(key, "Hm.", "", two + "<|stop|>" + one),
        turn(key, "Hm.", "<|stop|>é<|eos|><|stop|>", ""),
        turn(key, "a</thi</think>b", "<thi<tool_cal<|tool", one),
        turn(key, "<think><think>", "</think><think>", ""),
        "<think></think>\n\n\nHi",
        "<think>\n</think>" + one,
        "<think>" * 3 + "</think>" * 2 + one * 2,
        "\n<|turn|>assistant\n<|turn|>assistant\n\n<think>\nHm.",
        "<|turn|>assistant<|turn|>",
        *(" " * count + text for count in (255, 256, 257) for text in ("", "<think>a", one, "a" + " " * count)),
        f"<think>a{' ' * 300}</think>{' ' * 300}a{' ' * 300}\n{one}{' ' * 300}",
        *OWN[key],
    ]


def readers(key: str, text: str) -> dict[str, Reader]:
    """Returns readers for a text: its markers are tokens, or bytes, or cut anywhere."""
    grammar, trims = grammar_of(key), grammar_of(key, trims=True)
    return {
        "tokens": reader_of_bytes(grammar, tools=TOOLS, marks=True),
        "bytes": reader_of_bytes(trims, tools=TOOLS, marks=False),
        "pieces": reader_of_pieces(grammar, text, tools=TOOLS, seed=len(text)),
        "trimmed pieces": reader_of_pieces(trims, text, tools=TOOLS, seed=len(text) + 1),
    }


def assert_same_in_any_chunks(reader: Reader, ids: list[int], *, splits: int = 60, seed: int = 0) -> None:
    """Fails where chunks change what is read; equal are the texts of it, as NaN is not equal to itself."""
    whole = read(reader, [ids])
    assert_accounted(whole, len(ids))
    chance = random.Random(seed)
    every = range(len(ids) + 1)
    ways = [in_two(ids, at) for at in (every if len(ids) <= splits else sorted(chance.sample(every, splits)))]
    for chunks in (*ways, one_by_one(ids), *(random_chunks(ids, chance) for _ in range(5))):
        reading = read(reader, chunks)
        assert repr(reading.response) == repr(whole.response), chunks
        assert_accounted(reading, len(ids))


def test_every_syntax_has_completions_and_a_model_of_its_own() -> None:
    assert OWN.keys() == HUB.keys() == SYNTAXES.keys()
    assert all(OWN.values())


@pytest.mark.parametrize("key", SYNTAXES)
def test_a_completion_says_the_same_in_any_chunks(key: str) -> None:
    for text in completions(key):
        for reader in readers(key, text).values():
            assert_same_in_any_chunks(reader, reader.encode(text), splits=180)


@pytest.mark.parametrize("key", SYNTAXES)
def test_so_does_one_that_is_cut_off_anywhere(key: str) -> None:
    write = SYNTAXES[key].write
    text = turn(key, "Hm é.", "Look 🙂: ", write([ROME, SEARCH])) + "\nDone.<|stop|>é"
    reader = reader_of_bytes(grammar_of(key), tools=TOOLS, marks=key != "minimax")
    ids = reader.encode(text)
    for end in range(len(ids)):
        assert_same_in_any_chunks(reader, ids[:end], splits=2, seed=end)


@pytest.mark.parametrize("key", SYNTAXES)
def test_so_does_one_with_ids_that_are_no_tokens(key: str) -> None:
    write = SYNTAXES[key].write
    text = turn(key, "é", "é", write([Call("a", {"x": "é"})])) + "é<|stop|>é"
    for marks in (True, False):
        reader = reader_of_bytes(grammar_of(key), tools=TOOLS, marks=marks)
        ids = reader.encode(text)
        for at in range(len(ids) + 1):
            assert_same_in_any_chunks(reader, [*ids[:at], -1, *ids[at:]], splits=1, seed=at)


def test_so_does_one_with_tokens_that_have_no_text() -> None:
    tables = tables_for(
        grammar_of("hermes"), Vocabulary(["", "é", "<tool_call>", "<|stop|>"], {"<|stop|>": 3}), stops=[3]
    )
    reader = Reader(tables, None, lambda _: [], 4)
    for ids in ([0], [0, 0, 1, 0], [1, 0, 0], [0, 2, 0], [1, 0, 3, 0, 1, 0], [1, 0, 3, 0]):
        assert_same_in_any_chunks(reader, ids)


def test_space_is_waited_for_only_so_long() -> None:
    reader = reader_of_bytes(grammar_of("hermes"), marks=True)
    for count, reasoning in ((255, "a"), (256, None), (257, None)):
        assert read(reader, [reader.encode(" " * count + "<think>a")]).response.reasoning_content == reasoning


def test_a_token_before_a_call_may_come_in_pieces() -> None:
    reader = reader_of_bytes(grammar_of("llama"), marks=False)
    ids = reader.encode('<|python_tag|>{"name": "a"}')
    assert [call.name for call in read(reader, one_by_one(ids)).response.tool_calls] == ["a"]


def test_text_is_told_as_soon_as_it_is_known_to_be_text() -> None:
    for grammar in (Grammar(), grammar_of("hermes"), grammar_of("llama")):
        reader = reader_of_bytes(grammar, marks=True)
        scanner = new_scanner(reader.tables, reader.tools)
        told = scanner.feed(reader.tables.lexicon.pieces(reader.encode("Hello")))
        assert [event.text for event in told if isinstance(event, ContentDelta)] == ["Hello"]


@pytest.mark.parametrize(("key", "name"), [*HUB.items(), ("qwen_xml", "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16")])
def test_real_models_say_the_same_in_any_chunks(key: str, name: str, hub: object) -> None:
    renderer = create_renderer(load_tokenizer(name))
    assert renderer.resolution.grammar.tools == key
    reader = reader_of(renderer, tools=TOOLS)
    stop = renderer.tokenizer.decode([renderer.get_stop_token_ids()[0]])
    for text in completions(key):
        assert_same_in_any_chunks(reader, reader.encode(text.replace("<|stop|>", stop)))
