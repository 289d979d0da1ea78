"""Tokens and merges are read from the model, and what is not supported is refused."""

from __future__ import annotations

from typing import Any

import pytest
from tokenizers import AddedToken, Tokenizer, models

from renderers import EMBEDDED, load_tokenizer
from renderers.tokenizer.compiled.block import BY_CHARACTER, IGNORES_MERGES, WRITES_SPACES, UnfitVocabularyError
from renderers.tokenizer.compiled.model import read_model
from renderers.tokenizer.encoding.byte_text import BYTE_SYMBOLS

BYTES = {symbol: byte for byte, symbol in enumerate(BYTE_SYMBOLS)}
FALLBACK = {f"<0x{byte:02X}>": byte for byte in range(256)}


def model_of(vocabulary: dict[str, int], merges: list[tuple[str, str]], **options: Any) -> Tokenizer:
    return Tokenizer(models.BPE(vocabulary, merges, **options))


def test_tokens_of_bytes() -> None:
    backend = model_of({**BYTES, "ab": 256, "Ġab": 258, "日": 260}, [("a", "b"), ("Ġ", "ab")], ignore_merges=True)
    backend.add_special_tokens(["<é>"])
    model = read_model(backend, byte_level=True)
    assert model.texts[255:] == [b"\xff", b"ab", None, b" ab", "<é>".encode(), None]
    assert list(model.in_model[255:]) == [1, 1, 0, 1, 0, 0]
    assert model.merges.tolist() == [97, 98, 32, 256]
    assert model.results.tolist() == [256, 258]
    assert model.byte_ids.tolist() == list(range(256))
    assert model.flags == IGNORES_MERGES


def test_tokens_of_characters() -> None:
    model = read_model(model_of({**FALLBACK, "▁": 256, "é": 257}, [], byte_fallback=True), byte_level=False)
    assert model.texts[10] == b"\n"
    assert model.texts[256:] == [b" ", "é".encode()]
    assert list(model.in_model) == [0] * 256 + [1, 1]
    assert model.flags == BY_CHARACTER | WRITES_SPACES


def test_bytes_that_no_text_has_may_be_missing() -> None:
    present = {symbol: number for symbol, number in BYTES.items() if number not in (0xC0, 0xFF)}
    assert read_model(model_of(present, []), byte_level=True).byte_ids[0xFF] == 2**32 - 1
    del present["a"]
    with pytest.raises(UnfitVocabularyError, match="no token for some bytes"):
        read_model(model_of(present, []), byte_level=True)


@pytest.mark.parametrize(
    ("backend", "reason"),
    [
        (Tokenizer(models.WordLevel({"a": 0}, unk_token="a")), "is not BPE"),
        (model_of(BYTES, [], dropout=0.1), "option"),
        (model_of(BYTES, [], continuing_subword_prefix="##"), "option"),
        (model_of(BYTES, [], end_of_word_suffix="</w>"), "option"),
        (model_of({**BYTES, "ab": 2**31}, []), "more than 2,097,151 ids"),
    ],
)
def test_other_models_are_refused(backend: Tokenizer, reason: str) -> None:
    with pytest.raises(UnfitVocabularyError, match=reason):
        read_model(backend, byte_level=True)


def test_characters_need_tokens_for_bytes() -> None:
    with pytest.raises(UnfitVocabularyError, match="no tokens for bytes"):
        read_model(model_of({"a": 0}, []), byte_level=False)


def test_a_token_with_a_space_is_not_part_of_normalized_text() -> None:
    backend = model_of({**FALLBACK, "▁": 256, "▁a": 257, " a": 258}, [], byte_fallback=True)
    model = read_model(backend, byte_level=False)
    assert model.texts[256:] == [b" ", b" a", None]
    assert list(model.in_model[256:]) == [1, 1, 0]


def test_spaces_need_a_token() -> None:
    with pytest.raises(UnfitVocabularyError, match="no token for a space"):
        read_model(model_of(FALLBACK, [], byte_fallback=True), byte_level=False)


BYTE_TOKENS = {f"<0x{byte:02X}>": byte for byte in range(256)}


def test_merges_of_tokens_for_bytes_are_refused() -> None:
    backend = model_of({**BYTE_TOKENS, "<0xAC><0xE2>": 256}, [("<0xAC>", "<0xE2>")], byte_fallback=True)
    with pytest.raises(UnfitVocabularyError, match="merges tokens of bytes"):
        read_model(backend, byte_level=False)


def test_an_added_token_with_the_id_of_another_text_is_refused() -> None:
    backend = model_of({**BYTES, "Ġa": 256}, [])
    backend.add_tokens([AddedToken("Ġa")])
    with pytest.raises(UnfitVocabularyError, match="has another text"):
        read_model(backend, byte_level=True)


def test_the_texts_are_those_of_the_tokenizer() -> None:
    tokenizer = load_tokenizer(EMBEDDED)
    model = read_model(tokenizer.vocab.backend, byte_level=True)
    for number, text in enumerate(model.texts):
        assert text is not None
        assert text.decode(errors="replace") == tokenizer.decode(number)
