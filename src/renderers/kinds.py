"""Kinds of messages: what of a message decides about how a template writes it and what follows it."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from renderers.forms import Data

__all__ = ["Kind", "kind_of"]


class Kind(NamedTuple):
    """What of a message decides about how a template writes it, beside its words."""

    role: str
    given: frozenset[str]
    """The fields that there are."""
    forms: tuple[str, ...]
    """The types of the content's parts."""
    blank: bool
    trimmed: bool
    words: bytes
    """The content's fingerprint where it holds something that the template looks for, wherever that stands."""


def kind_of(message: Data, searched: frozenset[str]) -> Kind:
    """Returns the kind of a message, for a template that looks for some texts in it."""
    content = message.get("content")
    parts = content if isinstance(content, list) else [content]
    texts = [part if isinstance(part, str) else part.get("text") for part in parts if isinstance(part, str | dict)]
    text = "\n".join(one for one in texts if isinstance(one, str))
    forms = tuple(str(part.get("type")) if isinstance(part, dict) else type(part).__name__ for part in parts)
    return Kind(
        message["role"],
        frozenset(key for key, value in message.items() if value is not None),
        (*forms, "alone") if parts is not content else forms,
        not text.strip(),
        text.strip() == text,
        _fingerprint(text) if any(one in text for one in searched) else b"",
    )


def _fingerprint(text: str) -> bytes:
    return hashlib.sha256(text.encode(errors="surrogatepass")).digest()
