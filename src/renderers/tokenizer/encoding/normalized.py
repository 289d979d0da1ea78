"""The composed form (NFC) of texts, and places in a text and in its normalized form."""

from __future__ import annotations

import bisect
import functools
import itertools
import unicodedata
from array import array
from collections.abc import Iterable
from typing import NamedTuple

from renderers.core.lazy import lazy_pattern

UNCOMMON = lazy_pattern(
    "[^\0-\u0377\u0400-\u052f\u0620-\u06ff\u0900-\u097f\u0e01-\u0e3a\u1e00-\u1eff\u2000-\u2064\u2190-\u2426\u2460-\u2b73\u3041-\u3096"
    "\u3099-\u30ff\u4e00-\u9fff\uac00-\ud7a3\uff01-\uffbe\U0001f300-\U0001f64f]"
)
"""Matches the characters that are not in ranges without unassigned ones."""
UNSURE = lazy_pattern(
    "[^\0-\u02ff\u0391-\u03a1\u03a3-\u0482\u048a-\u052f\u05d0-\u05ea\u0620-\u064a\u0671-\u06d5\u0903-\u0939\u093d-\u094c\u0e01-\u0e37"
    "\u0e40-\u0e47\u1100-\u1112\u1e00-\u1eff\u2010-\u2027\u2190-\u21ff\u2500-\u26ff\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff\uac00-\ud7a3"
    "\uff01-\uff5e\U0001f300-\U0001f64f]+"
)
"""Matches texts that NFC may change, also together with the character before. Other characters are kept, and are not
composed with the text before them.
"""
_LONGEST = 64
"""The characters of the longest part of a text that is composed: the time for a part is quadratic."""
_KEPT_PARTS = 4096


class NormalizedText(NamedTuple):
    """The normalized form of a text."""

    text: str
    moves: array[int]
    """Pairs of a place in the text and the place in the normalized text of the characters from there on, in order.
    Both texts are equal up to the first pair, and from the last one on.
    """


def is_composed(text: str) -> bool:
    """Return True if NFC keeps a text; False if it may change it."""
    # The normal form of assigned characters is the same in all versions of Unicode. Python finds it much faster.
    return unicodedata.is_normalized("NFC", text) and not _has_unassigned(text)


def _has_unassigned(text: str) -> bool:
    return any(unicodedata.category(character) == "Cn" for character in set(UNCOMMON.findall(text)))


def compose(text: str) -> NormalizedText | None:
    """Return the composed form of a text; None if it would take long.

    Only parts of the text are composed. Their characters have the places that `tokenizers` gives them.

    >>> compose("cafe\u0301!")
    NormalizedText(text='café!', moves=array('q', [5, 4]))
    """
    parts: list[str] = []
    moves = array("q")
    end = size = 0
    for match in UNSURE.finditer(text):
        # A mark belongs to the character before it, which is in no match.
        first, last = match.span()
        start = first - 1 if first else 0
        part = text[start:last]
        if len(part) > _LONGEST:
            if is_composed(part):
                continue
            return None
        composed, own_moves = _compose(part)
        if composed == part:
            continue
        parts += (text[end:start], composed)
        size += start - end
        for place, count in own_moves:
            moves.extend((start + place, size + count))
        size += len(composed)
        end = last
    parts.append(text[end:])
    return NormalizedText("".join(parts), moves)


@functools.lru_cache(maxsize=_KEPT_PARTS)
def _compose(part: str) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Return the composed form of a text, and each place to move with the composed characters that begin before it."""
    # The tables of the Rust library, which may be of another version of Unicode than those of Python.
    from tokenizers import NormalizedString

    composed = NormalizedString(part)
    composed.nfc()
    text: str = composed.normalized
    # The slice up to a character includes the original that it begins at, and none after that.
    slices = (composed[: at + 1] for at in range(len(text)))
    starts = [len(before.original) - 1 for before in slices if before is not None]
    counts = [(place, bisect.bisect_left(starts, place)) for place in range(len(part) + 1)]
    # A place without an entry is as far from the one before as in the text.
    pairs = itertools.pairwise(counts)
    return text, tuple([after for before, after in pairs if after[1] != before[1] + 1])


def move_in_python(moves: array[int], places: Iterable[int]) -> list[int]:
    """Return the places in a normalized text of places in the text: the characters before them begin before these.

    >>> move_in_python(array("q", [5, 4]), range(7))
    [0, 1, 2, 3, 4, 4, 5]
    """
    sources, targets = moves[::2], moves[1::2]
    last_moves = ((place, bisect.bisect_right(sources, place) - 1) for place in places)
    return [targets[at] + place - sources[at] if at >= 0 else place for place, at in last_moves]
