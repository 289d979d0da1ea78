"""Calls as an id and a JSON object, in a section of their own.

    <|tool_calls_section_begin|>
    <|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{"city": "Rome"}<|tool_call_end|>
    <|tool_calls_section_end|>

(All in one line.) Used by Kimi K2 and K2.5. The name is a part of the id: between its first dot and its colon.
"""

from __future__ import annotations

from collections.abc import Sequence

from renderers.parse.response import ToolCallParseStatus
from renderers.parse.schema import ToolSchemas
from renderers.parse.syntax.base import MALFORMED, Attempt, Call, Payload, Syntax, read_arguments, written_json

__all__ = ["KIMI"]

_SECTION = "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"
_CALL = "<|tool_call_begin|>", "<|tool_call_end|>"
_ARGUMENTS = "<|tool_call_argument_begin|>"


def write(calls: Sequence[Call]) -> str:
    """Writes calls.

    >>> write([Call("get", {}, "functions.get:0")])[28:-26]
    '<|tool_call_begin|>functions.get:0<|tool_call_argument_begin|>{}<|tool_call_end|>'
    """
    written = (
        f"{_CALL[0]}{call.id or f'functions.{call.name}:{number}'}"
        f"{_ARGUMENTS}{written_json(dict(call.arguments))}{_CALL[1]}"
        for number, call in enumerate(calls)
    )
    return f"{_SECTION[0]}{''.join(written)}{_SECTION[1]}"


def read(payload: Payload, schemas: ToolSchemas) -> Attempt:  # noqa: ARG001
    """Reads a call."""
    found = payload.find(_ARGUMENTS)
    if found is None:
        return Attempt(None, None, MALFORMED)
    number = payload.text(0, found[0]).strip()
    name = number.partition(":")[0]
    name = name.partition(".")[2] or name
    arguments, status = read_arguments(payload.text(found[1]))
    if not name:
        return Attempt(None, arguments, ToolCallParseStatus.MISSING_NAME)
    return Attempt(name, arguments, status, number)


KIMI = Syntax(
    key="kimi", section=_SECTION, call=_CALL, inner=(_ARGUMENTS,), ends_reasoning=True, write=write, read=read
)
