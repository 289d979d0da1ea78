"""Find the bytes of a token that holds part of a character, with only a lookup of tokens by their text.

`decode` gives U+FFFD for such a token. Its bytes are one of the few sequences that are part of a character, so each is
looked up as a token: in the symbols of a byte-level vocabulary, or as a byte of the form `<0xE4>`.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator

from renderers.tokenizer.encoding.byte_text import BYTE_SYMBOLS

HALF = "\ufffd"
_CONTINUATION = range(0x80, 0xC0)
_MOST_CONTINUATIONS = 3


def find_bytes(number: int, text: str, lookup: Callable[[str], object]) -> bytes | None:
    """Return the bytes of a token that decodes to a text with U+FFFD; None if they cannot be found.

    `lookup` returns the id of a token.

    >>> find_bytes(7, "x\ufffd", {"xðŁ": 7}.get)
    b'x\\xf0\\x9f'
    """
    before, _, rest = text.partition(HALF)
    after = rest.lstrip(HALF)
    count = 1 + len(rest) - len(after)
    if HALF in after:
        return None
    prefix, suffix = (part.encode("utf-8", "surrogatepass") for part in (before, after))
    for part in _parts_of_characters(count):
        data = prefix + part + suffix
        if lookup("".join([BYTE_SYMBOLS[byte] for byte in data])) == number:
            return data
    if prefix or suffix or count > 1:
        return None
    return next((bytes([byte]) for byte in range(256) if lookup(f"<0x{byte:02X}>") == number), None)


def _parts_of_characters(count: int) -> Iterator[bytes]:
    """Yield the byte sequences that decode to a number of U+FFFD and are part of one character, and U+FFFD itself."""
    if count == 1:
        yield HALF.encode()
        yield from _starts_of_characters()
    if count <= _MOST_CONTINUATIONS:
        yield from map(bytes, itertools.product(_CONTINUATION, repeat=count))


@functools.cache
def _starts_of_characters() -> tuple[bytes, ...]:
    """Return the first one to three bytes of all characters, without whole characters. Short ones come first."""
    leads = (range(0xC2, 0xF5), range(0xE0, 0xF5), range(0xF0, 0xF5))
    starts = (itertools.product(lead, *([_CONTINUATION] * size)) for size, lead in enumerate(leads))
    return tuple(map(bytes, itertools.chain.from_iterable(starts)))
