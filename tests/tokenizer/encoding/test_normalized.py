"""Texts are composed in parts, with the places of their characters."""

from __future__ import annotations

import random
import unicodedata
from array import array

import pytest
from tokenizers import normalizers

from renderers.tokenizer.encoding.normalized import UNSURE, compose, move_in_python

normalize = normalizers.NFC().normalize_str


def second_characters() -> set[str]:
    """Return the characters that NFC composes with one before them."""
    pairs = (unicodedata.decomposition(chr(code)).split() for code in range(0x110000))
    return {chr(int(pair[-1], 16)) for pair in pairs if len(pair) == 2 and not pair[0].startswith("<")} | {
        *map(chr, range(0x1161, 0x1176)),
        *map(chr, range(0x11A8, 0x11C3)),
    }


def test_texts_are_cut_before_characters_that_nfc_keeps_apart() -> None:
    sure = [chr(code) for code in range(0x110000) if not UNSURE.match(chr(code))]
    assert len(sure) > 30_000
    assert second_characters().isdisjoint(sure)
    for character in sure:
        assert unicodedata.combining(character) == 0
        assert unicodedata.category(character) != "Cn"
        assert normalize(character) == character


@pytest.mark.parametrize(
    ("text", "composed", "places"),
    [
        ("", "", [0]),
        ("abc", "abc", [0, 1, 2, 3]),
        ("e\u0301x", "éx", [0, 1, 1, 2]),
        ("\u0301e\u0301", "\u0301é", [0, 1, 2, 2]),
        ("a\u0301\u0323b", "ạ\u0301b", [0, 1, 1, 2, 3]),
        ("\u0958x", "\u0915\u093cx", [0, 2, 3]),
        ("\u1112\u1161\u11ab\u1112", "\ud55c\u1112", [0, 1, 1, 1, 2]),
        ("é — ñ\u200d", "é — ñ\u200d", [0, 1, 2, 3, 4, 5, 6]),
    ],
)
def test_places_are_those_of_the_first_original_character(text: str, composed: str, places: list[int]) -> None:
    found = compose(text)
    assert found is not None
    assert found.text == composed == normalize(text)
    assert move_in_python(found.moves, range(len(text) + 1)) == places


def test_parts_are_composed_as_the_whole_is() -> None:
    chance = random.Random(0)
    marks = [chr(code) for code in range(0x1F000) if unicodedata.combining(chr(code))]
    seconds, others = sorted(second_characters()), ["a", "é", ">", "中", "\u212b", "\u0958", "\u1100", "\uac00", "한"]
    for _ in range(20_000):
        pool = chance.choice((marks, seconds, others))
        text = "".join(chance.choice(chance.choice((pool, others))) for _ in range(8))
        found = compose(text)
        assert found is not None
        assert found.text == normalize(text), ascii(text)


def test_a_long_part_is_not_composed() -> None:
    kept = "\u0e48" * 100
    assert compose(kept) == (kept, array("q"))
    assert compose("e\u0301" + kept) is None
    assert compose("e\u0301a" + kept) == ("éa" + kept, array("q", [2, 1]))


def test_equal_texts_have_no_moves() -> None:
    assert UNSURE.match("\u0301")
    assert compose("x\u0301 é") == ("x\u0301 é", array("q"))
