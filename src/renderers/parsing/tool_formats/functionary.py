"""Calls as a name in a tag and a JSON object.

    <function=get_weather>{"city": "Rome"}</function>

Used by Functionary 3.1, and by Llama 3.1 if a prompt asks for it.
"""

from __future__ import annotations

from renderers.core.completions import ParsedToolCall
from renderers.parsing.tool_formats.base import (
    MALFORMED,
    CallHead,
    Payload,
    ToolFormat,
    failed_call,
    head_before,
    named_call,
)
from renderers.parsing.tool_formats.json_calls import read_arguments

_NAME_END = ">"


def _read(payload: Payload) -> ParsedToolCall:
    parts = payload.partition(_NAME_END)
    return failed_call(MALFORMED) if parts is None else named_call(parts[0].strip(), *read_arguments(parts[1]))


def _read_head(payload: Payload) -> CallHead:
    return head_before(payload, _NAME_END)


FUNCTIONARY = ToolFormat(
    key="functionary", call=("<function=", "</function>"), json_arguments=True, read=_read, read_head=_read_head
)
