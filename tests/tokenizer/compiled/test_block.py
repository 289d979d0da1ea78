"""A block is read as it was written, and nothing else is."""

from __future__ import annotations

from array import array

import pytest

from renderers.tokenizer.compiled.block import (
    ALIGNMENT,
    CompiledVocabulary,
    build_block,
    join_texts,
    read_sections,
    writable_sections,
)


def block_of(texts: list[bytes | None], flags: int = 0) -> bytes:
    starts, joined = join_texts(texts)
    settings = array("I", [flags, 0, 0, 0])
    return build_block({"meta": b'{"probes": 3}', "settings": settings, "starts": starts, "bytes": joined})


def test_sections_are_aligned_and_complete() -> None:
    block = block_of([b"a"])
    sections = read_sections(block)
    assert bytes(sections["meta"]) == b'{"probes": 3}'
    assert len(sections["words"]) == 0
    copy = bytearray(block)
    writable_sections(copy)["bytes"][:] = b"b"
    assert copy.index(b"b", copy.index(b"}")) % ALIGNMENT == 0
    assert CompiledVocabulary(bytes(copy)).text_of(0) == b"b"


def test_tokens_have_texts_by_id() -> None:
    vocabulary = CompiledVocabulary(block_of([b"a", None, b"", b"bc"]))
    assert len(vocabulary) == 4
    assert [vocabulary.text_of(number) for number in range(-1, 5)] == [None, b"a", None, b"", b"bc", None]
    assert vocabulary.meta == {"probes": 3}


@pytest.mark.parametrize("size", [0, 8, 100, 255, 300, 319])
def test_a_block_that_is_cut_off_is_an_error(size: int) -> None:
    with pytest.raises(ValueError, match="compiled vocabulary"):
        CompiledVocabulary(block_of([b"a"] * 40)[:size])


@pytest.mark.parametrize("place", [0, 8, 12, 16, 24, 40, 48])
def test_a_damaged_header_is_an_error(place: int) -> None:
    block = bytearray(block_of([b"a"]))
    block[place] ^= 0xFF
    block[place + 1] ^= 0xFF
    with pytest.raises(ValueError, match=r"compiled vocabulary|Expecting value|decode"):
        CompiledVocabulary(bytes(block))
