"""The hash table of the tokens of a compiled vocabulary."""

from __future__ import annotations

import struct
from collections.abc import Sequence

SLOT = struct.Struct("<QII")
"""A token of up to 12 bytes, or the hash and the length of a longer one; then its length, a flag, and its id."""
PRODUCED = 16
"""The flag of a token that merges produce from its bytes."""
ID_SHIFT = 5
_SHORT = 12
_LONG = 13
_BITS = 2**64 - 1


def mix(value: int) -> int:
    """Return a hash of a number."""
    value = value * 0x9E3779B97F4A7C15 & _BITS
    return value ^ (value >> 32)


def key_of(data: bytes) -> tuple[int, int, int, int]:
    """Return the two numbers and the length of a token in its slot, and its hash."""
    size = len(data)
    if size <= _SHORT:
        low, high = struct.unpack("<QI", data.ljust(_SHORT, b"\0"))
        return low, high, size, mix(low ^ mix(high << 8 | size))
    value = hash_long(data)
    return value, size, _LONG, value


def hash_long(data: bytes) -> int:
    """Return a hash of bytes."""
    value = mix(len(data))
    rest = len(data) - len(data) % 8
    for (part,) in struct.iter_unpack("<Q", data[:rest]):
        value = mix(value ^ part)
    return mix(value ^ int.from_bytes(data[rest:], "little"))


def find_slot(words: memoryview, data: bytes, *, starts: Sequence[int], texts: memoryview) -> int:
    """Return the last number of the slot of a token, 0 if the bytes are not a token.

    `starts` are the start and the size of the text of each token in `texts`.
    """
    low, high, length, place = key_of(data)
    slots = len(words) // SLOT.size
    for tries in range(slots if data else 0):
        own_low, own_high, meta = SLOT.unpack_from(words, (place + tries) % slots * SLOT.size)
        if meta == 0:
            break
        if (own_low, own_high, meta & 15) != (low, high, length):
            continue
        number = meta >> ID_SHIFT
        if length < _LONG or (
            2 * number < len(starts) and bytes(texts[starts[2 * number] :][: starts[2 * number + 1]]) == data
        ):
            return int(meta)
    return 0
