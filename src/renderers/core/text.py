"""Texts that are compared and shown."""

from __future__ import annotations

import hashlib
import re

__all__ = ["LEXEME", "alike", "parting", "shown"]

LEXEME = re.compile(r"<[^<>\s]{1,60}>|\[/?[A-Z_]{2,40}\]|\w+|\s|.", re.DOTALL)
"""What text of a template is cut into: markers, words, single characters."""
_SHOWN = 60
"""How many characters of each end of a text are shown."""


def alike(one: str, other: str) -> int:
    """Returns how many characters two texts begin with alike.

    >>> alike("river", "rift")
    2
    """
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def parting(one: str, other: str) -> int:
    """Returns where the first lexeme of a text begins that is not the other's as well: a word, or a marker.

    >>> parting("a <think>", "a <tool>")
    2
    """
    at = alike(one, other)
    return next((lexeme.start() for lexeme in LEXEME.finditer(one) if lexeme.end() > at), len(one))


def shown(text: str) -> str:
    r"""Returns a text in quotes, without its middle where it is long.

    >>> shown("a\n")
    "'a\\n'"
    """
    return repr(text if len(text) <= 2 * _SHOWN else f"{text[:_SHOWN]} ... {text[-_SHOWN:]}")


def digest(text: str) -> str:
    """Return 16 hex digits of the SHA-256 of a text.

    >>> digest("{{ messages }}")
    'f24189f08c85a1eb'
    """
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
