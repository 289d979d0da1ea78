"""Content that is a list of parts, and its text for programs that write text only."""

from __future__ import annotations

import json
from typing import Any

from renderers.core.jsontypes import JsonObject
from renderers.core.message_types import MEDIA_KINDS
from renderers.core.messages import media_kind
from renderers.core.spans import Path
from renderers.errors import MessageError
from renderers.programs.input_formats import TEXT_PART_TYPES
from renderers.programs.pieces import Piece


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


def content_pieces(message: JsonObject, index: int) -> list[Piece]:
    """Return the text of the content of a message, for a format that writes text only. Thinking parts are left out.

    Data that is not a list of parts, such as the result of a tool, becomes JSON.

    Raises:
        MessageError: A part is not text.

    >>> content_pieces({"role": "user", "content": ["Hi ", {"type": "text", "text": "there"}]}, 0)[1]
    Piece(text='there', message=0, path=('content', 1, 'text'))
    """
    content = message.get("content")
    if isinstance(content, str):
        return [Piece(content, index, ("content",))]
    if not isinstance(content, list) or (content and not any(map(is_part, content))):
        return [] if content is None else [Piece(json.dumps(content, ensure_ascii=False), index, ("content",))]
    pieces = []
    for number, part in enumerate(content):
        path: Path = ("content", number)
        if is_thinking(part):
            continue
        is_text = isinstance(part, dict) and media_kind(part) is None
        text = part.get("text") if is_text else part
        if not isinstance(text, str):
            fault = f"is {describe_part(part)}, and this format accepts text parts only"
            raise MessageError(fault, message=index, path=path)
        pieces.append(Piece(text, index, (*path, "text") if is_text else path))
    return pieces


def reasoning_pieces(message: JsonObject, index: int) -> list[Piece]:
    """Return the reasoning of a message: its own field, else the thinking parts of its content.

    >>> reasoning_pieces({"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm"}]}, 0)
    [Piece(text='Hm', message=0, path=('content', 0, 'thinking'))]
    """
    if message.get("reasoning_content"):
        return [Piece(message["reasoning_content"], index, ("reasoning_content",))]
    content = message.get("content")
    parts = (
        [(number, part) for number, part in enumerate(content) if is_thinking(part)] if type(content) is list else []
    )
    return [_thinking_piece(part.get("thinking"), index, ("content", number, "thinking")) for number, part in parts]


def _thinking_piece(thinking: Any, index: int, path: Path) -> Piece:
    items = thinking if isinstance(thinking, list) else [thinking or ""]
    texts = [item.get("text") if isinstance(item, dict) else item for item in items]
    if not all(isinstance(text, str) for text in texts):
        raise MessageError("must be a string or a list of text parts", message=index, path=path)
    return Piece("".join(map(str, texts)), index, path)
