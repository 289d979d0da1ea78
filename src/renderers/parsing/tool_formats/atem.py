"""Messages with a recipient each. A call is a message to a tool, with an `invoke` element.

    <|start|>assistant to=get_weather<|message|><atem:function_calls>
    <atem:invoke name="get_weather">
    <atem:parameter name="city">Rome</atem:parameter>
    </atem:invoke>
    </atem:function_calls><|eom|>

Used by Muse Glimmer. Messages to `self` are reasoning, those to `user` or without a recipient are content. Strings have
no quotes, other values are JSON.
"""

from __future__ import annotations

import functools
from dataclasses import replace

from renderers.core.completions import ParsedToolCall, RecoveryKind
from renderers.core.lazy import lazy_pattern
from renderers.parsing.tool_formats.base import (
    MALFORMED,
    CallHead,
    Payload,
    SegmentKind,
    Segments,
    ToolFormat,
    TurnLayout,
    failed_call,
    recovered,
)
from renderers.parsing.tool_formats.tags import Tags, read_tagged, read_tagged_head

_START, _MESSAGE, _END = "<|start|>", "<|message|>", "<|eom|>"
_RECIPIENT = lazy_pattern(r"\bto=(\S+)")
_ROLE = lazy_pattern(r"\s*(\w+)(?!=)\b")
_BLOCK = "<atem:function_calls>", "</atem:function_calls>"
_TAGS = Tags('<atem:invoke name="', '<atem:parameter name="', '">', "</atem:parameter>", end="</atem:invoke>")
_read_element = functools.partial(read_tagged, tags=_TAGS)
_read_element_head = functools.partial(read_tagged_head, tags=_TAGS)


def _kind_of(header: str, marker: str) -> SegmentKind:  # noqa: ARG001
    recipient, role = _RECIPIENT.search(header), _ROLE.match(header.replace(_START, ""))
    if role is not None and role[1] not in ("assistant", "to"):
        return SegmentKind.OTHER
    if recipient is None or recipient[1] == "user":
        return SegmentKind.CONTENT
    return SegmentKind.REASONING if recipient[1] == "self" else SegmentKind.CALL


def _read(payload: Payload) -> ParsedToolCall:
    """Parse a call. Without an element, its name is the recipient."""
    _, start = payload.head(_MESSAGE)
    body = payload.byte_text[start:].strip()
    recoveries = [] if body.startswith(_BLOCK[0]) else [RecoveryKind.MISSING_OPENING_MARKER]
    if not body.endswith(_BLOCK[1]):
        recoveries.append(RecoveryKind.MISSING_CLOSING_MARKER)
    body = body.removeprefix(_BLOCK[0]).removesuffix(_BLOCK[1])
    if _TAGS.function not in body:
        recipient = _RECIPIENT.search(payload.decode(payload.byte_text[:start]))
        return failed_call(MALFORMED, recipient[1].partition(_MESSAGE)[0] if recipient else None)
    call = recovered(_read_element(payload.with_byte_text(body)), *recoveries)
    namespace, _, function = (call.name or "").partition(".")
    # Models repeat the name of a tool without a namespace as its namespace.
    doubled = namespace == function in payload.schemas and call.name not in payload.schemas
    return recovered(replace(call, name=function), RecoveryKind.NAME_PREFIX) if doubled else call


def _read_head(payload: Payload) -> CallHead:
    return _read_element_head(payload)


ATEM = ToolFormat(
    key="atem",
    call=None,
    inner=(_START, _MESSAGE, _END),
    last=(_TAGS.end, _BLOCK[1]),
    layout=TurnLayout.SEGMENTS,
    segments=Segments(
        starts=(_START,),
        bodies=(_MESSAGE,),
        ends=(_END,),
        kind_of=_kind_of,
        header=lazy_pattern(r"(?:assistant)?\s*+(?:to=\S++)?"),
        separator="\n",
    ),
    read=_read,
    read_head=_read_head,
)
