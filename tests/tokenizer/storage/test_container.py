"""Files of sections with checksums: any damage is found."""

from __future__ import annotations

import json
import random
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderers.tokenizer.storage import container
from renderers.tokenizer.storage.container import Container, DamagedFileError, pack

SECTIONS = {"a": b"first section", "b": b"", "c": bytes(range(256)) * 9}


def packed(sections: dict[str, bytes] = SECTIONS) -> bytes:
    return b"".join(pack(sections, key="the key"))


def read_all(content: bytes) -> dict[str, bytes]:
    container = Container(content, key="the key")
    return {name: bytes(container.section(name)) for name in SECTIONS}


@given(st.dictionaries(st.text(), st.binary()))
def test_sections_are_read_as_they_were_written(sections: dict[str, bytes]) -> None:
    container = Container(packed(sections), key="the key")
    assert {name: bytes(container.section(name)) for name in sections} == sections


def test_sections_are_read_only_and_aligned() -> None:
    content = packed()
    section = Container(memoryview(bytearray(content)), key="the key").section("c")
    assert section.readonly
    assert content.index(SECTIONS["c"]) % 64 == 0


def test_a_cut_file_is_damaged_wherever_it_is_cut() -> None:
    content = packed()
    for size in range(len(content)):
        with pytest.raises(DamagedFileError):
            Container(content[:size], key="the key")
    with pytest.raises(DamagedFileError):
        Container(content + b"\0", key="the key")


def test_a_changed_byte_is_found_unless_it_is_padding() -> None:
    content, due = packed(), read_all(packed())
    chance = random.Random(0)
    found = 0
    for at in range(len(content)):
        changed = bytearray(content)
        changed[at] ^= chance.randrange(1, 256)
        try:
            assert read_all(bytes(changed)) == due
        except DamagedFileError:
            found += 1
    assert found >= sum(map(len, SECTIONS.values()))


@given(st.binary(max_size=300))
def test_foreign_bytes_are_damaged(content: bytes) -> None:
    with pytest.raises(DamagedFileError):
        Container(content, key="the key")
    with pytest.raises(DamagedFileError):
        Container(packed()[:8] + content, key="the key")


def test_another_key_and_an_unknown_section_are_errors() -> None:
    with pytest.raises(DamagedFileError, match="another key"):
        Container(packed(), key="another")
    with pytest.raises(DamagedFileError, match="no section d"):
        Container(packed(), key="the key").section("d")


def test_json_sections() -> None:
    content = b"".join(pack({"good": b'{"a": [1]}', "bad": b"{"}, key="k"))
    assert Container(content, key="k").json_section("good") == {"a": [1]}
    with pytest.raises(DamagedFileError, match="not JSON"):
        Container(content, key="k").json_section("bad")


@pytest.mark.parametrize(
    "index", [{}, [], {"key": "k"}, {"key": "k", "sections": {"a": [1]}}, {"key": "k", "sections": 3}]
)
def test_an_index_of_another_kind_is_damaged(index: object) -> None:
    written = json.dumps(index).encode()
    head = container._HEAD.pack(b"renderer", container._HEAD.size + len(written), len(written), zlib.crc32(written))
    with pytest.raises(DamagedFileError):
        Container(head + written, key="k")


def test_a_file_is_intact_if_all_its_sections_are() -> None:
    packed = b"".join(pack({"a": b"text", "b": b"more"}, key="k"))
    assert Container(packed, key="k").is_intact()
    assert not Container(packed.replace(b"more", b"mare"), key="k").is_intact()
