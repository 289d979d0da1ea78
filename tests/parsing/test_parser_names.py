"""Every parser name of release 0.1, vLLM and SGLang has one meaning, or is known as unread."""

from __future__ import annotations

import pytest

from renderers import EMBEDDED, create_renderer, load_tokenizer
from renderers.parsing.grammar import Grammar, ParserOverrides, apply_overrides
from renderers.parsing.parser_names import (
    REASONING_PARSERS,
    TOOL_PARSERS,
)
from renderers.parsing.tool_formats import TOOL_FORMATS


def test_every_tool_format_is_a_name_and_every_name_has_a_format() -> None:
    assert TOOL_FORMATS.keys() <= TOOL_PARSERS.keys()
    assert {parser.tools for parser in TOOL_PARSERS.values()} <= TOOL_FORMATS.keys()
    assert {parser.tools for parser in REASONING_PARSERS.values() if parser.tools} <= TOOL_FORMATS.keys()


def test_the_parsers_of_release_0_1_exist() -> None:
    assert {"qwen3", "qwen3.5", "glm", "deepseek-v3"} <= TOOL_PARSERS.keys()
    assert "think" in REASONING_PARSERS


@pytest.mark.parametrize("name", TOOL_PARSERS)
def test_a_named_tool_parser_sets_the_format_and_its_markers(name: str) -> None:
    grammar = apply_overrides(Grammar(), ParserOverrides(tool_parser=name))
    parser = TOOL_PARSERS[name]
    assert grammar.tools == parser.tools
    assert grammar.call == (parser.call or TOOL_FORMATS[parser.tools].call)


@pytest.mark.parametrize("name", REASONING_PARSERS)
def test_a_named_reasoning_parser_sets_markers_or_the_format_of_messages(name: str) -> None:
    grammar = apply_overrides(Grammar(), ParserOverrides(reasoning_parser=name))
    parser = REASONING_PARSERS[name]
    assert grammar.tools == parser.tools
    assert (grammar.reasoning.markers if grammar.reasoning else None) == parser.markers


def test_a_misspelt_name_is_an_error_with_close_names() -> None:
    with pytest.raises(ValueError, match=r"there is no tool_parser 'hermess'\. Did you mean 'hermes'"):
        create_renderer(load_tokenizer(EMBEDDED), tool_parser="hermess")


def test_the_name_of_an_unread_format_is_an_error_of_its_own() -> None:
    with pytest.raises(ValueError, match="its format is not supported here"):
        create_renderer(load_tokenizer(EMBEDDED), tool_parser="spark25")


def test_names_override_the_format_of_a_family() -> None:
    renderer = create_renderer(load_tokenizer(EMBEDDED), tool_parser="longcat", reasoning_parser="mistral")
    grammar = renderer.resolution.grammar
    assert (grammar.tools, grammar.call) == ("hermes", ("<longcat_tool_call>", "</longcat_tool_call>"))
    assert grammar.reasoning is not None
    assert grammar.reasoning.markers == ("[THINK]", "[/THINK]")
    assert renderer.config.tool_parser == "longcat"


@pytest.mark.parametrize(
    ("tools", "reasoning"), [("harmony", "qwen3"), ("hermes", "openai_gptoss"), ("inkling", "openai_gptoss")]
)
def test_a_format_with_calls_and_reasoning_is_not_combined_with_another(tools: str, reasoning: str) -> None:
    with pytest.raises(ValueError, match="are of different formats"):
        ParserOverrides(tools, reasoning).check()


@pytest.mark.parametrize(
    ("tools", "reasoning"),
    [("harmony", "openai_gptoss"), ("harmony", None), (None, "openai_gptoss"), ("hermes", "qwen3")],
)
def test_parsers_of_one_format_are_combined(tools: str | None, reasoning: str | None) -> None:
    ParserOverrides(tools, reasoning).check()
