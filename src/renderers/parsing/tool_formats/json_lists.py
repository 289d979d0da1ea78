"""Calls as a JSON list, between two markers or after one.

    [TOOL_CALLS][{"name": "get_weather", "arguments": {"city": "Rome"}, "id": "a1b2c3d4e"}]

Used by Mistral up to its tokenizer v7. Others write the same list:

    <|START_ACTION|>[{"tool_call_id": "0", "tool_name": "get_weather", "parameters": {"city": "Rome"}}]<|END_ACTION|>
    <|tool_call|>[{"name": "get_weather", "arguments": {"city": "Rome"}}]
    <tool_calls>[{"name": "get_weather", "arguments": {"city": "Rome"}}]</tool_calls>
    functools[{"name": "get_weather", "arguments": {"city": "Rome"}}]

These are Command A and R7B, Granite 3, Jamba, Hunyuan A13B and Apriel, Phi 4 mini and Firefunction. Command R writes
it as an action in a code fence. Models also write a single object for the list, or several objects.
"""

from __future__ import annotations

import dataclasses

from renderers.parsing.tool_formats.base import (
    ToolFormat,
    TurnLayout,
    list_calls_in,
    read_json_call,
    read_json_head,
)

JAMBA = ToolFormat(
    key="jamba",
    call=("<tool_calls>", "</tool_calls>"),
    layout=TurnLayout.LISTS,
    json_arguments=True,
    read=read_json_call,
    read_head=read_json_head,
    find=list_calls_in,
)
MISTRAL_LIST = dataclasses.replace(JAMBA, key="mistral_list", call=("[TOOL_CALLS]", ""))
COMMAND = dataclasses.replace(JAMBA, key="command", call=("<|START_ACTION|>", "<|END_ACTION|>"))
COMMAND_R = dataclasses.replace(JAMBA, key="command_r", call=("Action:\n```json\n", "```"))
GRANITE = dataclasses.replace(JAMBA, key="granite", call=("<|tool_call|>", ""), variants=(("<tool_call>", ""),))
PHI_4_MINI = dataclasses.replace(JAMBA, key="phi4_mini", call=("functools", ""))
