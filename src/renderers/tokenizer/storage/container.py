"""A file of named sections, each with a checksum.

The file begins with a magic number, the size of the file, and the size and checksum of an index in JSON. The index has
the key of the file and the place, size and checksum of each section.
"""

from __future__ import annotations

import json
import mmap
import struct
import zlib
from collections.abc import Mapping
from typing import Any

VERSION = 1
"""Increased with every change of the format."""
_HEAD = struct.Struct("<8sQQL")
_MAGIC = b"renderer"
_ALIGNMENT = 64
"""Sections begin at multiples of this, for tables of integers."""

Buffer = bytes | memoryview | mmap.mmap


class DamagedFileError(ValueError):
    """A file is cut, changed, or of another kind. The message is the reason."""


def pack(sections: Mapping[str, bytes], *, key: str) -> list[bytes]:
    """Return the parts of a file with these sections, to be written one after the other.

    >>> packed = b"".join(pack({"a": b"text", "b": b""}, key="k"))
    >>> Container(packed, key="k").section("a").tobytes()
    b'text'
    """
    # The places depend on the size of the index, so they are counted from its end.
    listed, end = {}, 0
    for name, content in sections.items():
        listed[name] = [end, len(content), zlib.crc32(content)]
        end = _aligned(end + len(content))
    index = json.dumps({"key": key, "sections": listed}).encode()
    start = _aligned(_HEAD.size + len(index))
    head = _HEAD.pack(_MAGIC, start + end, len(index), zlib.crc32(index))
    padded = ((content, bytes(_aligned(len(content)) - len(content))) for content in sections.values())
    return [(head + index).ljust(start, b"\0"), *(part for pair in padded for part in pair)]


def _aligned(place: int) -> int:
    return -(-place // _ALIGNMENT) * _ALIGNMENT


class Container:
    """The sections of a file. Each is compared with its checksum when it is first read."""

    def __init__(self, content: Buffer, *, key: str) -> None:
        """Take the content of a file.

        Raises:
            DamagedFileError: It is cut, it is not such a file, or it has another key.
        """
        self._content = memoryview(content)
        if len(self._content) < _HEAD.size:
            raise DamagedFileError(f"it has {len(self._content)} bytes")
        magic, size, index_size, checksum = _HEAD.unpack_from(self._content)
        if magic != _MAGIC or size != len(self._content):
            raise DamagedFileError("it begins with another magic number, or has another size")
        index = bytes(self._content[_HEAD.size : _HEAD.size + index_size])
        if len(index) != index_size or zlib.crc32(index) != checksum:
            raise DamagedFileError("its index does not have its checksum")
        read = _read_json(index)
        try:
            is_own, sections = read["key"] == key, read["sections"]
            self._sections = {
                name: (int(at), int(size), int(checksum)) for name, (at, size, checksum) in sections.items()
            }
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DamagedFileError(f"its index is not one of sections: {error}") from error
        if not is_own:
            raise DamagedFileError("it has another key")
        self._start = _aligned(_HEAD.size + index_size)
        self._checked: set[str] = set()

    def section(self, name: str) -> memoryview:
        """Return the content of a section, which is read-only.

        Raises:
            DamagedFileError: It does not have its checksum, or there is no such section.
        """
        if name not in self._sections:
            raise DamagedFileError(f"it has no section {name}")
        place, size, checksum = self._sections[name]
        content = self._content[self._start + place : self._start + place + size]
        if name not in self._checked:
            if len(content) != size or zlib.crc32(content) != checksum:
                raise DamagedFileError(f"its section {name} does not have its checksum")
            self._checked.add(name)
        return content.toreadonly()

    def is_intact(self) -> bool:
        """Return True if all sections have their checksums."""
        try:
            for name in self._sections:
                self.section(name)
        except DamagedFileError:
            return False
        return True

    def json_section(self, name: str) -> Any:
        """Return the value of a section in JSON."""
        return _read_json(bytes(self.section(name)))


def _read_json(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise DamagedFileError(f"a section is not JSON: {error}") from error
