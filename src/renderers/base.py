"""The import path of `renderers.base` that users of earlier releases know: the same names, from where they live."""

from __future__ import annotations

from renderers.protocols import ChatTemplateTokenizer, OffsetTokenizer, Tokenizer
from renderers.tokenizer import TRUSTED_REVISIONS, load_tokenizer

__all__ = ["TRUSTED_REVISIONS", "ChatTemplateTokenizer", "OffsetTokenizer", "Tokenizer", "load_tokenizer"]
