"""Ids become byte text, in which every marker that is a token is one character."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderers import EMBEDDED, adopt_tokenizer, load_tokenizer
from renderers.core.native import COMPILED
from renderers.parsing.markers import MarkerText
from renderers.parsing.pieces import Pieces
from renderers.tokenizer.encoding.byte_text import UNKNOWN
from renderers.tokenizer.encoding.piece_cache import unpack_ids
from tests.tokenizer.encoding.test_byte_text import Letters

TOKENIZER = load_tokenizer(EMBEDDED)
MARKER_TEXT = MarkerText(
    TOKENIZER.vocab, markers=["<|think|>", "<no token>"], stops=[TOKENIZER.added_tokens["<|end|>"]]
)
MARKS = "".join([MARKER_TEXT.mark("<|think|>"), *MARKER_TEXT.stops, UNKNOWN])


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
    ids = unpack_ids(TOKENIZER.vocab.plain.encode(["<|think|>"], first={0})[0])
    assert MARKER_TEXT.pieces(list(ids)).byte_text == "<|think|>"


def test_a_stop_token_is_identified_by_its_character() -> None:
    (stop,) = MARKER_TEXT.stops
    assert wire("<|end|>") == stop
    assert MARKER_TEXT.id_of(stop) == TOKENIZER.added_tokens["<|end|>"]


def test_markers_are_decoded_to_their_text() -> None:
    assert MARKER_TEXT.decode(wire("naïve <|think|>☀️<|end|>")) == "naïve <|think|>☀️<|end|>"


@given(
    parts=st.lists(st.text(st.characters(max_codepoint=0xBF), max_size=9) | st.sampled_from(["é☀".encode(), MARKS])),
    cut=st.integers(0, 9),
)
def test_a_part_is_decoded_by_the_positions_of_its_markers(parts: list[Any], cut: int) -> None:
    byte_text = "".join([part.decode("latin-1") if isinstance(part, bytes) else part for part in parts])
    end = max(cut, len(byte_text) - cut)
    marks = [at for at in range(cut, min(end, len(byte_text))) if byte_text[at] in MARKS]
    assert MARKER_TEXT.decode_at(byte_text, cut, end, marks) == MARKER_TEXT.decode(byte_text[cut:end])


def test_markers_within_a_text_are_converted() -> None:
    assert MARKER_TEXT.mark("a<|think|>b") == wire("a<|think|>b")


def test_a_marker_can_consist_of_a_token_and_text() -> None:
    assert MARKER_TEXT.mark("<|think|><a>") == wire("<|think|>") + "<a>"


@given(st.lists(st.integers() | st.integers(0, 300), max_size=5))
def test_any_int_is_an_id_or_unknown(ids: list[int]) -> None:
    texts = dict(enumerate(TOKENIZER.vocab.byte_texts))
    texts |= {TOKENIZER.added_tokens[marker]: MARKER_TEXT.mark(marker) for marker in ("<|think|>", "<|end|>")}
    expected = [texts.get(number, UNKNOWN) for number in ids]
    assert MARKER_TEXT.pieces(ids) == Pieces.of(expected)


@given(st.lists(st.integers() | st.integers(0, 300) | st.booleans() | st.none(), max_size=5))
def test_the_text_of_known_tokens_is_that_of_the_pieces(ids: list[Any]) -> None:
    known = MARKER_TEXT.known_text(ids)
    assert known is None or known == MARKER_TEXT.pieces(ids).byte_text
    if all(type(number) is int for number in ids):
        pieces = MARKER_TEXT.pieces(ids)
        assert MARKER_TEXT.known_text(ids) in ((pieces.byte_text, None) if COMPILED else (None,))
    else:
        with pytest.raises(TypeError, match=r"token_ids\[[0-4]\]"):
            MARKER_TEXT.pieces(ids)


@given(st.lists(st.integers() | st.integers(0, 300), max_size=5))
def test_the_byte_text_alone_is_that_of_the_pieces(ids: list[int]) -> None:
    assert MARKER_TEXT.byte_text(ids) == MARKER_TEXT.pieces(ids).byte_text


def test_known_tokens_have_a_text() -> None:
    ids = TOKENIZER.encode("ab<|think|>", add_special_tokens=False)
    MARKER_TEXT.pieces(ids)
    assert MARKER_TEXT.known_text(ids) == (wire("ab<|think|>") if COMPILED else None)


@given(
    st.lists(st.sampled_from(["é", "a", "\xc3", "\xa9", UNKNOWN, *MARKER_TEXT.stops, wire("<|think|>")]), max_size=12)
)
def test_texts_of_any_size_are_decoded_alike(pieces: list[str]) -> None:
    byte_text = "".join(pieces)
    # Short texts are kept, and texts with markers of two bytes are decoded by another function.
    assert MARKER_TEXT.decode(byte_text) == MARKER_TEXT.decode(byte_text) == MARKER_TEXT._decode_wide(byte_text)


def test_a_custom_tokenizer_is_supported() -> None:
    marker_text = MarkerText(adopt_tokenizer(Letters()).vocab, markers=["<a>"], stops=[ord("!")])
    assert marker_text.pieces(Letters().encode("hé!")).byte_text == "hÃ©" + "".join(marker_text.stops)
    assert marker_text.pieces([-1, 10**9]) == Pieces.of([UNKNOWN, UNKNOWN])
