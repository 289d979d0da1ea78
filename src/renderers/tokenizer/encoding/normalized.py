"""The composed form (NFC) of texts."""

from __future__ import annotations

import unicodedata

from renderers.core.lazy import lazy_pattern

UNCOMMON = lazy_pattern(
    "[^\0-\u0377\u0400-\u052f\u0620-\u06ff\u0900-\u097f\u0e01-\u0e3a\u1e00-\u1eff\u2000-\u2064\u2190-\u2426\u2460-\u2b73\u3041-\u3096"
    "\u3099-\u30ff\u4e00-\u9fff\uac00-\ud7a3\uff01-\uffbe\U0001f300-\U0001f64f]"
)
"""Matches the characters that are not in ranges without unassigned ones."""


def is_composed(text: str) -> bool:
    """Return True if NFC keeps a text; False if it may change it."""
    # The normal form of assigned characters is the same in all versions of Unicode. Python finds it much faster.
    return unicodedata.is_normalized("NFC", text) and not _has_unassigned(text)


def _has_unassigned(text: str) -> bool:
    return any(unicodedata.category(character) == "Cn" for character in set(UNCOMMON.findall(text)))
