"""Kinds of messages: what of a message decides about how a template writes it and what follows it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, NamedTuple

from renderers.probing.literals import Searches
from renderers.programs.input_formats import Data

__all__ = ["Kind", "kind_of"]

_REFERENCES = ("name", "tool_call_id")
"""What a message refers to others with."""


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
    """The fingerprint of the fields that hold something that the template looks for; empty where none does."""


def kind_of(message: Data, searches: Searches) -> Kind:
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
        _fingerprint({"content": text, **{key: message[key] for key in _REFERENCES if key in message}}, searches),
    )


def _fingerprint(fields: Mapping[str, Any], searches: Searches) -> bytes:
    telling = {key: text for key, text in fields.items() if isinstance(text, str) and searches.matter(text)}
    return hashlib.sha256(repr(telling).encode()).digest() if telling else b""
