"""The wire text of tokens is what the tokenizer decodes them to."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders
from tokenizers.models import BPE

from renderers import EMBEDDED, load_tokenizer
from renderers.tokenizer.encoding import byte_text as module
from renderers.tokenizer.encoding.byte_text import UNKNOWN, ByteTexts, from_byte_text, texts_of_bytes, to_byte_text
from tests.support.models import one_model_per_vocabulary


@given(st.text())
def test_a_text_comes_back(text: str) -> None:
    wire = to_byte_text(text)
    assert from_byte_text(wire) == text
    assert len(wire) == len(text.encode())


@given(st.binary())
def test_bytes_that_are_no_text_are_replaced_as_in_decoding(data: bytes) -> None:
    assert from_byte_text(data.decode("latin-1")) == data.decode("utf-8", "replace")


@pytest.mark.parametrize("name", [str(EMBEDDED), *one_model_per_vocabulary()])
def test_joined_they_are_the_decoded_text(name: str, request: pytest.FixtureRequest) -> None:
    if name != str(EMBEDDED):
        request.getfixturevalue("hub")
    tokenizer = load_tokenizer(name)
    texts = tokenizer.vocab.byte_texts
    chance = random.Random(0)
    known = [number for number, text in enumerate(texts) if text != UNKNOWN]
    assert len(known) == len(set(tokenizer.get_vocab().values()))
    looked_up = tokenizer.vocab.token_texts
    sample = range(len(texts)) if tokenizer.vocab.byte_level else chance.sample(range(len(texts)), 2_000)
    assert [number for number in sample if looked_up[number] != texts[number]] == []
    assert looked_up[len(texts)] == looked_up[2**40] == UNKNOWN
    for size in (1, 2, 3, 5, 40):
        for _ in range(300):
            ids = chance.choices(known, k=size)
            wire = "".join(map(texts.__getitem__, ids))
            # A vocabulary of pieces writes one U+FFFD for each byte that is no text, where others write one for all.
            if tokenizer.vocab.byte_level or "\ufffd" not in from_byte_text(wire):
                assert from_byte_text(wire) == _decoded(tokenizer, ids)


def _decoded(tokenizer: object, ids: list[int]) -> str:
    """Decodes ids after a letter, so that a space that only the first token loses is there."""
    anchor = tokenizer.encode("a", add_special_tokens=False)  # type: ignore[attr-defined]
    whole: str = tokenizer.decode([*anchor, *ids])  # type: ignore[attr-defined]
    return whole.removeprefix("a")


def test_an_id_that_there_is_not_has_a_sign_of_its_own() -> None:
    texts = list(load_tokenizer(EMBEDDED).vocab.byte_texts)
    assert set(texts).isdisjoint({UNKNOWN}) or texts.count(UNKNOWN) < len(texts)


@pytest.mark.parametrize("vocabulary", [{}, {"a\uffffb": 0, "\u0120c": 2}])
def test_any_vocabulary_of_bytes_has_texts(vocabulary: dict[str, int]) -> None:
    backend = Tokenizer(BPE(vocab=vocabulary, merges=[]))
    expected = {0: to_byte_text("a\uffffb"), 2: " c"} if vocabulary else {}
    assert list(texts_of_bytes(backend, {"<x>": 3})) == [expected.get(number, UNKNOWN) for number in range(3)] + ["<x>"]


def test_texts_are_had_by_number() -> None:
    texts = ByteTexts(["a", "", "bc"])
    assert [texts[0], texts[1], texts[2], list(texts)] == ["a", "", "bc", ["a", "", "bc"]]
    for number in (-1, 3):
        with pytest.raises(IndexError, match=str(number)):
            texts[number]


@pytest.mark.parametrize("token", ["Ġ b", "é\xad", "Ġ你", "\xad"])
def test_a_token_with_other_characters_than_byte_symbols_has_the_text_that_it_decodes_to(token: str) -> None:
    vocabulary = {symbol: byte for byte, symbol in enumerate(module.BYTE_SYMBOLS)} | {token: 256}
    backend = Tokenizer(BPE(vocab=vocabulary, merges=[]))
    backend.decoder = decoders.ByteLevel()
    texts = texts_of_bytes(backend, {})
    assert from_byte_text(texts[256]) == backend.decode([256]) == token
    assert texts[ord("a")] == "a"


@given(st.text(st.sampled_from(module.BYTE_SYMBOLS)) | st.text(st.sampled_from([*module.BYTE_SYMBOLS, *"\0 \n\xad你"])))
def test_byte_symbols_are_translated_to_bytes_unless_other_characters_are_among_them(token: str) -> None:
    numbers = {symbol: byte for byte, symbol in enumerate(module.BYTE_SYMBOLS)}
    data = [numbers.get(character, -1) for character in token]
    expected = to_byte_text(token)
    if -1 not in data:
        # Bytes that UTF-8 never has stand for markers.
        expected = "".join("\xff" if byte in (0xC0, 0xC1, *range(0xF5, 0x100)) else chr(byte) for byte in data)
    backend = Tokenizer(BPE(vocab={token: 0}, merges=[]))
    assert module.text_of_bytes(backend, {})(0) == expected


class Letters:
    """A tokenizer of a caller's own: one token for each letter."""

    name_or_path = "letters"
    eos_token_id = 0
    unk_token_id = None

    def encode(self, text: str) -> list[int]:
        return [ord(letter) for letter in text]

    def decode(self, ids: list[int]) -> str:
        return "".join(map(chr, ids))

    def convert_tokens_to_ids(self, token: str) -> int:
        return ord(token)
