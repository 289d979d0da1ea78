"""The bytes of a token that is part of a character are found by looking tokens up."""

from __future__ import annotations

import pytest

from renderers.tokenizer.encoding.byte_text import BYTE_SYMBOLS
from renderers.tokenizer.encoding.partial_characters import find_bytes


def symbols(data: bytes) -> str:
    return "".join(BYTE_SYMBOLS[byte] for byte in data)


PARTS = [
    b"\xf0",
    b"\xf0\x9f",
    b"\xf0\x9f\x99",
    b"\xe4\xbd",
    b"\xc3",
    b"\x82",
    b"\x99\x82",
    b"\x9f\x99\x82",
    b" \xf0\x9f",
    b"\xbd!",
    "\ufffd".encode(),
]


@pytest.mark.parametrize("data", PARTS)
def test_each_part_of_a_character_is_found(data: bytes) -> None:
    assert find_bytes(7, data.decode("utf-8", "replace"), {symbols(data): 7}.get) == data


@pytest.mark.parametrize("data", [b"\x82", b"\xe4", b"\xff"])
def test_a_byte_of_a_vocabulary_with_fallback_is_found(data: bytes) -> None:
    assert find_bytes(7, data.decode("utf-8", "replace"), {f"<0x{data[0]:02X}>": 7}.get) == data


@pytest.mark.parametrize("text", ["\ufffd", "\ufffda\ufffd", "\ufffd" * 4])
def test_other_tokens_are_not_found(text: str) -> None:
    assert find_bytes(7, text, lambda _: None) is None
