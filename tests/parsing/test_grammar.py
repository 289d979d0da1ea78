"""Edges remove the same characters whether a field's end is known at once or later; overrides replace formats."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderers import EMBEDDED, DefaultRendererConfig, create_renderer, load_tokenizer
from renderers.core.completion_variants import CompletionVariants
from renderers.parsing.grammar import MOST_TRIMMED, SPACES, Edges, Grammar, apply_variants

EDGES = st.builds(Edges, trail=st.sampled_from(["", "\n", "\n\n", " \n"]), right=st.sampled_from(["", "\n", SPACES]))


def test_padding_is_removed_once() -> None:
    assert Edges(trail="\n").end_in("a\n\n", 0, 3) == 2
    assert Edges(trail="\n\n").end_in("a\n", 0, 2) == 2


def test_trimming_removes_all_whitespace_up_to_a_limit() -> None:
    text = "a" + " " * 1000
    assert Edges(right=SPACES).end_in("a \n ", 0, 4) == 1
    assert Edges(right=SPACES).end_in(text, 0, len(text)) == len(text) - MOST_TRIMMED


def test_a_field_does_not_end_before_it_begins() -> None:
    assert Edges(right=SPACES).end_in("   ", 2, 3) == 2


@given(EDGES, st.text(alphabet="a \n", max_size=12), st.integers(0, 12))
def test_text_that_is_sure_is_never_removed(edges: Edges, text: str, cut: int) -> None:
    sure = edges.sure_in(text, 0, min(cut, len(text)))
    assert sure <= edges.end_in(text, 0, len(text))
    assert edges.end_in(text, sure, len(text)) == edges.end_in(text, 0, len(text))


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
    with pytest.raises(ValueError, match=rf"there is no {option} 'nope'\. (Did you mean|The names are) "):
        create_renderer(load_tokenizer(EMBEDDED), DefaultRendererConfig(**{option: "nope"}))


def test_variants_add_the_markers_of_reasoning_that_no_template_writes() -> None:
    variants = CompletionVariants(reasoning=("<a>", "</a>"), reasoning_lead="thought\n")
    reasoning = apply_variants(Grammar(), variants).reasoning
    assert reasoning is not None
    assert (reasoning.markers, reasoning.edges.lead) == (("<a>", "</a>"), "thought\n")
    assert (
        apply_variants(Grammar(reasoning=reasoning), CompletionVariants(reasoning=("<b>", "</b>"))).reasoning
        == reasoning
    )


@pytest.mark.parametrize("model", ["google/gemma-4-31B-it", "google/gemma-4-E4B-it"])
def test_reasoning_of_gemma_4_is_read_whether_its_template_writes_it_or_not(model: str, hub: object) -> None:
    renderer = create_renderer(load_tokenizer(model))
    text = "<|channel>thought\nHm.\n<channel|>Yes.<|channel>thought\nWait.<channel|> No.<turn|>"
    parsed = renderer.parse_response(renderer.tokenizer.encode(text, add_special_tokens=False))
    assert (parsed.content, parsed.reasoning_content) == ("Yes. No.", "Hm.\nWait.")
