"""Compute token offsets in a text from the text of each token."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence

_HALF = "\ufffd"
_MOST = 64
"""The most tokens that may share one offset, if a token holds bytes of two characters."""
_WIDEST = 4
"""The most characters that NFC composes to one."""


class UnalignedError(ValueError):
    """The tokens do not decode, one after the other, to the text that they were encoded from."""


def aligned_offsets(ids: Sequence[int], text: str, *, decode: Callable[[Sequence[int]], str]) -> list[tuple[int, int]]:
    """Return the start and end character of each token of a text.

    `decode` returns the text of tokens that are not at the start of a text. Tokens that form complete characters only
    together share the offsets of these characters. The text may have been composed (NFC) before it was encoded.

    >>> aligned_offsets([0, 1], "Hello!", decode=lambda ids: "".join(["Hel", "lo!"][at] for at in ids))
    [(0, 3), (3, 6)]
    """
    offsets: list[tuple[int, int]] = []
    start = 0
    while len(offsets) < len(ids):
        first = len(offsets)
        for last in range(first + 1, min(first + _MOST, len(ids)) + 1):
            piece = decode(ids[first:last])
            size = _size(piece, text, start)
            # An incomplete character decodes to U+FFFD, which may also be a character of the text.
            half = piece.endswith(_HALF) and last < len(ids) and decode(ids[first : last + 1]) == piece
            if size is not None and not half:
                offsets += [(start, start + size)] * (last - first)
                start += size
                break
            if _HALF not in piece:
                raise UnalignedError(f"token {first} is {piece!r}, but the text has {text[start : start + 20]!r}")
        else:
            raise UnalignedError(f"the tokens from {first} on do not form characters of the text")
    if start != len(text):
        raise UnalignedError(f"the tokens end before {text[start : start + 20]!r}")
    return offsets


def _size(piece: str, text: str, start: int) -> int | None:
    """Return the number of characters at `start` that compose to `piece`; None if there are none."""
    if text.startswith(piece, start):
        return len(piece)
    if _HALF in piece or text[start : start + len(piece)].isascii():
        return None
    most = min(_WIDEST * len(piece), len(text) - start)
    sizes = range(len(piece), most + 1)
    return next((size for size in sizes if unicodedata.normalize("NFC", text[start : start + size]) == piece), None)
