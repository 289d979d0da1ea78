"""Compare and quote texts."""

from __future__ import annotations

import hashlib
import re

__all__ = ["LEXEME", "common_prefix_length", "first_difference", "quote_short"]

LEXEME = re.compile(r"<[^<>\s]{1,60}>|\[/?[A-Z_]{2,40}\]|\w+|\s|.", re.DOTALL)
"""A unit of template text: a marker, a word, or a single character."""
_QUOTED = 60
"""How many characters of each end of a long text are quoted."""


def common_prefix_length(one: str, other: str) -> int:
    """Return the length of the common prefix of two texts.

    >>> common_prefix_length("river", "rift")
    2
    """
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def first_difference(one: str, other: str) -> int:
    """Return the offset of the first lexeme of a text that is not in the other at the same place.

    >>> first_difference("a <think>", "a <tool>")
    2
    """
    at = common_prefix_length(one, other)
    return next((lexeme.start() for lexeme in LEXEME.finditer(one) if lexeme.end() > at), len(one))


def quote_short(text: str) -> str:
    r"""Return a text in quotes. The middle of a long text is left out.

    >>> quote_short("a\n")
    "'a\\n'"
    """
    return repr(text if len(text) <= 2 * _QUOTED else f"{text[:_QUOTED]} ... {text[-_QUOTED:]}")


def digest(text: str) -> str:
    """Return 16 hex digits of the SHA-256 of a text.

    >>> digest("{{ messages }}")
    'f24189f08c85a1eb'
    """
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
