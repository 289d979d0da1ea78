"""Every entry explains its recorded difference, and no entry explains it before."""

from __future__ import annotations

import dataclasses

import pytest

from scripts.compare.differences import Difference
from scripts.compare.entries import TOPICS, Entry
from scripts.compare.entries.base import stripped
from scripts.compare.examples import EXAMPLES, read_examples
from scripts.compare.judge import ENTRIES
from scripts.compare.report import PAGE

RECORDED = read_examples()


def first(difference: Difference) -> Entry | None:
    return next((entry for entry in ENTRIES if entry.explains(difference)), None)


def test_every_entry_has_a_unique_name_and_a_recorded_difference() -> None:
    names = [entry.name for entry in ENTRIES]
    assert len(names) == len(set(names))
    assert RECORDED.keys() == set(names), "run make compare"


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_an_entry_explains_its_recorded_difference(entry: Entry) -> None:
    assert first(RECORDED[entry.name]) is entry


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_an_entry_explains_no_other_field_or_family(entry: Entry) -> None:
    example = RECORDED[entry.name]
    assert not entry.explains(dataclasses.replace(example, field="other"))
    if entry.families:
        assert not entry.explains(dataclasses.replace(example, family="other"))


def test_an_unknown_difference_is_not_explained() -> None:
    example = RECORDED["prefilled think"]
    run = dataclasses.replace(example.run, text="Hello", channels=frozenset({"content"}))
    assert first(dataclasses.replace(example, run=run)) is None
    assert first(dataclasses.replace(example, new=example.old, old=example.new)) is None


def test_the_page_has_a_row_for_every_entry() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for topic in TOPICS:
        section = text.partition(f"## {topic.title}\n")[2].partition("\n## ")[0]
        for entry in topic.entries:
            assert f"\n| {entry.name.replace('|', chr(92) + '|')} | " in section, entry.name


def test_the_record_is_small() -> None:
    assert EXAMPLES.stat().st_size < 200_000


def test_texts_are_stripped_at_every_depth() -> None:
    assert stripped({"a": [" b\n", {"c": " d"}], "e": None}) == {"a": ["b", {"c": "d"}], "e": None}
