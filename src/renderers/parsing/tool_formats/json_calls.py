"""Calls that are JSON objects with a name and arguments: their parser, and arguments that are JSON."""

from __future__ import annotations

import contextlib
import functools
import re
from typing import Any, NamedTuple

from renderers.core.completions import ParsedToolCall, RecoveryKind, ToolCallParseStatus
from renderers.core.lazy import lazy_pattern
from renderers.parsing.lenient_json import JsonError, begins_value, member_text, read_json, read_json_prefix
from renderers.parsing.tool_formats.base import (
    INVALID,
    MALFORMED,
    MISSING_NAME,
    OK,
    CallHead,
    CallKeys,
    FoundCalls,
    Payload,
    failed_call,
    named_call,
    recovered,
)

_new = tuple.__new__
"""Creates a named tuple in half the time of its constructor."""
NAME_ARGUMENTS, NAME_PARAMETERS = CallKeys("name", "arguments"), CallKeys("name", "parameters")
_NAMES, ARGUMENTS = ("name", "tool_name"), ("arguments", "parameters")
"""The keys of a name and of arguments that models write. The first one that is present counts."""
_ID, _OTHER_ID = "id", "tool_call_id"
_IDS = frozenset({_ID, _OTHER_ID})
_BESIDE_ARGUMENTS = _IDS | {"type", "index"}
"""The keys of an object beside its name and its arguments."""


def list_calls_in(payload: Payload) -> FoundCalls | None:
    """Find the calls of a JSON list, or of JSON objects in any order. A broken object is the last call.

    >>> from renderers.parsing.schema import NO_SCHEMAS
    >>> list_calls_in(Payload('[{"name": "a"}, {"name": "b"', str, str, NO_SCHEMAS))
    FoundCalls(spans=[(1, 14), (16, 28)], broken=True, recoveries=(), calls=())
    """
    byte_text, position = payload.byte_text, 0
    if "{" not in byte_text:
        return None
    spans: list[tuple[int, int]] = []
    while (start := byte_text.find("{", position)) >= 0:
        try:
            _, position = read_json_prefix(byte_text, start)
        except JsonError:
            return FoundCalls([*spans, (start, len(byte_text))], broken=True)
        spans.append((start, position))
    return FoundCalls(spans)


def name_of(value: Any, keys: CallKeys = NAME_ARGUMENTS) -> str | None:
    """Return the name in a JSON object that describes a call. None if it has none."""
    key = _first_key(value, keys.name, _NAMES) if isinstance(value, dict) else None
    name = None if key is None else value[key]
    return name if name and isinstance(name, str) else None


def has_arguments(value: dict[str, Any], keys: CallKeys) -> bool:
    """Return True if a JSON object has arguments, whatever these are."""
    return _first_key(value, keys.arguments, ARGUMENTS) is not None


def _first_key(value: dict[str, Any], own: str, others: tuple[str, ...]) -> str | None:
    """Return the key of the format if it is present, or else the first other one that is. None if there is none."""
    return own if own in value else next((key for key in others if key in value), None)


def call_of(value: Any, text: str, keys: CallKeys = NAME_ARGUMENTS) -> ParsedToolCall:
    """Return the call that a JSON object with a name and arguments describes.

    `text` is the JSON text of the object. A member with another key than that of the format is a difference from it.
    Without arguments, any other member may be an argument, so the call is malformed.
    """
    if not isinstance(value, dict):
        return failed_call(MISSING_NAME)
    outer, (name_key, arguments_key, wrapper) = value, keys
    if wrapper and isinstance(inner := value.get(wrapper), dict):
        value, text = inner, member_text(text, wrapper)
    name = value.get(name_key)
    if name.__class__ is not str or not name:
        name = name_of(value, keys)
    key = arguments_key if arguments_key in value else _first_key(value, arguments_key, ARGUMENTS)
    if key is not None:
        written = value[key]
        is_object = isinstance(written, dict)
        parsed = _new(ReadArguments, (written, OK, ())) if is_object else read_arguments(member_text(text, key))
    else:
        if name is not None and value.keys() - {name_key, *_NAMES, *_BESIDE_ARGUMENTS}:
            return failed_call(MALFORMED, name)
        parsed = _NO_ARGUMENTS
    call_id = outer[_ID] if _ID in outer else outer.get(_OTHER_ID)
    if call_id and outer is value and not _IDS.isdisjoint(keys):
        # The name or the arguments are in the place of an id.
        call_id = next((value[key] for key in (_ID, _OTHER_ID) if key in value and key not in keys), None)
    call = named_call(name, *parsed, call_id=call_id if isinstance(call_id, str) and call_id else None)
    is_other = key not in (None, arguments_key) or (name and name_key not in value)
    return recovered(call, RecoveryKind.OTHER_SYNTAX) if is_other else call


def read_json_call(payload: Payload, *, keys: CallKeys = NAME_ARGUMENTS) -> ParsedToolCall:
    """Parse a call that is a JSON object, which can be between code fences. A broken call has a name if it has one."""
    written = payload.text()
    text = without_fences(written) if "```" in written else written
    if "{" not in text and not begins_value(text):
        return failed_call(INVALID)
    try:
        call = call_of(read_json(text), text, keys)
    except JsonError:
        return broken_call(payload, read_json_head(payload, keys=keys)) if "{" in text else failed_call(INVALID)
    return call if text is written else recovered(call, RecoveryKind.CODE_FENCE)


def broken_call(payload: Payload, head: CallHead) -> ParsedToolCall:
    """Return a call that is not JSON, with its name, and with its arguments if they are a complete object.

    Then the structure around the arguments is broken, and not their JSON.
    """
    arguments = None
    if head.arguments_start is not None:
        with contextlib.suppress(JsonError):
            arguments, _ = read_json_prefix(payload.text_from(head.arguments_start), 0)
    if not isinstance(arguments, dict):
        return failed_call(INVALID, head.name)
    return ParsedToolCall("", head.name, arguments, status=MALFORMED)


class ReadArguments(NamedTuple):
    """Arguments that were parsed, or their text, with their status and the differences from the format."""

    value: dict[str, Any] | str
    status: ToolCallParseStatus
    recoveries: tuple[RecoveryKind, ...] = ()


_NO_ARGUMENTS = ReadArguments({}, OK, (RecoveryKind.MISSING_ARGUMENTS,))


def read_arguments(text: str) -> ReadArguments:
    """Parse arguments that are one JSON object, which can be between code fences or in a JSON string.

    Null, and a blank text or string, is an empty object. For any other value, and for text that is not JSON, the text
    is returned.
    """
    text = text.strip()
    unfenced = without_fences(text)
    recoveries: tuple[RecoveryKind, ...] = (RecoveryKind.CODE_FENCE,) if unfenced is not text else ()
    try:
        value = _value_of(unfenced)
        if isinstance(value, str):
            value = _value_of(value)
            recoveries += (RecoveryKind.JSON_STRING_ARGUMENTS,)
    except JsonError:
        return ReadArguments(text, INVALID)
    if value is None:
        return ReadArguments({}, OK, _NO_ARGUMENTS.recoveries)
    return ReadArguments(value, OK, recoveries) if isinstance(value, dict) else ReadArguments(text, INVALID)


def _value_of(text: str) -> Any:
    """Return the value of a JSON text. None if the text is blank."""
    return read_json(text) if text.strip() else None


def read_string(text: str) -> str | None:
    """Parse a JSON string. None if the text is anything else."""
    try:
        value = read_json(text)
    except JsonError:
        return None
    return value if isinstance(value, str) else None


def without_fences(text: str) -> str:
    """Return the text between code fences, or else all of the text."""
    fenced = _FENCED.fullmatch(text)
    return fenced[1] if fenced else text


_FENCED = lazy_pattern(r"\s*```(?:json)?(.*?)```\s*", re.DOTALL)
_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"'


def _members_before(*keys: str) -> str:
    """Return the pattern of members before those with some keys."""
    others = "|".join(sorted(_BESIDE_ARGUMENTS.difference(keys)))
    return rf'(?:"(?:{others})"\s*+:\s*+(?:{_STRING}|\d++)\s*+,\s*+)*+'


@functools.lru_cache(maxsize=64)
def _head_patterns(keys: CallKeys) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of an object up to its name, and of the text between the name and the arguments."""
    wrapper, names, arguments = (
        "|".join(map(re.escape, dict.fromkeys(own)))
        for own in ((keys.wrapper,), (keys.name, *_NAMES), (keys.arguments, *ARGUMENTS))
    )
    opening = rf'{_members_before(keys.wrapper)}"(?:{wrapper})"\s*+:\s*+\{{\s*+' if wrapper else ""
    members = _members_before(keys.name, keys.arguments)
    name = re.compile(rf'\s*+\{{\s*+{opening}{members}"(?:{names})"\s*+:\s*+({_STRING})\s*+', re.DOTALL)
    return name, re.compile(rf'(?:,\s*+)?"(?:{arguments})"\s*+:')


def read_json_head(payload: Payload, *, keys: CallKeys = NAME_ARGUMENTS) -> CallHead:
    """Parse the beginning of a JSON object with a name and then arguments."""
    byte_text = payload.byte_text
    name_pattern, arguments_pattern = _head_patterns(keys)
    match = name_pattern.match(byte_text)
    if match is None:
        return CallHead()
    name = read_string(payload.decode(match[1])) or None
    arguments = arguments_pattern.match(byte_text, match.end())
    start = arguments.end() if arguments else None
    return CallHead(name, match.end(1), start)


_JSON_CALL = lazy_pattern(r"[ \t\n\r]*(?:```(?:json)?[ \t\n\r]*)?(?:\[[ \t\n\r]*)?\{")
"""The beginning of a JSON object or of a list of these, which can be between code fences."""


def begins_json(text: str) -> bool:
    """Return True if a text begins with JSON calls, in a format with elements."""
    return _JSON_CALL.match(text) is not None
