"""Calls as JSON objects, each between two markers.

    <tool_call>
    {"name": "get_weather", "arguments": {"city": "Rome"}}
    </tool_call>

Used by Hermes, Qwen 2.5 and 3, Granite 4, and by most templates with markers of their own around the object.
"""

from __future__ import annotations

from collections.abc import Sequence

from renderers.parse.json_value import JsonError, read_json
from renderers.parse.schema import ToolSchemas
from renderers.parse.syntax.base import INVALID, Attempt, Call, Payload, Syntax, call_of, written_json

__all__ = ["HERMES"]


def write(calls: Sequence[Call]) -> str:
    """Writes calls.

    >>> write([Call("get", {"x": 1})])
    '<tool_call>\\n{"name": "get", "arguments": {"x": 1}}\\n</tool_call>'
    """
    objects = (written_json({"name": call.name, "arguments": dict(call.arguments)}) for call in calls)
    return "\n".join(f"<tool_call>\n{one}\n</tool_call>" for one in objects)


def read(payload: Payload, schemas: ToolSchemas) -> Attempt:  # noqa: ARG001
    """Reads a call."""
    text = payload.text()
    try:
        return call_of(read_json(text), text, arguments=("arguments", "parameters"))
    except JsonError:
        return Attempt(None, None, INVALID)


HERMES = Syntax(key="hermes", call=("<tool_call>", "</tool_call>"), ends_reasoning=True, write=write, read=read)
