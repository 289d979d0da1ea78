"""The block of a compiled vocabulary: a header and sections, read from bytes or from a file in memory."""

from __future__ import annotations

import json
import struct
from array import array
from collections.abc import Iterable, Mapping
from mmap import mmap
from typing import Any

from renderers.tokenizer.compiled.words import ID_SHIFT, find_slot

Buffer = bytes | bytearray | memoryview | mmap

FORMAT = 7
"""The version of the format. It is increased with every change of the format, or of what it means."""
MAGIC = b"RNDRBPE1"
ALIGNMENT = 64
ACCEPT = 1 << 31
"""Added to a transition before which a match ends."""
PAGE = 256
PAGES = 0x110000 // PAGE
UNKNOWN, CHANGES, FIRST, SECOND, MARK = 1, 2, 4, 8, 16
"""Flags of a class of characters: its properties are not known; NFC may change it by itself; NFC may compose it with a
character after it, or before it; it has a combining class."""
DROPS_GAPS = 1
"""The flag of a stage that drops the text between its matches."""
IGNORES_MERGES, WRITES_SPACES, BY_CHARACTER = 1, 2, 4
"""Flags of the model: a word that is a token is that token; texts have spaces for U+2581; merges begin with
characters."""
TORN_RIGHT, TORN_LEFT, TORN_BOTH = 1, 2, 4
"""Kinds of tokens: some have only a part of a character at the end, at the start, or at both."""
NO_RANK = 0xFFFFFFFF
NO_ID = 0xFFFFFFFF
NO_SCAN = 0xFFFFFFFF
"""In place of the place of a scan table, if a stage has none."""
STAGE = 3
"""The numbers of a stage."""
MOST_STAGES = 8
MOST_IDS, MOST_MERGES = (1 << 21) - 1, (1 << 22) - 1
"""A slot of a pair has two ids of 21 bits and a rank of 22 bits."""

SECTIONS = (
    "meta",
    "settings",
    "starts",
    "bytes",
    "words",
    "pairs",
    "results",
    "byte_ids",
    "byte_ranks",
    "joins",
    "index",
    "pages",
    "flags",
    "orders",
    "stages",
    "transitions",
    "scans",
)
"""The names of the sections, in order. `src/native/block.h` describes each."""
_HEADER = struct.Struct("<8sII")
_SECTION = struct.Struct("<QQ")
_SIZE = _HEADER.size + _SECTION.size * len(SECTIONS)


class UnfitVocabularyError(ValueError):
    """A vocabulary cannot be compiled. The message is the reason."""


def build_block(sections: Mapping[str, Buffer | array[int]]) -> bytes:
    """Return the block of some sections. Others are empty."""
    parts = [memoryview(sections.get(name, b"")).cast("B") for name in SECTIONS]
    places: list[tuple[int, int]] = []
    end = _SIZE
    for part in parts:
        start = -(-end // ALIGNMENT) * ALIGNMENT
        places.append((start, len(part)))
        end = start + len(part)
    block = bytearray(end)
    _HEADER.pack_into(block, 0, MAGIC, FORMAT, len(SECTIONS))
    for number, ((start, size), part) in enumerate(zip(places, parts, strict=True)):
        _SECTION.pack_into(block, _HEADER.size + _SECTION.size * number, start, size)
        block[start : start + size] = part
    return bytes(block)


def read_sections(buffer: Buffer) -> dict[str, memoryview]:
    """Return the sections of a block by name.

    Raises:
        ValueError: It is not a block of this format, or is damaged.
    """
    return _sections_of(memoryview(buffer).cast("B").toreadonly())


def writable_sections(buffer: bytearray) -> dict[str, memoryview]:
    """Return the sections of a block that is being built."""
    return _sections_of(memoryview(buffer))


def _sections_of(view: memoryview) -> dict[str, memoryview]:
    if len(view) < _SIZE or _HEADER.unpack_from(view) != (MAGIC, FORMAT, len(SECTIONS)):
        raise ValueError("this is not a compiled vocabulary of this version")
    sections = {}
    for number, name in enumerate(SECTIONS):
        start, size = _SECTION.unpack_from(view, _HEADER.size + _SECTION.size * number)
        if start % ALIGNMENT or start > len(view) or size > len(view) - start:
            raise ValueError("a compiled vocabulary is damaged")
        sections[name] = view[start : start + size]
    return sections


class CompiledVocabulary:
    """A compiled vocabulary; read from a buffer that must not change.

    Only the header is checked. The functions that read the sections never read outside of the buffer, but the ids of
    a damaged block are wrong, so that a file needs a checksum.
    """

    def __init__(self, buffer: Buffer) -> None:
        """Read the header. `ValueError` if it is not that of a block of this version."""
        sections = read_sections(buffer)
        self.buffer = buffer
        self.meta: Mapping[str, Any] = json.loads(bytes(sections["meta"]))
        """The version of `tokenizers`, the normalizer, and the number of texts that were compared."""
        try:
            self._starts = sections["starts"].cast("I")
        except TypeError:
            raise ValueError("a compiled vocabulary is damaged") from None
        self._bytes = sections["bytes"]
        self._words = sections["words"]

    def __len__(self) -> int:
        return len(self._starts) // 2

    def text_of(self, number: int) -> bytes | None:
        """Return the text of a token as bytes; None if there is none with this id."""
        if not 0 <= number < len(self):
            return None
        start, size = self._starts[2 * number], self._starts[2 * number + 1]
        if size == NO_ID:
            return None
        return bytes(self._bytes[start : start + size])

    def id_of(self, data: bytes) -> int | None:
        """Return the id of a token of the model by its bytes; None if there is none. Added tokens have none."""
        meta = find_slot(self._words, data, starts=self._starts, texts=self._bytes)
        return meta >> ID_SHIFT if meta else None


def join_texts(texts: Iterable[bytes | None]) -> tuple[array[int], bytes]:
    """Return the start and size of each text, and all texts."""
    places = array("I")
    parts: list[bytes] = []
    end = 0
    for text in texts:
        places.extend((end, NO_ID if text is None else len(text)))
        parts.append(text or b"")
        end += len(parts[-1])
    return places, b"".join(parts)
