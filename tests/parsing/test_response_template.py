"""Hugging Face's response_template records are read and written: transformers parses with them as we do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from transformers import PreTrainedTokenizerFast
from transformers.utils.chat_parsing import parse_response

from renderers import EMBEDDED, create_renderer, load_tokenizer
from renderers.parsing.grammar import Edges, Grammar, ReasoningFormat
from renderers.parsing.response_template import (
    _INEXPRESSIBLE,
    _WRITERS,
    read_response_template,
    write_response_template,
)
from renderers.parsing.tool_formats import TOOL_FORMATS
from tests.support.call_formats import Call, format_calls
from tests.support.completions import grammar_of
from tests.support.standin import byte_tokenizer

WRITTEN = tuple(_WRITERS)
ROME = Call("search", {"city": "Rome"})


def grammar_with_header(key: str) -> Grammar:
    tool_format = TOOL_FORMATS[key]
    reasoning = grammar_of("hermes").reasoning
    return Grammar(
        header="<|im_start|>assistant\n",
        reasoning=reasoning,
        tools=key,
        section=tool_format.section,
        call=tool_format.call,
    )


@pytest.mark.parametrize("key", WRITTEN)
def test_transformers_reads_a_turn_with_a_written_record(key: str) -> None:
    record = write_response_template(grammar_with_header(key))
    turn = f"<think>\nHm.\n</think>\n\n{format_calls(key, [ROME])}"
    message: dict[str, Any] = parse_response(turn, record, prefix="")
    assert message["reasoning_content"] == "Hm."
    assert "content" not in message
    assert [call["function"] for call in message["tool_calls"]] == [{"name": "search", "arguments": {"city": "Rome"}}]


@pytest.mark.parametrize("key", [key for key in WRITTEN if key != "gigachat"])
def test_transformers_reads_several_calls_with_a_written_record(key: str) -> None:
    record = write_response_template(grammar_with_header(key))
    calls = [ROME, Call("look", {"x": "a b", "y": "c"})]
    message: dict[str, Any] = parse_response(format_calls(key, calls), record, prefix="")
    assert [call["function"] for call in message["tool_calls"]] == [
        {"name": call.name, "arguments": call.arguments} for call in calls
    ]


def test_a_word_after_the_marker_of_reasoning_is_not_reasoning() -> None:
    reasoning = ReasoningFormat(markers=("<|channel>", "<channel|>"), edges=Edges(lead="thought\n"))
    record = write_response_template(replace(grammar_with_header("gemma"), reasoning=reasoning))
    message: dict[str, Any] = parse_response("<|channel>thought\nHm.\n<channel|>Hi", record, prefix="")
    assert message == {"role": "assistant", "reasoning_content": "Hm.", "content": "Hi"}


def test_every_tool_format_has_a_record_or_a_reason() -> None:
    assert {*_WRITERS, *_INEXPRESSIBLE} == {*TOOL_FORMATS}
    assert _WRITERS.keys().isdisjoint(_INEXPRESSIBLE)


@pytest.mark.parametrize("key", WRITTEN)
def test_a_written_record_is_read_back(key: str) -> None:
    grammar = grammar_with_header(key)
    read = read_response_template(write_response_template(grammar))
    assert (read.header, read.reasoning and read.reasoning.markers) == (grammar.header, ("<think>", "</think>"))
    assert (read.tools, read.section, read.call) == (grammar.tools, grammar.section, grammar.call)


def test_a_record_of_the_example_is_read_by_transformers() -> None:
    renderer = create_renderer(load_tokenizer(EMBEDDED))
    record = write_response_template(renderer.resolution.grammar)
    text = 'Look.<|call|>{"name": "look", "arguments": {}}<|/call|>'
    message: dict[str, Any] = parse_response(text, record, prefix="")
    assert message["content"] == "Look."
    assert message["tool_calls"][0]["function"] == {"name": "look", "arguments": {}}


def test_a_format_without_a_record_is_an_error() -> None:
    with pytest.raises(ValueError, match="'harmony' cannot be written as response_template"):
        write_response_template(grammar_with_header("harmony"))
    with pytest.raises(ValueError, match="needs the text that opens a turn"):
        write_response_template(Grammar())


@pytest.mark.parametrize(
    "record",
    [
        {"version": 2, "fields": {"content": {}}},
        {"fields": {}},
        None,
        "x",
        {"fields": {"tool_calls": {"open_pattern": "@@", "content": "kv-lines"}}},
    ],
)
def test_a_record_that_cannot_be_read_is_an_error(record: Any) -> None:
    with pytest.raises(ValueError, match="response_template"):
        read_response_template(record)


BARE = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"


def test_a_models_record_completes_the_format_of_its_template() -> None:
    record = write_response_template(grammar_with_header("glm"))
    tokenizer = stand_in_with(record)
    grammar = create_renderer(tokenizer, on_loss="ignore").resolution.grammar
    assert (grammar.tools, grammar.call) == ("glm", ("<tool_call>", "</tool_call>"))
    assert grammar.reasoning is not None
    assert grammar.reasoning.markers == ("<think>", "</think>")


def test_a_record_that_is_not_read_is_a_conflict() -> None:
    resolution = create_renderer(stand_in_with({"version": 7}), on_loss="ignore").resolution
    assert any("version 7" in conflict for conflict in resolution.conflicts)


@pytest.mark.parametrize("name", ["hf", "response_template"])
def test_a_parser_name_makes_the_record_override_the_template(name: str) -> None:
    record = write_response_template(grammar_with_header("glm"))
    tokenizer = stand_in_with(record)
    options = create_renderer(tokenizer, on_loss="ignore", tool_parser="hermes", reasoning_parser=name)
    assert options.resolution.grammar.tools == "hermes"
    grammar = create_renderer(
        tokenizer, on_loss="ignore", tool_parser=name, reasoning_parser="mistral"
    ).resolution.grammar
    assert (grammar.tools, grammar.call) == ("glm", ("<tool_call>", "</tool_call>"))
    assert grammar.reasoning is not None
    assert grammar.reasoning.markers == ("[THINK]", "[/THINK]")


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (None, "the model has no response_template"),
        ({"version": 7}, "version 7"),
        ({"fields": {"content": {}}}, "tool_parser 'hf': the model's response_template has no such field"),
    ],
)
def test_a_record_that_a_parser_name_needs_and_that_is_missing_is_an_error(record: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        create_renderer(stand_in_with(record), tool_parser="hf")


def stand_in_with(record: dict[str, Any] | None) -> PreTrainedTokenizerFast:
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=byte_tokenizer(["<|im_start|>", "<|im_end|>"]), eos_token="<|im_end|>", chat_template=BARE
    )
    tokenizer.response_template = record
    return tokenizer
