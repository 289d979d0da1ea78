"""`LazyTokenizer`: a tokenizer of the Rust library that is built when it is first used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from renderers.core.lazy import lazy
from renderers.tokenizer.encoding.normalized import is_composed
from renderers.tokenizer.facts import TokenizerFacts
from renderers.tokenizer.loading.single_flight import SingleFlight

if TYPE_CHECKING:
    from tokenizers import Tokenizer

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
    if is_composed(text):
        return text
    # The tables of the Rust library, which may be of another version of Unicode than those of Python.
    from tokenizers.normalizers import NFC

    composed: str = NFC().normalize_str(text)
    return composed
