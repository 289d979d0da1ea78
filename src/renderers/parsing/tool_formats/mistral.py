"""Calls of Mistral: a name and a JSON object after a marker each, or a JSON list.

    [TOOL_CALLS]get_weather[ARGS]{"city": "Rome"}[TOOL_CALLS]search[ARGS]{"query": "Rome"}

Used since the tokenizer v11. Some models write the id of the call before the arguments, others no marker at all:

    [TOOL_CALLS]get_weather[CALL_ID]a1b2c3d4e[ARGS]{"city": "Rome"}
    [TOOL_CALLS]get_weather{"city": "Rome"}

Up to the tokenizer v7, the calls are a list:

    [TOOL_CALLS][{"name": "get_weather", "arguments": {"city": "Rome"}, "id": "a1b2c3d4e"}]

Both formats read the calls of the other one as well.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import NamedTuple

from renderers.core.completions import ParsedToolCall, RecoveryKind
from renderers.parsing.lenient_json import JsonError, read_json_prefix
from renderers.parsing.tool_formats.base import OK, CallHead, Payload, ToolFormat, TurnLayout, named_call, recovered
from renderers.parsing.tool_formats.json_calls import ReadArguments, read_arguments, read_json_call, read_json_head

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


def _is_object(payload: Payload) -> bool:
    """Return True for an object of a list."""
    return payload.byte_text.lstrip()[:1] == "{"


def _read(payload: Payload, *, in_list: bool) -> ParsedToolCall:
    """Parse a call. `in_list` is True in the format with lists."""
    if _is_object(payload):
        call = read_json_call(payload)
        if in_list or call.name is not None:
            return call
    name, call_id, start = _split(payload)
    text = "" if start is None else payload.decode(payload.byte_text[start:])
    try:
        value, _ = read_json_prefix(text, 0)
    except JsonError:
        value = None
    arguments = ReadArguments(value, OK) if isinstance(value, dict) else read_arguments(text)
    call = named_call(name, *arguments, call_id=call_id or None)
    return recovered(call, RecoveryKind.OTHER_SYNTAX) if in_list else call


def _read_head(payload: Payload) -> CallHead:
    if _is_object(payload):
        return read_json_head(payload)
    name, _, start = _split(payload)
    return CallHead() if start is None or name.startswith("[") else CallHead(name or None, start, start)


MISTRAL = ToolFormat(
    key="mistral",
    call=("[TOOL_CALLS]", ""),
    inner=(_ARGUMENTS, _CALL_ID),
    layout=TurnLayout.LISTS,
    json_arguments=True,
    json_list=True,
    list_opening=None,
    names_calls=True,
    read=functools.partial(_read, in_list=False),
    read_head=_read_head,
)
MISTRAL_LIST = dataclasses.replace(
    MISTRAL, key="mistral_list", list_opening="[", read=functools.partial(_read, in_list=True)
)
