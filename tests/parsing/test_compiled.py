"""Each state searches only for the markers that have a meaning in it."""

from __future__ import annotations

import weakref

from renderers import EMBEDDED, DefaultRendererConfig, create_renderer, load_tokenizer
from renderers.parsing.compiled import CompiledGrammar, compile_grammar, markers_within
from renderers.parsing.grammar import Grammar, ReasoningFormat
from renderers.parsing.tool_formats import TOOL_FORMATS
from renderers.tokenizer.encoding.byte_text import UNKNOWN

GRAMMAR = Grammar(
    header="<|turn|>assistant\n",
    reasoning=ReasoningFormat(markers=("<|think|>", "<no token>")),
    tools="hermes",
    call=("<|call|>", "<|/call|>"),
)


def compiled_grammar() -> CompiledGrammar:
    tokenizer = load_tokenizer(EMBEDDED)
    return compile_grammar(GRAMMAR, tokenizer.vocab, stops=[tokenizer.added_tokens["<|end|>"]])


def test_each_state_has_its_markers() -> None:
    compiled = compiled_grammar()
    mark = compiled.marker_text.mark
    ends = {mark("<|end|>"), UNKNOWN}
    assert {*compiled.content_markers.markers} == ends | {mark("<|call|>")}
    assert compiled.call_ends.keys() == {mark("<|call|>")}
    closer, markers = compiled.call_ends[mark("<|call|>")]
    assert (closer, {*markers.markers}) == (mark("<|/call|>"), ends | {mark("<|/call|>")})
    assert {*compiled.reasoning_markers.markers} == ends | {mark("<|think|>"), "<no token>"}
    assert {*compiled.open_reasoning_markers.markers} == {*compiled.reasoning_markers.markers, mark("<|call|>")}
    assert compiled.header == mark("<|turn|>") + "assistant\n"


def test_renderers_of_a_model_share_their_compiled_grammar() -> None:
    tokenizer = load_tokenizer(EMBEDDED)
    first, second = (
        create_renderer(tokenizer),
        create_renderer(tokenizer, DefaultRendererConfig(tool_parser="qwen_xml")),
    )
    assert first._compiled_grammar is create_renderer(load_tokenizer(EMBEDDED))._compiled_grammar
    assert first._compiled_grammar is not second._compiled_grammar
    compiled = weakref.ref(compile_grammar(GRAMMAR, tokenizer.vocab, stops=[1]))
    assert compiled() is None


def test_markers_of_completions_take_one_byte() -> None:
    compiled = compiled_grammar()
    markers = (*compiled.open_reasoning_markers.markers, *compiled.call_ends)
    assert all(marker <= "\xff" for marker in markers)


def test_markers_within_a_turn_are_those_of_its_fields_and_its_tool_format() -> None:
    assert markers_within(GRAMMAR) == {"<|think|>", "<no token>", "<|call|>", "<|/call|>"}
    assert markers_within(Grammar(tools="kimi")) == {*TOOL_FORMATS["kimi"].inner}
