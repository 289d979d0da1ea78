"""Classes of characters are those of the tokenizer's own library."""

from __future__ import annotations

import unicodedata

import pytest
from tokenizers import Regex, normalizers, pre_tokenizers

from renderers.tokenizer.compiled.block import CHANGES, FIRST, MARK, SECOND, UNKNOWN, UnfitVocabularyError
from renderers.tokenizer.compiled.characters import DIGITS, Classes, classify
from renderers.tokenizer.compiled.pattern import Atom, CharacterSet, Range

ASSIGNED = [chr(code) for code in range(0x32000) if unicodedata.category(chr(code)) not in ("Cs", "Cn", "Co")]


def class_of(classes: Classes, character: str) -> int:
    page, place = divmod(ord(character), 256)
    return classes.pages[classes.page_numbers[page] * 256 + place]


def members(characters: CharacterSet) -> set[str]:
    classes = classify([characters], composes=False)
    return {c for c in ASSIGNED if classes.members[characters][class_of(classes, c)]}


@pytest.mark.parametrize("source", [r"\p{L}", r"\p{Lu}", r"\s", r"\p{Han}", r"\d", "(?i:s)"])
def test_a_property_has_the_characters_of_the_library(source: str) -> None:
    split = pre_tokenizers.Split(Regex(source), "removed", invert=True)
    assert members(Atom(source)) == {word for word, _ in split.pre_tokenize_str("".join(ASSIGNED))}


def test_digits_are_those_of_the_library() -> None:
    found = members(DIGITS)
    assert {"0", "٣", "½", "Ⅷ", "三"} - found == {"三"}
    for character in "0a½三٣":
        pieces = pre_tokenizers.Digits(individual_digits=True).pre_tokenize_str(character * 2)
        assert (len(pieces) == 2) == (character in found)


def test_a_range_ends_within_unicode() -> None:
    assert members(Range(0x4E00, 0x10FFFF)) == {c for c in ASSIGNED if c >= "\u4e00"}


def test_characters_without_known_properties_are_marked() -> None:
    classes = classify([Atom(r"\p{L}")], composes=False)
    assert [classes.flags[class_of(classes, c)] for c in ("a", "中", "\U0010ffff", "\U00050000")] == [
        0,
        0,
        UNKNOWN,
        UNKNOWN,
    ]


def test_texts_of_unmarked_characters_are_in_normal_form() -> None:
    classes = classify([Range(97, 97)], composes=True)
    kept = [c for c in ASSIGNED if not classes.flags[class_of(classes, c)] & (CHANGES | SECOND | MARK)]
    assert len(kept) > 140_000
    normalize = normalizers.NFC().normalize_str
    for step in (1, 7, 1_009):
        for start in range(step):
            text = "".join(kept[start::step])
            assert normalize(text) == text
    flags = [classes.flags[class_of(classes, c)] for c in "\u212b\u0378a\u0301\u094d\u1161\uac00\u09be\u4e2d"]
    assert flags == [CHANGES, CHANGES, FIRST, SECOND | MARK, MARK, SECOND, FIRST, SECOND, 0]


def test_orders_are_canonical_combining_classes() -> None:
    classes = classify([Range(97, 97)], composes=True)
    assert all(classes.orders[class_of(classes, c)] == unicodedata.combining(c) for c in ASSIGNED)
    assert not any(classify([Range(97, 97)], composes=False).orders)


def test_too_many_sets_are_refused() -> None:
    with pytest.raises(UnfitVocabularyError, match="too many sets"):
        classify([Range(code, code) for code in range(300)], composes=False)
