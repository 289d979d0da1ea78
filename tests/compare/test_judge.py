"""A verdict counts differences for the first entry that explains them, and keeps the others."""

from __future__ import annotations

from typing import Any

from scripts.compare.corpus import Case
from scripts.compare.differences import Pair
from scripts.compare.entries import Entry
from scripts.compare.judge import Verdict
from scripts.compare.releases import Results

FACTS = Case(kind="facts", name="", arguments={})


def entry(name: str, *, family: str) -> Entry:
    return Entry(name=name, fields=("b",), kinds=("facts",), families=(family,), old="", new="", reason="")


def results(family: str, new: dict[str, Any], old: dict[str, Any]) -> Results:
    pair = Pair(family=family, model="m", settings={}, case=FACTS, new=new, old=old, decode=lambda ids: "")
    return Results(model="m", family=family, settings={}, pairs=[pair])


def test_equal_results_count_as_the_same() -> None:
    verdict = Verdict(entries=[])
    verdict.add(results("f", {"b": 1}, {"b": 1}))
    assert (verdict.families["f"].cases["facts"], verdict.families["f"].same["facts"]) == (1, 1)
    assert not verdict.failed


def test_a_difference_counts_for_the_first_entry_that_explains_it() -> None:
    one, other = entry("one", family="f"), entry("other", family="f")
    verdict = Verdict(entries=[one, other])
    verdict.add(results("f", {"b": 1}, {"b": 2}))
    assert verdict.used == {one: 1}
    assert verdict.used_by == {one: {"f"}}
    assert verdict.examples[one].old == 2
    assert verdict.families["f"].same["facts"] == 0


def test_an_unused_entry_is_a_failure() -> None:
    verdict = Verdict(entries=[entry("one", family="f")])
    assert verdict.failed
    assert [unused.name for unused in verdict.unused] == ["one"]


def test_a_difference_without_an_entry_is_a_failure() -> None:
    verdict = Verdict(entries=[])
    verdict.add(results("f", {"b": 1}, {"b": 2}))
    assert [difference.field for difference in verdict.unknown] == ["b"]
    assert verdict.failed


def test_a_switch_that_the_corpus_does_not_use_is_a_failure() -> None:
    verdict = Verdict(entries=[], known_families={"qwen3": ["enable_thinking"], "f": ["speed"]})
    verdict.add(results("qwen3", {"b": 1}, {"b": 1}))
    assert not verdict.failed
    verdict.add(results("f", {"b": 1}, {"b": 1}))
    assert verdict.uncovered == ["f: speed"]
    assert verdict.failed


def test_a_model_that_was_not_compared_is_listed_with_the_reason() -> None:
    verdict = Verdict(entries=[])
    verdict.add(Results(model="m", family="f", settings={"a": 1}, reason="it does not load"))
    assert verdict.left_out == ["m with a=1: it does not load"]
    assert not verdict.families


def test_masks_that_differ_with_the_conventions_of_release_01_are_a_failure() -> None:
    lists: dict[str, Any] = {"token_ids": [1], "message_indices": [0], "is_content": [0], "message_roles": ["user"]}
    case = Case(kind="render", name="", arguments={})
    pair = Pair(
        family="f",
        model="m",
        settings={},
        case=case,
        new={**lists, "sampled_mask": [0]},
        old={**lists, "sampled_mask": [1]},
        decode=lambda ids: "",
    )
    verdict = Verdict(entries=[])
    verdict.add(Results(model="m", family="f", settings={}, pairs=[pair], with_conventions=[pair]))
    assert verdict.sampled == {"f": (1, 1)}
    assert verdict.failed
