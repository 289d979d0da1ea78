"""Calls as JSON objects, each between two markers.

    <tool_call>
    {"name": "get_weather", "arguments": {"city": "Rome"}}
    </tool_call>

Used by Hermes, Qwen 2.5 and 3, Granite 4, and by most templates with other markers around the object. Models also
write several objects, or a list of them, between two markers.
"""

from __future__ import annotations

from renderers.parsing.tool_formats.base import ToolFormat
from renderers.parsing.tool_formats.json_calls import NAME_ARGUMENTS, list_calls_in, read_json_call, read_json_head

HERMES = ToolFormat(
    key="hermes",
    call=("<tool_call>", "</tool_call>"),
    json_arguments=True,
    keys=NAME_ARGUMENTS,
    read=read_json_call,
    read_head=read_json_head,
    find=list_calls_in,
)
