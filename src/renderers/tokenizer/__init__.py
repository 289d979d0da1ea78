"""Tokenizers: loading them from files, and taking over those that callers bring."""

from __future__ import annotations

from renderers.tokenizer.adopt import ForeignTokenizer, adopt_tokenizer
from renderers.tokenizer.load import load_tokenizer
from renderers.tokenizer.loaded import LoadedTokenizer
from renderers.tokenizer.repositories import MIRRORS, TRUSTED_REVISIONS
from renderers.tokenizer.shapes import Encoded, Source

__all__ = [
    "MIRRORS",
    "TRUSTED_REVISIONS",
    "Encoded",
    "ForeignTokenizer",
    "LoadedTokenizer",
    "Source",
    "adopt_tokenizer",
    "load_tokenizer",
]
