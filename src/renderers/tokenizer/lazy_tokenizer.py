"""`LazyTokenizer`: a tokenizer of the Rust library that is built when it is first used."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from renderers.core.lazy import lazy, lazy_pattern
from renderers.tokenizer.facts import TokenizerFacts
from renderers.tokenizer.loading.single_flight import SingleFlight

if TYPE_CHECKING:
    from tokenizers import Tokenizer

UNCOMMON = lazy_pattern(
    "[^\0-\u0377\u0400-\u052f\u0620-\u06ff\u0900-\u097f\u0e01-\u0e3a\u1e00-\u1eff\u2000-\u2064\u2190-\u2426\u2460-\u2b73\u3041-\u3096"
    "\u3099-\u30ff\u4e00-\u9fff\uac00-\ud7a3\uff01-\uffbe\U0001f300-\U0001f64f]"
)
"""Matches the characters that are not in ranges without unassigned ones."""

_BUILDS: SingleFlight[Tokenizer] = SingleFlight(keep=0)
"""By digest: threads that need a tokenizer at the same time build it once."""


@dataclass(frozen=True, eq=False, repr=False)
class LazyTokenizer:
    """A tokenizer, or the function that builds it. Building takes a third of a second."""

    digest: str
    build: Callable[[], Tokenizer]

    @lazy
    def tokenizer(self) -> Tokenizer:
        """The tokenizer."""
        return _BUILDS.get(self.digest, version=None, work=self.build)


def normalizer_of(truth: LazyTokenizer, facts: TokenizerFacts) -> Callable[[str], str]:
    """Return the function that normalizes texts as a tokenizer does. NFC does not need the tokenizer."""
    if not facts.normalizes:
        return str
    if facts.composes:
        return _compose
    return lambda text: truth.tokenizer.normalizer.normalize_str(text)


def _compose(text: str) -> str:
    # The normal form of assigned characters is the same in all versions of Unicode. Python finds it much faster.
    if unicodedata.is_normalized("NFC", text) and not _has_unassigned(text):
        return text
    # The tables of the Rust library, which may be of another version of Unicode than those of Python.
    from tokenizers.normalizers import NFC

    composed: str = NFC().normalize_str(text)
    return composed


def _has_unassigned(text: str) -> bool:
    return any(unicodedata.category(character) == "Cn" for character in set(UNCOMMON.findall(text)))
