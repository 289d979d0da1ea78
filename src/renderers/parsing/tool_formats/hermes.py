"""Calls as JSON objects, each between two markers.

    <tool_call>
    {"name": "get_weather", "arguments": {"city": "Rome"}}
    </tool_call>

Used by Hermes, Qwen 2.5 and 3, Granite 4, and by most templates with other markers around the object.
"""

from __future__ import annotations

from renderers.core.completions import ParsedToolCall
from renderers.parsing.lenient_json import JsonError, read_json
from renderers.parsing.tool_formats.base import INVALID, Payload, ToolFormat, call_of, failed_call, read_json_head


def _read(payload: Payload) -> ParsedToolCall:
    text = payload.text()
    try:
        return call_of(read_json(text), text, arguments=("arguments", "parameters"))
    except JsonError:
        return failed_call(INVALID)


HERMES = ToolFormat(
    key="hermes",
    call=("<tool_call>", "</tool_call>"),
    ends_reasoning=True,
    json_arguments=True,
    read=_read,
    read_head=read_json_head,
)
