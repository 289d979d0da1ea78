"""Calls as an id and a JSON object, in a section.

    <|tool_calls_section_begin|>
    <|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{"city": "Rome"}<|tool_call_end|>
    <|tool_calls_section_end|>

(All in one line.) Used by Kimi K2 and K2.5. The name is the part of the id between its first dot and its colon.
"""

from __future__ import annotations

from collections.abc import Sequence

from renderers.parsing.schema import ToolSchemas
from renderers.parsing.tool_formats.base import (
    MALFORMED,
    MISSING_NAME,
    Call,
    Payload,
    ReadCall,
    ToolFormat,
    dump_json,
    read_arguments,
)

_SECTION = "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"
_CALL = "<|tool_call_begin|>", "<|tool_call_end|>"
_ARGUMENTS = "<|tool_call_argument_begin|>"


def write(calls: Sequence[Call]) -> str:
    """Format calls.

    >>> write([Call("get", {}, "functions.get:0")])[28:-26]
    '<|tool_call_begin|>functions.get:0<|tool_call_argument_begin|>{}<|tool_call_end|>'
    """
    texts = (
        f"{_CALL[0]}{call.id or f'functions.{call.name}:{number}'}"
        f"{_ARGUMENTS}{dump_json(dict(call.arguments))}{_CALL[1]}"
        for number, call in enumerate(calls)
    )
    return f"{_SECTION[0]}{''.join(texts)}{_SECTION[1]}"


def read(payload: Payload, schemas: ToolSchemas) -> ReadCall:  # noqa: ARG001
    """Parse a call."""
    separator = payload.find(_ARGUMENTS)
    if separator is None:
        return ReadCall(None, None, MALFORMED)
    call_id = payload.text(0, separator[0]).strip()
    name = call_id.partition(":")[0]
    name = name.partition(".")[2] or name
    arguments, status = read_arguments(payload.text(separator[1]))
    if not name:
        return ReadCall(None, arguments, MISSING_NAME)
    return ReadCall(name, arguments, status, call_id)


KIMI = ToolFormat(
    key="kimi", section=_SECTION, call=_CALL, inner=(_ARGUMENTS,), ends_reasoning=True, write=write, read=read
)
