"""Marks are looked for in the states in which they mean something."""

from __future__ import annotations

from renderers import EMBEDDED, load_tokenizer
from renderers.parse.grammar import Grammar, ReasoningFormat
from renderers.parse.syntax import SYNTAXES
from renderers.parse.tables import Watch, markers_within, tables_for
from renderers.tokenizer.wire import UNKNOWN

GRAMMAR = Grammar(
    header="<|turn|>assistant\n",
    reasoning=ReasoningFormat(markers=("<|think|>", "<no token>")),
    tools="hermes",
    call=("<|call|>", "<|/call|>"),
)


def test_a_text_may_end_with_the_beginning_of_a_mark() -> None:
    watch = Watch.of("</think>", "x", "")
    assert [watch.begun(text, 0) for text in ("a", "a<", "a</thi", "a</think>", "</thinx")] == [0, 1, 5, 0, 0]
    assert watch.begun("a</thi", 2) == 0
    assert (watch.marks, watch.texts, watch.longest) == (("</think>", "x"), ("</think>",), 8)


def test_the_end_of_a_text_is_kept_that_may_begin_a_mark() -> None:
    assert Watch.of("abc").end_of("xxxab") == "ab"
    assert Watch.of("a").end_of("xyz") == ""


def test_a_mark_is_in_a_text_or_not() -> None:
    assert Watch.of("ab").within("cab")
    assert not Watch.of("ab").within("cba")
    assert not Watch.of().within("a")


def test_each_state_has_its_marks() -> None:
    tokenizer = load_tokenizer(EMBEDDED)
    tables = tables_for(GRAMMAR, tokenizer, stops=[tokenizer.added_tokens["<|end|>"]])
    mark = tables.lexicon.mark
    ends = {mark("<|end|>"), UNKNOWN}
    assert {*tables.content.marks} == ends | {mark("<|call|>")}
    assert {*tables.within_call.marks} == ends | {mark("<|/call|>")}
    assert {*tables.reasoning.marks} == ends | {mark("<|think|>"), "<no token>"}
    assert {*tables.doubtful.marks} == {*tables.reasoning.marks, mark("<|call|>")}
    assert tables.header == mark("<|turn|>") + "assistant\n"


def test_markers_that_are_met_in_completions_take_one_byte() -> None:
    tokenizer = load_tokenizer(EMBEDDED)
    tables = tables_for(GRAMMAR, tokenizer, stops=[tokenizer.added_tokens["<|end|>"]])
    assert all(mark <= "\xff" for mark in (*tables.doubtful.marks, *tables.within_call.marks))


def test_markers_within_a_turn_are_those_of_its_fields_and_its_syntax() -> None:
    assert markers_within(GRAMMAR) == {"<|think|>", "<no token>", "<|call|>", "<|/call|>"}
    assert markers_within(Grammar(tools="kimi")) == {*SYNTAXES["kimi"].inner}
