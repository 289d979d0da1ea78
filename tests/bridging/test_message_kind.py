"""Messages that a template cannot distinguish are of the same kind."""

from __future__ import annotations

from typing import Any

import pytest

from renderers.bridging.message_kind import FieldRules, ProbeWords, classify_call, classify_content, classify_message
from renderers.core.completions import CalledTool
from renderers.core.literals import PLAIN_USES, TemplateLiterals

LITERALS = TemplateLiterals(frozenset({"<x>"}), frozenset({"wipe"}))
FIELDS = frozenset({"urgent", "meta", "level"})


def kind(content: Any = "one", *, fields: frozenset[str] | None = FIELDS, **other: Any) -> dict[str, Any]:
    rules = FieldRules(fields, LITERALS)
    return classify_message({"role": "user", "content": content, **other}, rules, ProbeWords())


def keys(*kinds: dict[str, Any]) -> int:
    """Return the number of different kinds."""
    return len(set(map(repr, kinds)))


def test_free_text_matters_only_if_a_test_of_the_template_can_match_it() -> None:
    assert keys(kind("one"), kind("another"), kind("wiped")) == 1
    assert keys(kind("one"), kind("a<x>b"), kind(" one"), kind("one\n"), kind(""), kind(" "), kind(["one"])) == 7
    assert keys(kind("a<x>"), kind("<x>a"), kind("wipe"), kind("one")) == 4
    assert keys(kind("a<x>"), kind("b<x>"), kind("a much longer text<x>")) == 1
    assert keys(kind("a<x>"), kind("a<x> "), kind("a<x>b"), kind("a <x>"), kind("<x>"), kind("a<x>b<x>")) == 6


@pytest.mark.parametrize("word", ["t", "probe", "0", "text0"])
def test_a_literal_that_a_probe_word_contains_keeps_the_text(word: str) -> None:
    rules = FieldRules(FIELDS, TemplateLiterals(frozenset({word}), frozenset()))
    assert classify_message({"role": "user", "content": "HI!"}, rules, ProbeWords())["content"] == "HI!"


def test_a_part_of_a_literal_at_an_end_of_a_text_is_kept() -> None:
    # A template may join texts before it tests them.
    assert keys(kind("a<"), kind("x>a"), kind("a"), kind("x")) == 4


def test_a_part_of_a_literal_is_kept_next_to_whitespace_and_to_other_literals() -> None:
    # A template may trim or split texts before it joins them.
    assert keys(kind("a< "), kind("a "), kind(" x>a"), kind(" a")) == 4
    assert keys(kind("a<<x>b"), kind("a<x>b"), kind("a<x>x>b")) == 3


def test_repeated_whitespace_is_kept_if_a_literal_contains_it() -> None:
    rules = FieldRules(FIELDS, TemplateLiterals(frozenset({"a\n\nb"}), frozenset()))
    contents = ("a\n", "a\n\n", "a\n\n\n")
    kinds = [classify_message({"role": "user", "content": text}, rules, ProbeWords()) for text in contents]
    assert keys(*kinds) == 3


def test_whitespace_at_the_ends_counts_by_its_characters() -> None:
    assert keys(kind("\na"), kind("\n\na"), kind("\n\n\nb")) == 1
    assert keys(kind("\na"), kind("\n a"), kind(" \na"), kind(" \n"), kind("\n ")) == 5


def test_a_number_stays_zero_or_not() -> None:
    assert keys(kind({"n": 3}), kind({"n": 4})) == 1
    assert keys(kind({"n": 3}), kind({"n": 0})) == 2


def test_an_exact_field_stays_as_it_is() -> None:
    uses = PLAIN_USES._replace(exact_fields=frozenset({"content", "text"}))
    rules = FieldRules(FIELDS, LITERALS, uses)
    for content in ("some text", [{"type": "text", "text": "some text"}], {"n": 200}, 42):
        message = {"role": "user", "content": content}
        assert classify_message(message, rules, ProbeWords()) == message
    assert classify_content("some text", rules) == "some text"


def test_short_texts_and_ids_keep_their_lengths_if_these_are_tested() -> None:
    rules = FieldRules(FIELDS, LITERALS, PLAIN_USES._replace(short_length=2, id_lengths=True))
    message = classify_message({"role": "tool", "content": "ok", "tool_call_id": "call_12345678"}, rules, ProbeWords())
    assert message["content"] == "ok"
    spaced = classify_message({"role": "tool", "content": "a   "}, rules, ProbeWords())
    assert len(spaced["content"]) > 2
    assert len(message["tool_call_id"]) == len("call_12345678")
    assert message["tool_call_id"] != "call_12345678"


def test_names_and_ids_are_free_text() -> None:
    assert keys(kind(name="Ada"), kind(name="Eve")) == 1
    assert keys(kind(name="Ada"), kind(name="wipe"), kind(name=None), kind()) == 4
    assert keys(kind(tool_call_id="c1"), kind(tool_call_id="c2")) == 1


@pytest.mark.parametrize(
    "values",
    [
        [True, False, None, 0, 1, 1.0, "", "yes", [], {}],
        [{"a": True}, {"a": False}, {"b": True}, [{"a": True}]],
        ["high", "low", "something else"],
    ],
)
def test_the_values_of_other_fields_matter_exactly(values: list[Any]) -> None:
    assert keys(*(kind(urgent=value) for value in values)) == len(values)


def test_a_field_that_the_template_cannot_read_does_not_matter() -> None:
    assert keys(kind(timestamp=1), kind(timestamp=2), kind()) == 1
    assert keys(kind(timestamp=1, fields=None), kind(timestamp=2, fields=None), kind(fields=None)) == 3
    assert "timestamp" not in kind(timestamp=1)


def test_equal_texts_stay_equal_and_different_texts_stay_different() -> None:
    rules = FieldRules(FIELDS, LITERALS)
    words = ProbeWords()
    call = classify_call(CalledTool("c1", "get"), rules, words)
    first, second = (
        classify_message({"role": "tool", "content": "R", "tool_call_id": number, "name": "get"}, rules, words)
        for number in ("c1", "c2")
    )
    assert (call.id, call.name) == (first["tool_call_id"], first["name"])
    assert first["content"] == second["content"]
    assert first["tool_call_id"] != second["tool_call_id"]
    assert classify_call(CalledTool(None, None), rules, words) == CalledTool(None, None)
