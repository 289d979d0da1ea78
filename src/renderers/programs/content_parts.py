"""Content that is a list of parts."""

from __future__ import annotations

from typing import Any

from renderers.core.messages import MEDIA_KINDS, media_kind
from renderers.programs.input_formats import TEXT_PART_TYPES


def is_thinking(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "thinking"


def is_part(item: Any) -> bool:
    """Return True for a content part. A list without parts is data, such as a tool result."""
    return isinstance(item, str) or (
        isinstance(item, dict) and any(item.get(key) is not None for key in ("type", "text", *MEDIA_KINDS))
    )


def describe_part(part: Any) -> str:
    if not isinstance(part, dict):
        return f"of type {type(part).__name__}"
    kind = part.get("type") or media_kind(part)
    return "a part without a text" if kind in (None, "text", *TEXT_PART_TYPES) else f"a part of type {kind!r}"
