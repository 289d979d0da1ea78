"""Tokens are located in a text, in C as in Python."""

from __future__ import annotations

import random
import unicodedata
from array import array
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, normalizers

from renderers import EMBEDDED, LoadedTokenizer, adopt_tokenizer, create_renderer, load_tokenizer
from renderers.core.native import COMPILED
from renderers.core.special_tokens import find_special_tokens
from renderers.tokenizer.encoding import locate as module
from renderers.tokenizer.encoding.encode import Cuts, cut_at_own, encode_text
from renderers.tokenizer.encoding.locate import (
    AnyVocab,
    EncodedText,
    _aligned,
    _normalized,
    _piece_tokens,
    _PieceTokens,
    locate,
    locate_in_python,
)
from renderers.tokenizer.encoding.normalized import NormalizedText
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
        ids = array("I", piece)
        encoded = EncodedText(text, ids, array("q", [0, len(text)]), array("q", [len(ids)]), None)
        ours, theirs = _piece_tokens(vocab, encoded, 0), offsets_of(vocab, encoded, 0)
        sized += ours.places.in_bytes
        for at in range(0, len(text), 7):
            assert ours.across(at)[1] == theirs.across(at)[1], (text, at)
    assert sized > 0.9 * len(texts)


def offsets_of(vocab: AnyVocab, encoded: EncodedText, number: int) -> _PieceTokens:
    """Return the tokens of a piece at the offsets that `tokenizers` gives."""
    text = encoded.piece_text(number)
    places = _aligned(vocab, text, encoded.plain, first=not number)
    return _PieceTokens(places, NormalizedText(text, array("q")))


MARKS = tuple(chr(code) for code in range(0x1F000) if unicodedata.combining(chr(code)))
DECOMPOSED = tuple(
    sorted(
        {
            part
            for character in map(chr, range(0x1F000))
            if not unicodedata.is_normalized("NFD", character)
            for part in unicodedata.normalize("NFD", character)
        }
    )
)
COMPOSED = tuple(chr(code) for code in range(0x30000) if unicodedata.decomposition(chr(code))[:1].isalnum())
JAMO = tuple(map(chr, range(0x1100, 0x1200)))
OTHERS = (
    "a",
    "e",
    "▁",
    "▁▁",
    "é",
    "中",
    "🙂",
    "👩\u200d💻",
    "❤\ufe0f",
    "e\u0301",
    "o\u0302\u0323",
    "가",
    "\u0378",
    "12",
)
SPACES = (" ", "  ", "\n")


def texts_to_normalize(tokenizer: LoadedTokenizer, count: int) -> Iterator[str]:
    """Yield texts that NFC or Gemma's normalizer may change, with special tokens."""
    chance = random.Random(0)
    tokens = tuple(sorted(tokenizer.vocab.reserved_texts)[:8])
    pools = (MARKS, DECOMPOSED, COMPOSED, JAMO, OTHERS, (*OTHERS, *SPACES), tokens or SPACES)
    for _ in range(count):
        chosen = chance.choices(pools, k=chance.randint(1, 4))
        text = "".join(chance.choice(chance.choice(chosen)) for _ in range(chance.randint(1, 24)))
        yield text if chance.randrange(5) else unicodedata.normalize("NFD", text)


@pytest.mark.parametrize("name", [str(EMBEDDED), *one_model_per_vocabulary()])
def test_places_in_a_text_that_the_normalizer_changes_are_those_of_the_tokenizer(
    name: str, hub: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokenizer = load_tokenizer(name)
    if name == str(EMBEDDED):
        tokenizer = composing_tokenizer()
    count = 300 if tokenizer.vocab.facts.normalizes else 30
    changed = 0
    for text in texts_to_normalize(tokenizer, count):
        own = find_special_tokens(text, tokenizer.vocab.reserved_texts)
        for cuts in (at_walls(tokenizer, text), cut_at_own(tokenizer, text, own[::2])):
            encoded = encode_text(tokenizer, text, cuts)
            places = list(range(len(text) + 1))
            found = locate(tokenizer.vocab, encoded, places), locate_in_python(tokenizer.vocab, encoded, places)
            with monkeypatch.context() as patched:
                patched.setattr(module, "_piece_tokens", offsets_of)
                expected = locate_in_python(tokenizer.vocab, encoded, places)
            assert found == (expected, expected), ascii(text)
            normalized = _normalized(tokenizer.vocab, encoded)
            changed += normalized is not None and normalized.text != text
    assert changed > 0.4 * count or not tokenizer.vocab.facts.normalizes


def composing_tokenizer() -> LoadedTokenizer:
    """Return the embedded tokenizer with NFC, and tokens that are matched before it. They overlap, so none isolates."""
    backend = Tokenizer.from_str(load_tokenizer(EMBEDDED).vocab.backend.to_str())
    backend.normalizer = normalizers.NFC()
    backend.add_special_tokens([AddedToken(token, normalized=False) for token in ("<cut>", ">b<")])
    tokenizer = adopt_tokenizer(backend)
    assert isinstance(tokenizer, LoadedTokenizer)
    return tokenizer


def test_a_token_in_a_text_is_not_composed_with_the_text_after_it() -> None:
    """The text of the special token is cut out before NFC, which would compose its last character with the mark."""
    tokenizer = composing_tokenizer()
    text = "a e\u0301 <cut>\u0338b"
    (piece,) = tokenizer.vocab.encode_pieces([text])
    ids = array("I", piece)
    assert "<cut>" not in tokenizer.vocab.isolating_texts
    assert tokenizer.vocab.added_tokens["<cut>"] in ids
    encoded = EncodedText(text, ids, array("q", [0, len(text)]), array("q", [len(ids)]), None)
    assert _normalized(tokenizer.vocab, encoded) is None
    assert _piece_tokens(tokenizer.vocab, encoded, 0) == offsets_of(tokenizer.vocab, encoded, 0)


@pytest.mark.parametrize("extra", ["e\u0301", "\u1112\u1161\u11ab", "a\u0301\u0323 \u212b"])
def test_a_text_that_nfc_changes_is_not_encoded_again(extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = composing_tokenizer()
    messages = [{"role": "user", "content": f"ab {extra} cd"}, {"role": "assistant", "content": "Yes."}]
    renderer = create_renderer(tokenizer, chat_template=load_tokenizer(EMBEDDED).chat_template)
    monkeypatch.setattr(module, "_aligned", None)
    assert renderer.render(messages).message_token_spans()[1] is not None
    monkeypatch.setattr(module, "native", None)
    assert renderer.render(messages).message_token_spans()[1] is not None


NUMBERS = st.lists(st.integers(-1, 9) | st.integers(0, 2**40), max_size=6)


@needs_c
@given(
    text=st.text(max_size=8),
    ids=st.lists(st.integers(0, 6) | st.integers(0, 2**32 - 1), max_size=8),
    sizes=st.lists(st.integers(0, 4) | st.integers(0, 2**32 - 1), max_size=6),
    borders=NUMBERS,
    ends=NUMBERS,
    normalized=st.none() | st.text(max_size=8),
    moves=st.just([]) | st.lists(st.integers(-1, 9) | st.integers(0, 2**63 - 1), max_size=7),
    places=NUMBERS,
)
def test_inputs_that_do_not_fit_are_rejected_or_reported(
    text: str,
    ids: list[int],
    sizes: list[int],
    borders: list[int],
    ends: list[int],
    normalized: str | None,
    moves: list[int],
    places: list[int],
) -> None:
    from renderers.core._native import locate

    encoded = text, array("I", ids), array("I", sizes), array("q", borders), array("q", ends)
    try:
        found = locate(*encoded, text if normalized is None else normalized, array("q", moves), places)
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
        locate("ab", array("I", [1]), array("I", [0, 3]), array("q", [0, 2]), array("q", [1]), "ab", array("q"), places)


@needs_c
def test_unknown_sizes_are_reported_before_anything_else() -> None:
    from renderers.core._native import locate

    borders, moves = array("q", [0, 2]), array("q")
    found = locate("ab", array("I", [1, 4]), array("I", [0, 0]), borders, array("q", [2]), "ab", moves, [1])
    assert found == [1, 4]
    assert locate("ab", array("I", [1]), array("I", [0, 2]), borders, array("q", [1]), "ab", moves, [1]) == 0


def test_a_text_without_parts_has_no_tokens() -> None:
    vocab = load_tokenizer(EMBEDDED).vocab
    (piece,) = vocab.encode_pieces(["ab"])
    ids = array("I", piece)
    encoded = EncodedText("ab", ids, array("q", [0, 2]), array("q", [len(ids)]), None)
    assert locate(vocab, encoded, []) == ([], [])
