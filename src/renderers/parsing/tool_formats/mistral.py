"""Calls of Mistral since its tokenizer v11: a name and a JSON object after a marker each.

    [TOOL_CALLS]get_weather[ARGS]{"city": "Rome"}[TOOL_CALLS]search[ARGS]{"query": "Rome"}

Some models write the id of the call before the arguments, others no marker at all:

    [TOOL_CALLS]get_weather[CALL_ID]a1b2c3d4e[ARGS]{"city": "Rome"}
    [TOOL_CALLS]get_weather{"city": "Rome"}

A list after the marker, as in `json_lists`, is parsed as well.
"""

from __future__ import annotations

from typing import NamedTuple

from renderers.core.completions import ParsedToolCall, RecoveryKind
from renderers.parsing.lenient_json import JsonError, read_json_prefix
from renderers.parsing.tool_formats.base import (
    INVALID,
    OK,
    CallHead,
    Payload,
    ReadArguments,
    ToolFormat,
    call_of,
    failed_call,
    list_calls_in,
    named_call,
    read_arguments,
    recovered,
)

_ARGUMENTS, _CALL_ID = "[ARGS]", "[CALL_ID]"


class _Parts(NamedTuple):
    """The name and the id of a call, and the position of its arguments. None if there are no arguments."""

    name: str
    call_id: str
    start: int | None


def _split(payload: Payload) -> _Parts:
    byte_text = payload.byte_text
    before, marker, _ = byte_text.partition(payload.mark(_ARGUMENTS))
    head, _, _ = before.partition("{")
    has_arguments = bool(marker) or len(head) < len(before)
    start = len(head) if len(head) < len(before) else len(before) + len(marker)
    name, _, call_id = head.partition(payload.mark(_CALL_ID))
    return _Parts(payload.decode(name).strip(), payload.decode(call_id).strip(), start if has_arguments else None)


def _read(payload: Payload) -> ParsedToolCall:
    name, call_id, start = _split(payload)
    if name.startswith("["):
        # A list, which holds the names.
        return failed_call(INVALID)
    text = "" if start is None else payload.decode(payload.byte_text[start:])
    try:
        value, end = read_json_prefix(text, 0)
    except JsonError:
        return named_call(name, *read_arguments(text), call_id=call_id or None)
    if start == 0 and isinstance(value, dict) and "arguments" in value:
        # An object of such a list.
        return recovered(call_of(value, text[:end]), RecoveryKind.OTHER_SYNTAX)
    arguments = ReadArguments(value, OK) if isinstance(value, dict) else read_arguments(text)
    return named_call(name, *arguments, call_id=call_id or None)


def _read_head(payload: Payload) -> CallHead:
    name, _, start = _split(payload)
    return CallHead() if start is None or name.startswith("[") else CallHead(name or None, start, start)


MISTRAL = ToolFormat(
    key="mistral",
    call=("[TOOL_CALLS]", ""),
    inner=(_ARGUMENTS, _CALL_ID),
    json_arguments=True,
    ends_with_arguments=True,
    read=_read,
    read_head=_read_head,
    find=list_calls_in,
)
