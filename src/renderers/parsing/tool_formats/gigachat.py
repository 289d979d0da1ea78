"""Calls of GigaChat 3: a JSON object after a marker.

    <|function_call|>{"name": "get_weather", "arguments": {"city": "Rome"}}

GigaChat 3 writes the call as a message of another role: `<|message_sep|>`, `function call` and `<|role_sep|>`.
"""

from __future__ import annotations

import dataclasses

from renderers.parsing.tool_formats.json_lists import JAMBA

GIGACHAT = dataclasses.replace(
    JAMBA,
    key="gigachat",
    call=("<|function_call|>", ""),
    variants=(("<|message_sep|>\n\nfunction call<|role_sep|>\n", ""),),
    list_opening="",
)
