"""Two results of a case differ in their outcome, in runs of tokens, or in single values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from scripts.compare.corpus import Case
from scripts.compare.differences import Difference, Pair, differences

LISTS: dict[str, Any] = {
    "token_ids": [ord(letter) for letter in "<Hi>"],
    "message_indices": [-1, 0, 0, 0],
    "sampled_mask": [0, 1, 1, 0],
    "is_content": [0, 1, 1, 0],
    "message_roles": ["user"],
    "message_tool_names": [None],
    "channels": ["scaffold", "content", "content", "scaffold"],
}
CALL: dict[str, Any] = {
    "name": "a",
    "arguments": {},
    "status": "ok",
    "id": None,
    "token_span": [0, 1],
    "raw": "a",
}
PARSED: dict[str, Any] = {
    "content": "Hi",
    "reasoning_content": None,
    "reasoning_complete": True,
    "tool_calls": [CALL],
}


def decode(ids: Sequence[int]) -> str:
    return "".join(map(chr, ids))


def compare(kind: str, new: dict[str, Any], old: dict[str, Any]) -> list[Difference]:
    case = Case(kind=kind, name="case", arguments={})
    pair = Pair(family="f", model="m", settings={}, case=case, new=new, old=old, decode=decode)
    return list(differences(pair))


@pytest.mark.parametrize(("kind", "result"), [("render", LISTS), ("parse", PARSED), ("facts", {"stop_token_ids": [1]})])
def test_equal_results_have_no_differences(kind: str, result: dict[str, Any]) -> None:
    assert compare(kind, result, result) == []


@pytest.mark.parametrize(
    ("new", "old", "outcome"),
    [
        ({"error": "ValueError: no"}, LISTS, ("error: ValueError: no", "")),
        (LISTS, {"refused": "None"}, ("", "refused: None")),
        ({"error": "no"}, {"refused": "None"}, ("error: no", "refused: None")),
    ],
)
def test_a_case_that_one_release_refuses_differs_in_its_outcome(
    new: dict[str, Any], old: dict[str, Any], outcome: tuple[str, str]
) -> None:
    (difference,) = compare("bridge", new, old)
    assert (difference.field, difference.new, difference.old) == ("outcome", *outcome)


def test_two_errors_with_other_texts_are_no_difference() -> None:
    assert compare("render", {"error": "a"}, {"error": "b"}) == []


# ==================
# Tokens
# ==================


def test_consecutive_tokens_with_the_same_values_are_one_difference() -> None:
    first, second = compare("render", LISTS, {**LISTS, "sampled_mask": [1, 0, 0, 0]})
    assert (first.field, first.run.text, first.new, first.old, first.run.role) == ("sampled_mask", "<", 0, 1, None)
    assert (second.run.text, second.new, second.old, second.run.role) == ("Hi", 1, 0, "user")
    assert (second.run.before, second.run.after, second.run.channels) == ("<", ">", frozenset({"content"}))


def test_a_difference_in_the_owner_has_both_roles() -> None:
    (owner,) = compare("render", LISTS, {**LISTS, "message_indices": [0, 0, 0, 0]})
    assert (owner.new, owner.old, owner.run.role, owner.run.old_role) == (-1, 0, None, "user")


def test_lists_of_different_lengths_are_one_difference() -> None:
    (difference,) = compare("render", LISTS, {**LISTS, "is_content": []})
    assert (difference.field, difference.new, difference.old) == ("is_content", "4 values", "0 values")


def test_only_the_ids_are_compared_if_they_differ() -> None:
    old = {**LISTS, "token_ids": [ord(letter) for letter in "<Ho!>"], "sampled_mask": [1, 1, 1, 1, 1]}
    (difference,) = compare("render", LISTS, old)
    assert (difference.field, difference.new, difference.old) == ("token_ids", "i", "o!")
    assert (difference.run.before, difference.run.after, difference.run.role) == ("<H", ">", "user")


def test_each_run_of_differing_ids_is_a_difference() -> None:
    old = {**LISTS, "token_ids": [ord(letter) for letter in "[Hi]"]}
    assert [(found.new, found.old) for found in compare("render", LISTS, old)] == [("<", "["), (">", "]")]


def test_tool_names_are_compared_also_if_the_ids_differ() -> None:
    old = {**LISTS, "message_tool_names": ["a"], "token_ids": []}
    assert [difference.field for difference in compare("render", LISTS, old)] == ["message_tool_names", "token_ids"]


# ==================
# Values
# ==================


@pytest.mark.parametrize("field", ["content", "reasoning_content", "reasoning_complete"])
def test_a_field_of_a_response_is_compared(field: str) -> None:
    (difference,) = compare("parse", PARSED, {**PARSED, field: "other"})
    assert (difference.field, difference.new, difference.old) == (field, PARSED[field], "other")


def test_the_fields_of_calls_are_compared_if_the_names_agree() -> None:
    old = {**PARSED, "tool_calls": [{**CALL, "status": "unclosed_block", "raw": "b"}]}
    found = compare("parse", PARSED, old)
    assert [(difference.field, difference.old) for difference in found] == [("status", "unclosed_block"), ("raw", "b")]


def test_calls_with_other_names_are_one_difference() -> None:
    (difference,) = compare("parse", PARSED, {**PARSED, "tool_calls": []})
    assert (difference.field, difference.new, difference.old) == ("tool_calls", ["a"], [])


def test_facts_are_compared_one_by_one() -> None:
    (difference,) = compare("facts", {"a": 1, "b": 2}, {"a": 1, "b": 3})
    assert (difference.field, difference.new, difference.old) == ("b", 2, 3)
