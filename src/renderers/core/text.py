"""Texts that are compared and shown."""

from __future__ import annotations

import hashlib
import re

__all__ = ["LEXEME", "common_prefix_length", "first_difference", "quote_short"]

LEXEME = re.compile(r"<[^<>\s]{1,60}>|\[/?[A-Z_]{2,40}\]|\w+|\s|.", re.DOTALL)
"""What text of a template is cut into: markers, words, single characters."""
_SHOWN = 60
"""How many characters of each end of a text are shown."""


def common_prefix_length(one: str, other: str) -> int:
    """Returns how many characters two texts begin with alike.

    >>> common_prefix_length("river", "rift")
    2
    """
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def first_difference(one: str, other: str) -> int:
    """Returns where the first lexeme of a text begins that is not the other's as well: a word, or a marker.

    >>> first_difference("a <think>", "a <tool>")
    2
    """
    at = common_prefix_length(one, other)
    return next((lexeme.start() for lexeme in LEXEME.finditer(one) if lexeme.end() > at), len(one))


def quote_short(text: str) -> str:
    r"""Returns a text in quotes, without its middle where it is long.

    >>> quote_short("a\n")
    "'a\\n'"
    """
    return repr(text if len(text) <= 2 * _SHOWN else f"{text[:_SHOWN]} ... {text[-_SHOWN:]}")


def digest(text: str) -> str:
    """Return 16 hex digits of the SHA-256 of a text.

    >>> digest("{{ messages }}")
    'f24189f08c85a1eb'
    """
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
