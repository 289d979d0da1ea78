"""Tokens are found by their bytes."""

from __future__ import annotations

import pytest

from renderers.tokenizer.compiled.block import join_texts
from renderers.tokenizer.compiled.words import ID_SHIFT, SLOT, find_slot, key_of

TOKENS = [b"a", b"ab", b"a\0", b"twelve bytes", b"thirteen byte", b"thirteen bytf", b"x" * 300, b""]


def table_of(slots: int) -> memoryview:
    words = bytearray(slots * SLOT.size)
    for number, token in enumerate(TOKENS[:-1]):
        low, high, length, place = key_of(token)
        while SLOT.unpack_from(words, place % slots * SLOT.size)[2]:
            place += 1
        SLOT.pack_into(words, place % slots * SLOT.size, low, high, number << ID_SHIFT | length)
    return memoryview(words)


@pytest.mark.parametrize("slots", [7, 8, 64])
def test_each_token_and_nothing_else_is_in_the_table(slots: int) -> None:
    starts, texts = join_texts(TOKENS)
    for number, token in enumerate(TOKENS[:-1]):
        meta = find_slot(table_of(slots), token, starts=starts, texts=memoryview(texts))
        assert meta >> ID_SHIFT == number
    for other in (b"", b"b", b"\0", b"abc", b"thirteen bytg", b"x" * 299, b"x" * 301):
        assert find_slot(table_of(slots), other, starts=starts, texts=memoryview(texts)) == 0


def test_a_slot_of_an_id_without_a_token_is_not_used() -> None:
    assert find_slot(table_of(8), b"thirteen byte", starts=[], texts=memoryview(b"")) == 0


def test_an_empty_table_has_no_tokens() -> None:
    assert find_slot(memoryview(b""), b"a", starts=[], texts=memoryview(b"")) == 0
