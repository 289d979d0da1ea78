"""Segments of special tokens. A call is a segment with a JSON object.

    <|message_model|>get_weather<|content_invoke_tool_json|>{"name":"get_weather","args":{"city":"Rome"}}<|end_message|>

Used by Inkling. Segments of `<|content_thinking|>` are reasoning, all others are content.
"""

from __future__ import annotations

import re

from renderers.core.completions import ParsedToolCall
from renderers.core.lazy import lazy_pattern
from renderers.parsing.lenient_json import JsonError, read_json
from renderers.parsing.tool_formats.base import (
    INVALID,
    CallHead,
    CallKeys,
    Payload,
    SegmentKind,
    Segments,
    ToolFormat,
    TurnLayout,
    named_call,
)
from renderers.parsing.tool_formats.json_calls import call_of, read_string

START, END, STOP = "<|message_model|>", "<|end_message|>", "<|content_model_end_sampling|>"
TEXT, THINKING, CALL = "<|content_text|>", "<|content_thinking|>", "<|content_invoke_tool_json|>"
_BODIES = TEXT, THINKING, CALL, "<|content_invoke_tool_text|>", "<|content_tool_error|>"
_OTHER_ROLE = "<|message_"
"""The beginning of the tokens of other roles. A header does not contain that of the model."""
_CALL_HEADER = lazy_pattern(rf"(?:{re.escape(START)})?\s*+[^\s<>]*+")
_KEYS = CallKeys("name", "args")
_NAME = lazy_pattern(r'\s*\{\s*"name"\s*:\s*("[^"\\]*(?:\\.[^"\\]*)*")\s*(?:,\s*"args"\s*:)?', re.DOTALL)


def _kind_of(header: str, marker: str) -> SegmentKind:
    if _OTHER_ROLE in header:
        return SegmentKind.OTHER
    if marker == CALL:
        return SegmentKind.CALL
    return SegmentKind.REASONING if marker == THINKING else SegmentKind.CONTENT


def _read(payload: Payload) -> ParsedToolCall:
    """Parse a call. The name in the object takes precedence over that in the header."""
    header, body = payload.partition(CALL) or ("", payload.text())
    name = header.replace(START, "").strip() or None
    try:
        value = read_json(body.strip())
    except JsonError:
        head = _NAME.match(body)
        written = read_string(head[1]) if head else None
        arguments = body[head.end() :].strip() if head and head[0].endswith(":") else ""
        return named_call(written or name, arguments or None, INVALID)
    if isinstance(value, dict) and "name" not in value and name:
        value = {"name": name, **value}
    return call_of(value, body, _KEYS)


def _read_head(payload: Payload) -> CallHead:
    header, start = payload.head(CALL)
    match = _NAME.match(payload.byte_text, start) if header is not None else None
    if match is None:
        return CallHead()
    name = read_string(payload.decode(match[1]))
    return CallHead(name or None, match.end(1), match.end() if match[0].endswith(":") else None)


INKLING = ToolFormat(
    key="inkling",
    call=None,
    inner=(START, *_BODIES, END, STOP),
    layout=TurnLayout.SEGMENTS,
    segments=Segments(starts=(START,), bodies=_BODIES, ends=(END, STOP), kind_of=_kind_of, call_header=_CALL_HEADER),
    json_arguments=True,
    read=_read,
    read_head=_read_head,
)
