"""Calls of dots: `invoke` elements with `parameter` elements, one or several between two markers.

    <dots_function_call><invoke name="get_weather"><parameter name="city">Rome</parameter></invoke></dots_function_call>

Values have no quotes. The models also write a JSON object with a name and arguments between the markers.
"""

from __future__ import annotations

import functools

from renderers.core.completions import ParsedToolCall, RecoveryKind
from renderers.parsing.tool_formats.base import CallHead, Payload, ToolFormat, read_json_call, read_json_head, recovered
from renderers.parsing.tool_formats.tags import Tags, find_tagged, read_tagged, read_tagged_head

_TAGS = Tags('<invoke name="', '<parameter name="', '">', "</parameter>", end="</invoke>")


def _is_json(payload: Payload) -> bool:
    return payload.byte_text.lstrip()[:1] == "{"


def _read(payload: Payload) -> ParsedToolCall:
    if _is_json(payload):
        return recovered(read_json_call(payload), RecoveryKind.OTHER_SYNTAX)
    return read_tagged(payload, tags=_TAGS)


def _read_head(payload: Payload) -> CallHead:
    if _is_json(payload):
        # In a stream, the arguments are text of the call only, as in a call with elements.
        return read_json_head(payload)._replace(arguments_start=None)
    return read_tagged_head(payload, tags=_TAGS)


DOTS = ToolFormat(
    key="dots",
    call=("<dots_function_call>", "</dots_function_call>"),
    value=_TAGS.value,
    last=(_TAGS.end,),
    ends_reasoning=True,
    keeps_text=True,
    rejects_unknown_tools=True,
    read=_read,
    read_head=_read_head,
    find=functools.partial(find_tagged, tags=_TAGS),
)
