"""The texts of the tokens of a caller's own tokenizer: bounded, logged errors, and parts of characters."""

from __future__ import annotations

from collections import Counter

import pytest

from renderers import adopt_tokenizer
from renderers.tokenizer import foreign_texts as module
from renderers.tokenizer.encoding.byte_text import BYTE_SYMBOLS, UNKNOWN, to_byte_text
from tests.tokenizer.encoding.test_byte_text import Letters


class CountingLetters(Letters):
    """The same, counting how often each token is decoded after another one."""

    def __init__(self) -> None:
        self.decoded: Counter[int] = Counter()

    def decode(self, ids: list[int]) -> str:
        self.decoded.update(ids[1:])
        return super().decode(ids)


def test_texts_of_a_callers_tokenizer_are_bounded_and_those_in_use_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CACHED_TEXTS", 100)
    letters = CountingLetters()
    texts = adopt_tokenizer(letters).vocab.token_texts
    letters.decoded.clear()
    for number in range(1000, 4000):
        assert [texts[ord("a")], texts[number]] == ["a", to_byte_text(chr(number))]
    assert len(texts) + len(texts._older) <= 200  # type: ignore[union-attr]
    assert letters.decoded[ord("a")] == 1


def test_what_a_callers_decode_raises_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG", "renderers")
    assert adopt_tokenizer(Letters()).vocab.token_texts[10**9] == UNKNOWN
    assert "decode([1000000000]) raised ValueError" in caplog.text


def test_a_callers_own_tokenizer_is_asked_token_by_token() -> None:
    texts = adopt_tokenizer(Letters()).vocab.token_texts
    assert [texts[ord("é")], texts[10**9]] == ["Ã©", UNKNOWN]


class Bytes(Letters):
    """A byte-level tokenizer: each byte is a token, named by its symbol."""

    def encode(self, text: str) -> list[int]:
        return list(text.encode())

    def decode(self, ids: list[int]) -> str:
        return bytes(ids).decode("utf-8", "replace")

    def convert_tokens_to_ids(self, token: str) -> int:
        return BYTE_SYMBOLS.index(token) if token in BYTE_SYMBOLS else -1


def test_a_token_that_is_part_of_a_character_has_its_own_byte() -> None:
    texts = adopt_tokenizer(Bytes()).vocab.token_texts
    assert "".join(texts[number] for number in "a🙂é".encode()) == to_byte_text("a🙂é")
