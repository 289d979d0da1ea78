"""Calls as an id and a JSON object, in a section.

    <|tool_calls_section_begin|>
    <|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{"city": "Rome"}<|tool_call_end|>
    <|tool_calls_section_end|>

(Line breaks are for readability only.) Used by Kimi K2 and K2.5. The name is the id without the namespace `functions.`
and without the index after its last colon. Models also write the markers of the section in the singular:
`<|tool_call_section_begin|>`.
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

_SECTION = "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"
_OTHER_SECTION = "<|tool_call_section_begin|>", "<|tool_call_section_end|>"
_CALL = "<|tool_call_begin|>", "<|tool_call_end|>"
_ARGUMENTS = "<|tool_call_argument_begin|>"
_NAMESPACE = "functions."


def _read(payload: Payload) -> ParsedToolCall:
    parts = payload.partition(_ARGUMENTS)
    if parts is None:
        head, brace, _ = payload.text().partition("{")
        # Without arguments the name may be cut off.
        return failed_call(MALFORMED, _name_in(head.strip()) or None if brace else None)
    call_id = parts[0].strip()
    return named_call(_name_in(call_id), *read_arguments(parts[1]), call_id=call_id)


def _name_in(call_id: str) -> str:
    before, _, index = call_id.rpartition(":")
    return (before if index.isdecimal() else call_id).removeprefix(_NAMESPACE)


def _read_head(payload: Payload) -> CallHead:
    return head_before(payload, _ARGUMENTS, to_name=_name_in)


KIMI = ToolFormat(
    key="kimi",
    section=_SECTION,
    other_sections=(_OTHER_SECTION,),
    call=_CALL,
    inner=(_ARGUMENTS,),
    json_arguments=True,
    read=_read,
    read_head=_read_head,
)
