"""Small conversations that a program is probed with."""

from __future__ import annotations

from typing import Any

from renderers.core.jsontypes import JsonObject

CALL_ID = "call00000"
"""The id of every call in a probe. Some templates require nine characters."""
ASK: JsonObject = {"role": "user", "content": "Q"}
LEAD: JsonObject = {"role": "system", "content": "S"}
TOOL: JsonObject = {
    "type": "function",
    "function": {"name": "f", "description": "d", "parameters": {"type": "object", "properties": {}}},
}
"""The tool that calls in probes are for."""
ARGUMENTS: tuple[Any, ...] = ({"x": "y"}, '{"x": "y"}')
"""The arguments of a call, as an object and as JSON text. A template may accept only one of them."""


def tool_call(name: str, arguments: Any) -> JsonObject:
    """Return a tool call."""
    return {"id": CALL_ID, "type": "function", "function": {"name": name, "arguments": arguments}}


def conversations_with(message: JsonObject) -> list[list[JsonObject]]:
    """Return conversations that contain a message in places where its role is allowed."""
    result = {"role": "tool", "tool_call_id": CALL_ID, "name": "f", "content": "R"}
    match message["role"]:
        case "system" | "developer":
            return [[message, ASK]]
        case "user":
            return [[message]]
        case "tool":
            calls = [
                {"role": "assistant", "content": "", "tool_calls": [tool_call("f", arguments)]}
                for arguments in ARGUMENTS
            ]
            return [[ASK, call, result | message] for call in calls]
        case _ if message.get("tool_calls"):
            return [[ASK, message], [ASK, message, result], [ASK, message, result, ASK]]
        case _:
            return [[ASK, message], [ASK, message, ASK]]
