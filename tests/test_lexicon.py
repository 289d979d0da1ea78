"""Ids become wire text, in which marks that are tokens are characters of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderers import EMBEDDED, adopt_tokenizer, load_tokenizer
from renderers.parse.lexicon import Lexicon, as_ids
from renderers.parse.pieces import Pieces
from renderers.tokenizer.wire import UNKNOWN
from tests.test_wire import Letters

TOKENIZER = load_tokenizer(EMBEDDED)
LEXICON = Lexicon(TOKENIZER, marks=["<|think|>", "<no token>"], stops=[TOKENIZER.added_tokens["<|end|>"]])


def wire(text: str) -> str:
    return LEXICON.pieces(TOKENIZER.encode(text, add_special_tokens=False)).wire


def test_a_marker_that_is_a_token_is_one_character() -> None:
    mark = LEXICON.mark("<|think|>")
    assert len(mark) == 1
    assert wire("a<|think|>b") == f"a{mark}b"
    assert LEXICON.is_token("<|think|>")


def test_a_marker_that_is_none_is_its_text() -> None:
    assert LEXICON.mark("<no token>") == "<no token>"
    assert not LEXICON.is_token("<no token>")


def test_a_token_that_is_no_marker_here_is_its_text() -> None:
    assert wire("<|call|>") == "<|call|>"


def test_the_text_of_a_marker_in_ordinary_tokens_is_no_mark() -> None:
    ids = TOKENIZER.plain.encode(["<|think|>"], first=True)[0]
    assert LEXICON.pieces(list(ids)).wire == "<|think|>"


def test_a_stop_token_is_known_by_its_mark() -> None:
    (stop,) = LEXICON.stops
    assert wire("<|end|>") == stop
    assert LEXICON.id_of(stop) == TOKENIZER.added_tokens["<|end|>"]


def test_marks_are_text_again() -> None:
    assert LEXICON.text(wire("naïve <|think|>☀️<|end|>")) == "naïve <|think|>☀️<|end|>"


def test_a_text_with_markers_in_it_is_marked() -> None:
    assert LEXICON.marked("a<|think|>b") == wire("a<|think|>b")


@given(st.lists(st.integers() | st.integers(0, 300), max_size=5))
def test_any_numbers_are_ids_or_unknown(ids: list[int]) -> None:
    texts = dict(enumerate(TOKENIZER.wire_texts))
    texts |= {TOKENIZER.added_tokens[marker]: LEXICON.mark(marker) for marker in ("<|think|>", "<|end|>")}
    expected = [texts.get(number, UNKNOWN) for number in ids]
    assert LEXICON.pieces(ids) == Pieces.of(expected)


@pytest.mark.parametrize("odd", [None, "1", 1.5, object(), [1], 2**70, -1])
def test_what_is_no_id_is_unknown(odd: Any) -> None:
    known = LEXICON.pieces([64]).wire
    assert LEXICON.pieces([64, odd, 64]) == Pieces.of([known, UNKNOWN, known])


def test_a_boolean_is_the_number_that_it_is() -> None:
    assert LEXICON.pieces([True, False]) == LEXICON.pieces([1, 0])


def test_a_number_of_numpy_is_the_number_that_it_is() -> None:
    assert LEXICON.pieces([np.int64(64), 64]) == LEXICON.pieces([64, 64])


def test_a_callers_own_tokenizer_will_do() -> None:
    lexicon = Lexicon(adopt_tokenizer(Letters()), marks=["<a>"], stops=[ord("!")])
    assert lexicon.pieces(Letters().encode("hé!")).wire == "hÃ©" + "".join(lexicon.stops)
    assert lexicon.pieces([-1, 10**9]) == Pieces.of([UNKNOWN, UNKNOWN])


@pytest.mark.parametrize("ids", [[1, 2], (1, 2), range(1, 3), np.array([1, 2]), np.array([1, 2], dtype=np.uint16)])
def test_ids_come_in_many_shapes(ids: Any) -> None:
    assert as_ids(ids) == [1, 2]


def test_a_single_number_of_numpy_is_one_id() -> None:
    assert as_ids(np.array(7)) == [7]


def test_the_only_row_of_an_array_is_what_is_in_it() -> None:
    assert as_ids(np.array([[1, 2]])) == [1, 2]


def test_several_rows_are_no_ids() -> None:
    assert LEXICON.pieces(as_ids(np.array([[1, 2], [3, 4]]))) == Pieces.of([UNKNOWN, UNKNOWN])
