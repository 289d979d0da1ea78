"""Ids become byte text, in which every marker that is a token is one character."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderers import EMBEDDED, adopt_tokenizer, load_tokenizer
from renderers.parsing.markers import MarkerText, as_ids
from renderers.parsing.pieces import Pieces
from renderers.tokenizer.encoding.byte_text import UNKNOWN
from tests.tokenizer.encoding.test_byte_text import Letters

TOKENIZER = load_tokenizer(EMBEDDED)
MARKER_TEXT = MarkerText(
    TOKENIZER.vocab, markers=["<|think|>", "<no token>"], stops=[TOKENIZER.added_tokens["<|end|>"]]
)


def wire(text: str) -> str:
    return MARKER_TEXT.pieces(TOKENIZER.encode(text, add_special_tokens=False)).byte_text


def test_a_marker_that_is_a_token_is_one_character() -> None:
    mark = MARKER_TEXT.mark("<|think|>")
    assert len(mark) == 1
    assert wire("a<|think|>b") == f"a{mark}b"
    assert MARKER_TEXT.is_token("<|think|>")


def test_a_marker_that_is_not_a_token_is_its_text() -> None:
    assert MARKER_TEXT.mark("<no token>") == "<no token>"
    assert not MARKER_TEXT.is_token("<no token>")


def test_a_token_that_is_not_a_marker_is_its_text() -> None:
    assert wire("<|call|>") == "<|call|>"


def test_the_text_of_a_marker_in_ordinary_tokens_is_not_a_marker() -> None:
    ids = TOKENIZER.vocab.plain.encode(["<|think|>"], first=True)[0].ids
    assert MARKER_TEXT.pieces(list(ids)).byte_text == "<|think|>"


def test_a_stop_token_is_identified_by_its_character() -> None:
    (stop,) = MARKER_TEXT.stops
    assert wire("<|end|>") == stop
    assert MARKER_TEXT.id_of(stop) == TOKENIZER.added_tokens["<|end|>"]


def test_markers_are_decoded_to_their_text() -> None:
    assert MARKER_TEXT.decode(wire("naïve <|think|>☀️<|end|>")) == "naïve <|think|>☀️<|end|>"


def test_markers_within_a_text_are_converted() -> None:
    assert MARKER_TEXT.mark_all("a<|think|>b") == wire("a<|think|>b")


@given(st.lists(st.integers() | st.integers(0, 300), max_size=5))
def test_any_int_is_an_id_or_unknown(ids: list[int]) -> None:
    texts = dict(enumerate(TOKENIZER.vocab.byte_texts))
    texts |= {TOKENIZER.added_tokens[marker]: MARKER_TEXT.mark(marker) for marker in ("<|think|>", "<|end|>")}
    expected = [texts.get(number, UNKNOWN) for number in ids]
    assert MARKER_TEXT.pieces(ids) == Pieces.of(expected)


@pytest.mark.parametrize("odd", [None, "1", 1.5, object(), [1], 2**70, -1])
def test_an_object_that_is_not_an_id_is_unknown(odd: Any) -> None:
    known = MARKER_TEXT.pieces([64]).byte_text
    assert MARKER_TEXT.pieces([64, odd, 64]) == Pieces.of([known, UNKNOWN, known])


@given(st.lists(st.integers() | st.integers(0, 300) | st.sampled_from([None, "1", 1.5, True]), max_size=5))
def test_the_byte_text_alone_is_that_of_the_pieces(ids: list[Any]) -> None:
    assert MARKER_TEXT.byte_text(ids) == MARKER_TEXT.pieces(ids).byte_text


def test_a_boolean_is_an_int() -> None:
    assert MARKER_TEXT.pieces([True, False]) == MARKER_TEXT.pieces([1, 0])


def test_a_numpy_integer_is_an_int() -> None:
    assert MARKER_TEXT.pieces([np.int64(64), 64]) == MARKER_TEXT.pieces([64, 64])


def test_a_custom_tokenizer_is_supported() -> None:
    marker_text = MarkerText(adopt_tokenizer(Letters()).vocab, markers=["<a>"], stops=[ord("!")])
    assert marker_text.pieces(Letters().encode("hé!")).byte_text == "hÃ©" + "".join(marker_text.stops)
    assert marker_text.pieces([-1, 10**9]) == Pieces.of([UNKNOWN, UNKNOWN])


@pytest.mark.parametrize("ids", [[1, 2], (1, 2), range(1, 3), np.array([1, 2]), np.array([1, 2], dtype=np.uint16)])
def test_ids_may_be_in_any_sequence_or_array(ids: Any) -> None:
    assert as_ids(ids) == [1, 2]


def test_a_numpy_scalar_is_one_id() -> None:
    assert as_ids(np.array(7)) == [7]


def test_an_array_of_one_row_is_that_row() -> None:
    assert as_ids(np.array([[1, 2]])) == [1, 2]


def test_several_rows_are_not_ids() -> None:
    assert MARKER_TEXT.pieces(as_ids(np.array([[1, 2], [3, 4]]))) == Pieces.of([UNKNOWN, UNKNOWN])
