"""Calls as a JSON list, between two markers or after one.

    <|START_ACTION|>[{"tool_call_id": "0", "tool_name": "get_weather", "parameters": {"city": "Rome"}}]<|END_ACTION|>
    <|tool_call|>[{"name": "get_weather", "arguments": {"city": "Rome"}}]
    <tool_calls>[{"name": "get_weather", "arguments": {"city": "Rome"}}]</tool_calls>
    functools[{"name": "get_weather", "arguments": {"city": "Rome"}}]
    <|tools_prefix|>[{"get_weather": {"city": "Rome"}}]<|tools_suffix|>

These are Command A and R7B, Granite 3, Jamba, Hunyuan A13B and Apriel, Phi 4 mini and Firefunction, and Apertus with
the name as the key. Command R writes it as an action in a code fence. xLAM writes the list as a whole turn, without
markers. Models also write a single object for the list, or several objects.
"""

from __future__ import annotations

import dataclasses
import functools
import re

from renderers.core.completions import ParsedToolCall, RecoveryKind
from renderers.core.lazy import lazy_pattern
from renderers.parsing.lenient_json import JsonError, member_text, read_json
from renderers.parsing.tool_formats.base import (
    MISSING_NAME,
    OK,
    CallHead,
    CallKeys,
    FoundCalls,
    Payload,
    ToolFormat,
    TurnLayout,
    failed_call,
    named_call,
)
from renderers.parsing.tool_formats.json_calls import (
    ARGUMENTS,
    NAME_ARGUMENTS,
    ReadArguments,
    broken_call,
    list_calls_in,
    read_arguments,
    read_json_call,
    read_json_head,
    read_string,
)

_KEYED_HEAD = lazy_pattern(r'\s*\{\s*("[^"\\]*(?:\\.[^"\\]*)*")\s*:', re.DOTALL)
_BESIDE_CALLS = lazy_pattern(r"(?:```(?:json)?|[ \t\n\r\[\],;])*")
_TOOL_NAME_PARAMETERS = CallKeys("tool_name", "parameters")
_MARKERS = ("[TOOL_CALLS]", ""), ("<tool_call>", "</tool_call>")


def _read_keyed(payload: Payload) -> ParsedToolCall:
    """Parse an object with the name of the tool as its only key."""
    text = payload.text()
    try:
        value = read_json(text)
    except JsonError:
        return broken_call(payload, _read_keyed_head(payload))
    if not isinstance(value, dict) or len(value) != 1:
        return failed_call(MISSING_NAME)
    ((name, arguments),) = value.items()
    is_object = isinstance(arguments, dict)
    return named_call(name, *(ReadArguments(arguments, OK) if is_object else read_arguments(member_text(text, name))))


def _read_keyed_head(payload: Payload) -> CallHead:
    match = _KEYED_HEAD.match(payload.byte_text)
    name = read_string(payload.decode(match[1])) if match else None
    return CallHead(name, match.end(), match.end()) if match and name is not None else CallHead()


def _find_bare(payload: Payload, *, keys: CallKeys = NAME_ARGUMENTS) -> FoundCalls | None:
    """Find the calls that make up a whole turn: objects with a name and arguments, or with the name of a tool.

    A broken call counts if it begins with the name of a tool.
    """
    byte_text, position = payload.byte_text, 0
    for marker in (payload.mark(marker) for pair in _MARKERS for marker in pair if marker):
        byte_text = byte_text.replace(marker, " " * len(marker))
    listed = list_calls_in(payload.with_byte_text(byte_text))
    for start, end in listed.spans if listed else ():
        text = payload.decode(byte_text[start:end])
        call = read_json_call(Payload(text, payload.mark, str, payload.schemas), keys=keys)
        is_whole = call.status is OK and any(f'"{key}"' in text for key in (keys.arguments, *ARGUMENTS))
        if not _BESIDE_CALLS.fullmatch(byte_text, position, start) or not (is_whole or call.name in payload.schemas):
            return None
        position = end
    if listed is not None:
        is_list = "[" in byte_text[: listed.spans[0][0]]
        recoveries = [RecoveryKind.OTHER_SYNTAX] if byte_text != payload.byte_text or not is_list else []
        if is_list and "]" not in byte_text[position:]:
            recoveries.append(RecoveryKind.MISSING_CLOSING_MARKER)
        listed = listed._replace(recoveries=tuple(recoveries))
    return listed if _BESIDE_CALLS.fullmatch(byte_text, position) else None


JAMBA = ToolFormat(
    key="jamba",
    call=("<tool_calls>", "</tool_calls>"),
    layout=TurnLayout.LISTS,
    json_arguments=True,
    keys=NAME_ARGUMENTS,
    read=read_json_call,
    read_head=read_json_head,
    json_list=True,
)
COMMAND = dataclasses.replace(
    JAMBA,
    key="command",
    call=("<|START_ACTION|>", "<|END_ACTION|>"),
    keys=_TOOL_NAME_PARAMETERS,
    read=functools.partial(read_json_call, keys=_TOOL_NAME_PARAMETERS),
    read_head=functools.partial(read_json_head, keys=_TOOL_NAME_PARAMETERS),
)
COMMAND_R = dataclasses.replace(COMMAND, key="command_r", call=("Action:\n```json\n", "```"))
GRANITE = dataclasses.replace(JAMBA, key="granite", call=("<|tool_call|>", ""), variants=(("<tool_call>", ""),))
# The marker is a word that reasoning about code contains.
PHI_4_MINI = dataclasses.replace(JAMBA, key="phi4_mini", call=("functools", ""), ends_reasoning=False)
APERTUS = dataclasses.replace(
    JAMBA,
    key="apertus",
    call=("<|tools_prefix|>", "<|tools_suffix|>"),
    keys=None,
    read=_read_keyed,
    read_head=_read_keyed_head,
)
XLAM = dataclasses.replace(
    JAMBA,
    key="xlam",
    call=None,
    variants=_MARKERS,
    openings=("[", "{", "```", *(opener for opener, _ in _MARKERS)),
    within_text=("{", "[", "```"),
    layout=TurnLayout.BARE_CALLS,
    json_list=False,
    find=_find_bare,
)
