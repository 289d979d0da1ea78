"""Where tokens are in the text that they were encoded from, by what they decode to."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence

__all__ = ["UnalignedError", "aligned_offsets"]

_HALF = "\ufffd"
_MOST = 64
"""How many tokens some characters may take that cannot be told apart, as bytes of one share a token with the next."""
_WIDEST = 4
"""Of how many characters one is composed at most."""


class UnalignedError(ValueError):
    """Tokens do not decode to the text that they were encoded from, piece by piece."""


def aligned_offsets(ids: Sequence[int], text: str, *, decode: Callable[[Sequence[int]], str]) -> list[tuple[int, int]]:
    """Returns each token's first character in a text and the one after its last.

    `decode` gives the text of some tokens that others stand before. Tokens that only together are whole characters
    all have the place of these. A text may have been composed (NFC) before it was encoded.

    Raises:
        UnalignedError: What a token decodes to is not what stands there.

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
            # Half of a character looks as that character does which stands for halves.
            half = piece.endswith(_HALF) and last < len(ids) and decode(ids[first : last + 1]) == piece
            if size is not None and not half:
                offsets += [(start, start + size)] * (last - first)
                start += size
                break
            if _HALF not in piece:
                raise UnalignedError(f"token {first} is {piece!r}, where the text has {text[start : start + 20]!r}")
        else:
            raise UnalignedError(f"token {first} and those after it are no characters of the text")
    if start != len(text):
        raise UnalignedError(f"no token is {text[start : start + 20]!r}")
    return offsets


def _size(piece: str, text: str, start: int) -> int | None:
    """Returns how many characters of a text are a piece of it as it was encoded; None where none are."""
    if text.startswith(piece, start):
        return len(piece)
    if _HALF in piece or text[start : start + len(piece)].isascii():
        return None
    most = min(_WIDEST * len(piece), len(text) - start)
    sizes = range(len(piece), most + 1)
    return next((size for size in sizes if unicodedata.normalize("NFC", text[start : start + size]) == piece), None)
