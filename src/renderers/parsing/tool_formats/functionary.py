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


def read_named(payload: Payload, *, name_end: str = _NAME_END) -> ParsedToolCall:
    """Parse a call with a name, the end of the tag around it, and a JSON object."""
    parts = payload.partition(name_end)
    return failed_call(MALFORMED) if parts is None else named_call(parts[0].strip(), *read_arguments(parts[1]))


def read_named_head(payload: Payload, *, name_end: str = _NAME_END) -> CallHead:
    """Parse the name of such a call."""
    return head_before(payload, name_end)


FUNCTIONARY = ToolFormat(
    key="functionary",
    call=("<function=", "</function>"),
    json_arguments=True,
    read=read_named,
    read_head=read_named_head,
)
