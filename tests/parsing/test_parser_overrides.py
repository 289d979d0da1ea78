"""Parsers can be chosen by name for templates that do not show their format."""

from __future__ import annotations

import pytest

from renderers import EMBEDDED, DefaultRendererConfig, create_renderer, load_tokenizer
from renderers.parsing.grammar import TOOL_PARSERS

BARE = "{% for message in messages %}{{ message.content }}<|end|>{% endfor %}"


def test_named_parsers_are_used_for_a_bare_template() -> None:
    config = DefaultRendererConfig(tool_parser="qwen3", reasoning_parser="think")
    renderer = create_renderer(load_tokenizer(EMBEDDED), config, chat_template=BARE)
    said = '<think>\nHm.\n</think>\n\nWell.<tool_call>\n{"name": "f", "arguments": {"x": 1}}\n</tool_call><|end|>'
    parsed = renderer.parse_response(renderer.tokenizer.encode(said))
    assert (parsed.reasoning_content, parsed.content) == ("Hm.", "Well.")
    assert [(call.name, call.arguments) for call in parsed.tool_calls] == [("f", {"x": 1})]


def test_without_names_completions_of_a_bare_template_are_content() -> None:
    renderer = create_renderer(load_tokenizer(EMBEDDED), DefaultRendererConfig(), chat_template=BARE)
    assert renderer.parse_response(renderer.tokenizer.encode("<think>x</think>")).reasoning_content is None


def test_naming_the_format_of_the_template_changes_nothing() -> None:
    tokenizer = load_tokenizer(EMBEDDED)
    plain = create_renderer(tokenizer).resolution.grammar
    assert plain.tools is not None
    named = create_renderer(tokenizer, DefaultRendererConfig(tool_parser=plain.tools)).resolution.grammar
    assert named == plain


@pytest.mark.parametrize("option", ["tool_parser", "reasoning_parser"])
def test_an_unknown_parser_is_rejected_at_creation(option: str) -> None:
    with pytest.raises(ValueError, match=f"there is no {option} 'nope': it is one of"):
        create_renderer(load_tokenizer(EMBEDDED), DefaultRendererConfig(**{option: "nope"}))


def test_the_parsers_of_release_0_1_exist() -> None:
    assert {"qwen3", "qwen3.5", "glm", "deepseek-v3"} <= TOOL_PARSERS.keys()
