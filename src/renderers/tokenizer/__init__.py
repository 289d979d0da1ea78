"""Tokenizers: load them from files or the hub, or adopt a caller's object."""

from __future__ import annotations

from renderers.tokenizer.foreign import ForeignTokenizer
from renderers.tokenizer.loading.adopt import adopt_tokenizer
from renderers.tokenizer.loading.load import load_tokenizer
from renderers.tokenizer.loading.locate import MIRRORS, TRUSTED_REVISIONS
from renderers.tokenizer.tokenizer import LoadedTokenizer, TokenizerOutput, TokenizerSource

Encoded = TokenizerOutput
"""Alias of `TokenizerOutput`."""
Source = TokenizerSource
"""Alias of `TokenizerSource`."""

__all__ = [
    "MIRRORS",
    "TRUSTED_REVISIONS",
    "Encoded",
    "ForeignTokenizer",
    "LoadedTokenizer",
    "Source",
    "TokenizerOutput",
    "TokenizerSource",
    "adopt_tokenizer",
    "load_tokenizer",
]
