"""Tokens are located in a text, in C as in Python."""

from __future__ import annotations

import random
from array import array
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from renderers import EMBEDDED, LoadedTokenizer, load_tokenizer
from renderers.core.native import COMPILED
from renderers.core.special_tokens import find_special_tokens
from renderers.tokenizer.encoding.encode import Cuts, cut_at_own, encode_text
from renderers.tokenizer.encoding.locate import EncodedText, _aligned, _PieceTokens, _sized, locate, locate_in_python
from renderers.tokenizer.encoding.piece_cache import unpack_ids
from tests.support.corpus import nasty_texts
from tests.support.models import one_model_per_vocabulary
from tests.tokenizer.encoding.test_encode import at_walls, with_control_texts

needs_c = pytest.mark.skipif(not COMPILED, reason="the C extension was not built")


def check(tokenizer: LoadedTokenizer, text: str, cuts: Cuts, places: list[int]) -> None:
    encoded = encode_text(tokenizer, text, cuts)
    places = sorted(place for place in places if place <= len(text))
    assert locate(tokenizer.vocab, encoded, places) == locate_in_python(tokenizer.vocab, encoded, places), text


@needs_c
@pytest.mark.parametrize("name", one_model_per_vocabulary())
def test_c_and_python_agree_for_real_tokenizers(name: str, hub: object) -> None:
    tokenizer = load_tokenizer(name)
    chance = random.Random(name)
    for text in with_control_texts(tokenizer, list(nasty_texts(code_files=1, random_texts=40))):
        places = [0, len(text), *(chance.randrange(len(text) + 1) for _ in range(20))]
        check(tokenizer, text, at_walls(tokenizer, text), places)
        own = find_special_tokens(text, tokenizer.vocab.reserved_texts)[::2]
        check(tokenizer, text, cut_at_own(tokenizer, text, own), places)


@needs_c
@settings(deadline=None)
@given(st.text(max_size=30), st.lists(st.integers(0, 40), max_size=6))
@example("", [0])
@example("<|end|><|end|>", [0, 3, 7, 7, 9, 14])
def test_c_and_python_agree_for_any_text(text: str, places: list[int]) -> None:
    tokenizer = load_tokenizer(EMBEDDED)
    text += "é<|end|>\u0301"
    check(tokenizer, text, at_walls(tokenizer, text), places)


@pytest.mark.parametrize("name", ["Qwen/Qwen3-8B", "google/gemma-3-4b-it", "google/gemma-4-31B-it", "microsoft/phi-4"])
def test_places_by_sizes_are_those_of_the_tokenizer(name: str, hub: object) -> None:
    vocab = load_tokenizer(name).vocab
    texts = [text[:2_000] for text in nasty_texts(code_files=2, random_texts=100) if text]
    texts = [text for text in texts if not any(token in text for token in vocab.isolated_texts)]
    sized = 0
    for text, piece in zip(texts, vocab.encode_pieces(texts), strict=True):
        by_sizes = _sized(vocab, unpack_ids(piece), text)
        if by_sizes is None:
            continue
        sized += 1
        ours, theirs = (_PieceTokens(found, text) for found in (by_sizes, _aligned(vocab, text, None, first=True)))
        for at in range(0, len(text), 7):
            assert ours.across(at)[1] == theirs.across(at)[1], (text, at)
    assert sized > 0.8 * len(texts)


NUMBERS = st.lists(st.integers(-1, 9) | st.integers(0, 2**40), max_size=6)


@needs_c
@given(
    text=st.text(max_size=8),
    ids=st.lists(st.integers(0, 6) | st.integers(0, 2**32 - 1), max_size=8),
    sizes=st.lists(st.integers(0, 4) | st.integers(0, 2**32 - 1), max_size=6),
    borders=NUMBERS,
    ends=NUMBERS,
    places=NUMBERS,
)
def test_inputs_that_do_not_fit_are_rejected_or_reported(
    text: str, ids: list[int], sizes: list[int], borders: list[int], ends: list[int], places: list[int]
) -> None:
    from renderers.core._native import locate

    try:
        found = locate(text, array("I", ids), array("I", sizes), array("q", borders), array("q", ends), places)
    except (ValueError, UnicodeEncodeError):
        return
    if isinstance(found, tuple):
        assert all(0 <= first <= stop <= len(ids) for first, stop in zip(*found, strict=True))
    elif isinstance(found, list):
        assert set(found) <= set(ids)
    else:
        assert 0 <= found < len(ends)


@needs_c
@pytest.mark.parametrize("places", [(1,), ["1"], [True], [None]])
def test_only_lists_of_ints_are_accepted(places: Any) -> None:
    from renderers.core._native import locate

    with pytest.raises((TypeError, ValueError)):
        locate("ab", array("I", [1]), array("I", [0, 3]), array("q", [0, 2]), array("q", [1]), places)


@needs_c
def test_unknown_sizes_are_reported_before_anything_else() -> None:
    from renderers.core._native import locate

    assert locate("ab", array("I", [1, 4]), array("I", [0, 0]), array("q", [0, 2]), array("q", [2]), [1]) == [1, 4]
    assert locate("ab", array("I", [1]), array("I", [0, 2]), array("q", [0, 2]), array("q", [1]), [1]) == 0


def test_a_text_without_parts_has_no_tokens() -> None:
    vocab = load_tokenizer(EMBEDDED).vocab
    (piece,) = vocab.encode_pieces(["ab"])
    ids = array("I", piece)
    encoded = EncodedText("ab", ids, array("q", [0, 2]), array("q", [len(ids)]), None)
    assert locate(vocab, encoded, []) == ([], [])
