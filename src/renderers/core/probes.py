"""Small conversations that a program is probed with."""

from __future__ import annotations

import datetime
from typing import Any

from renderers.core.jsontypes import JsonObject
from renderers.core.probe_words import PROBE_QUESTION, PROBE_RESULT, PROBE_SYSTEM

CALL_ID = "call00000"
"""The id of every call in a probe. Some templates require nine characters."""
PROBE_TIME = datetime.datetime(2026, 1, 1)
"""A fixed time, so that outputs of templates that write the time can be compared."""
TOOL: JsonObject = {
    "type": "function",
    "function": {"name": "f", "description": "d", "parameters": {"type": "object", "properties": {}}},
}
"""The tool that calls in probes are for."""
ARGUMENTS: tuple[Any, ...] = ({"x": "y"}, '{"x": "y"}')
"""The arguments of a call, as an object and as JSON text. A template may accept only one of them."""


def chat_message(role: str, content: str, **fields: Any) -> JsonObject:
    """Return a message with a text."""
    return {"role": role, "content": content, **fields}


def reasoning_fields(text: str) -> JsonObject:
    """Return the reasoning of a message under the two names that templates read."""
    return {"reasoning_content": text, "thinking": text}


def tool_call(name: str, arguments: Any, *, call_id: str = CALL_ID) -> JsonObject:
    """Return a tool call."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


ASK = chat_message("user", PROBE_QUESTION)
LEAD = chat_message("system", PROBE_SYSTEM)


def conversations_with(message: JsonObject) -> list[list[JsonObject]]:
    """Return conversations that contain a message in places where its role is allowed."""
    result = {"role": "tool", "tool_call_id": CALL_ID, "name": "f", "content": PROBE_RESULT}
    match message["role"]:
        case "system" | "developer":
            return [[message, ASK]]
        case "user":
            return [[message]]
        case "tool":
            calls = [chat_message("assistant", "", tool_calls=[tool_call("f", value)]) for value in ARGUMENTS]
            return [[ASK, call, result | message] for call in calls]
        case _ if message.get("tool_calls"):
            return [[ASK, message], [ASK, message, result], [ASK, message, result, ASK]]
        case _:
            return [[ASK, message], [ASK, message, ASK]]
