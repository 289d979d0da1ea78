"""An emitter turns text and markers into events, and keeps back text that the next chunk can change."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderers.core.completions import ContentDelta, MarkerToken, ReasoningDelta, Region, SkippedTextEvent
from renderers.parsing.buffer import InputBuffer
from renderers.parsing.emitter import Emitter, Field, complete_characters_end, skipped_because
from renderers.parsing.grammar import NO_EDGES, Edges
from renderers.parsing.markers import MarkerText
from renderers.parsing.pieces import Pieces
from renderers.tokenizer.encoding.byte_text import to_byte_text
from tests.support.completions import Vocabulary

CONTENT = Field(ContentDelta, Region.CONTENT)


def emitter_of(
    pieces: list[str], field: Field = CONTENT, *, prefill: tuple[str, ...] = ()
) -> tuple[Emitter, InputBuffer]:
    buffer = InputBuffer(Pieces.of(prefill))
    buffer.add(Pieces.of(pieces, buffer.end))
    emitter = Emitter(MarkerText(Vocabulary([], {}), markers=(), stops=()), buffer)
    emitter.enter_field(field)
    return emitter, buffer


def test_text_is_emitted_with_its_tokens() -> None:
    emitter, buffer = emitter_of(["Hel", "lo", "!"])
    emitter.emit_text_to(5, closed=None)
    assert emitter.take_events() == [ContentDelta("Hello", 0, 2)]
    assert (buffer.position, emitter.take_events(), emitter.region) == (5, [], Region.CONTENT)


def test_adjacent_markers_are_one_event_before_the_text_that_follows() -> None:
    emitter, _ = emitter_of(["<a>", "<b>", "x"])
    emitter.read_markers_to(3)
    emitter.read_markers_to(6)
    emitter.emit_text_to(7, closed=NO_EDGES)
    assert emitter.close() == [MarkerToken(0, 2), ContentDelta("x", 2, 3)]


def test_tokens_without_text_at_the_end_are_markers() -> None:
    emitter, _ = emitter_of(["a", "", ""])
    emitter.emit_text_to(1, closed=NO_EDGES)
    assert emitter.close() == [ContentDelta("a", 0, 1), MarkerToken(1, 3)]


def test_padding_is_kept_back_until_the_field_ends() -> None:
    edges = Edges(trail="\n")
    emitter, buffer = emitter_of(["\n", "a", "\n"], Field(ReasoningDelta, Region.REASONING, lead="\n", ends=(edges,)))
    emitter.emit_text_to(3, closed=None)
    assert (emitter.take_events(), buffer.position) == ([MarkerToken(0, 1), ReasoningDelta("a", 1, 2)], 2)
    emitter.emit_text_to(3, closed=edges)
    assert emitter.close() == [MarkerToken(2, 3)]
    assert emitter.has_reasoning


@pytest.mark.parametrize(("flush", "texts"), [(False, ["a"]), (True, ["a\ufffd"])])
def test_an_incomplete_character_is_kept_back_unless_flushed(flush: bool, texts: list[Any]) -> None:
    emitter, _ = emitter_of(["a", "\xc3"])
    emitter.emit_text_to(2, closed=None, flush=flush)
    assert [event.text for event in emitter.take_events() if isinstance(event, ContentDelta)] == texts


def test_text_of_the_prompt_is_captured_but_not_emitted() -> None:
    captured: list[tuple[str, str]] = []
    emitter, _ = emitter_of(["cd"], CONTENT._replace(captured=captured), prefill=("ab",))
    emitter.emit_text_to(4, closed=NO_EDGES)
    assert emitter.close() == [ContentDelta("cd", 0, 1)]
    assert captured == [("abcd", "abcd")]


def test_a_field_without_a_region_keeps_the_region_before_it() -> None:
    emitter, _ = emitter_of(["a"])
    emitter.enter_field(Field(skipped_because("after the stop token")))
    emitter.emit_text_to(1, closed=NO_EDGES)
    assert emitter.close() == [SkippedTextEvent("a", "after the stop token", 0, 1)]
    assert emitter.region is Region.CONTENT


@given(st.text(max_size=6), st.integers(0, 24))
def test_text_is_cut_only_between_characters(text: str, end: int) -> None:
    byte_text = to_byte_text(text)
    end = min(end, len(byte_text))
    cut = complete_characters_end(byte_text, 0, end)
    assert 0 <= end - cut <= 3
    assert byte_text[:cut].encode("latin-1").decode() == text[: len(byte_text[:cut].encode("latin-1").decode())]
