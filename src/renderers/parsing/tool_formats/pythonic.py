"""Calls in the syntax of Python, several of them in a list or on lines of their own.

    [get_weather(city="Rome"), search(query="Rome", days=[1, 2], exact=True)]

Used by Llama 3.2 and 4 and by ToolACE, as a whole turn. LFM2 writes the list between `<|tool_call_start|>` and
`<|tool_call_end|>`, Olmo 3 writes a line for each call between `<function_calls>` and `</function_calls>`. All
arguments have names. Models also write JSON, and quotes within strings without escapes.
"""

from __future__ import annotations

import dataclasses
import functools
import re

from renderers.core.completions import ParsedToolCall, RecoveryKind, ToolCallParseStatus
from renderers.core.lazy import lazy_pattern
from renderers.parsing.python_calls import CALL_START, PythonCall, PythonError, read_call
from renderers.parsing.schema import ToolSchemas
from renderers.parsing.tool_formats.base import (
    INVALID,
    MALFORMED,
    OK,
    CallHead,
    FoundCalls,
    Payload,
    ToolFormat,
    TurnLayout,
    failed_call,
    named_call,
    recovered,
)
from renderers.parsing.tool_formats.json_calls import list_calls_in, read_json_call

_BEFORE, _BETWEEN = lazy_pattern(r"[ \t\n\r\[]*"), lazy_pattern(r"[ \t\n\r,;]*")
_END = lazy_pattern(r"[ \t\n\r\]]*\Z")
_NEXT_CALL = lazy_pattern(r"[,;\])\n][ \t\n\r]{0,16}([\w.\-]{1,64})[ \t]{0,16}\(")
"""The beginning of a call after another one. Bounded, because it is tried at many positions."""
_NOT_WORDS = lazy_pattern(r"""["'`()\[\]{}=,;\n]""")
_LLAMA_4 = "<|python_start|>", "<|python_end|>"


def _read(payload: Payload) -> ParsedToolCall:
    text = payload.text().strip()
    if text.startswith("{"):
        return recovered(read_json_call(payload), RecoveryKind.OTHER_SYNTAX)
    for lenient in (False, True):
        try:
            call = read_call(text, lenient=lenient)
        except PythonError:
            continue
        if call.end == len(text):
            status = _recovered_status(call, payload.schemas) if lenient else OK
            kind = RecoveryKind.VALUE_QUOTES if call.bare else RecoveryKind.UNESCAPED_QUOTES
            return named_call(call.name, call.arguments, status, (kind,) if lenient and status is OK else ())
    start = CALL_START.match(text)
    return failed_call(INVALID, start[1] if start else None)


def _recovered_status(call: PythonCall, schemas: ToolSchemas) -> ToolCallParseStatus:
    """Return the status of a call that was parsed in the lenient mode.

    If a value contains the beginning of a call of another tool, it is not known where the value ends. Text without
    quotes is a value only if it is words, and if the schema allows a string.
    """
    fits = True
    for key, value in call.arguments.items():
        if not isinstance(value, str):
            continue
        schema, is_bare = schemas.parameter(call.name, key), key in call.bare
        if any(name in schemas for name in _NEXT_CALL.findall(value)) or (is_bare and _NOT_WORDS.search(value)):
            return MALFORMED
        fits = fits and ("string" in schema.types if schema else not is_bare)
    return OK if fits else INVALID


def _read_head(payload: Payload) -> CallHead:
    start = CALL_START.match(payload.byte_text)
    return CallHead(payload.decode(start[1]), start.end()) if start else CallHead()


def _find(payload: Payload, *, brackets: bool, strict: bool = False) -> FoundCalls | None:
    """Find the calls between two markers. Text that is not a call and does not begin as one ends them.

    `brackets` is True if the format has brackets around them. With `strict`, strings have no quotes without escapes.
    """
    byte_text, start = payload.byte_text, _end_of(_BEFORE, payload.byte_text, 0)
    if byte_text.startswith("{", start):
        return list_calls_in(payload)
    spans: list[tuple[int, int]] = []
    for lenient in (False,) if strict else (False, True):
        spans, position = _spans(byte_text, start, lenient=lenient)
        if not CALL_START.match(byte_text, position):
            if not spans:
                return None
            is_list, is_closed = "[" in byte_text[:start], "]" in byte_text[spans[-1][1] :]
            recoveries: tuple[RecoveryKind, ...] = (RecoveryKind.OTHER_SYNTAX,) if is_list != brackets else ()
            if is_list and not is_closed:
                recoveries += (RecoveryKind.MISSING_CLOSING_MARKER,)
            return FoundCalls(spans, recoveries=recoveries)
    return FoundCalls([*spans, (position, len(byte_text))], broken=True)


def _find_bare(payload: Payload) -> FoundCalls | None:
    """Find the calls that make up a whole turn.

    A call counts if it has arguments, if its name is the name of a tool, or if the tools are unknown. A broken call
    counts if it begins with the name of a tool.
    """
    opener, closer = map(payload.mark, _LLAMA_4)
    byte_text = payload.byte_text.replace(opener, " " * len(opener)).replace(closer, " " * len(closer))
    listed = _find(payload.with_byte_text(byte_text), brackets=True)
    if listed is None:
        return None
    calls = [_read(payload.with_byte_text(byte_text[start:end])) for start, end in listed.spans]
    names = payload.schemas.names
    for call in calls:
        if call.name not in payload.schemas and (call.status is not OK or (names is not None and not call.arguments)):
            return None
    if byte_text != payload.byte_text:
        listed = listed._replace(recoveries=(RecoveryKind.OTHER_SYNTAX, *listed.recoveries))
    return listed if listed.broken or _END.match(byte_text, listed.spans[-1][1]) else None


def _spans(byte_text: str, position: int, *, lenient: bool) -> tuple[list[tuple[int, int]], int]:
    """Return the spans of consecutive calls, and the position of the text that is not a call."""
    spans: list[tuple[int, int]] = []
    while True:
        try:
            end = read_call(byte_text, position, lenient=lenient).end
        except PythonError:
            return spans, position
        spans.append((position, end))
        position = _end_of(_BETWEEN, byte_text, end)


def _end_of(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    return match.end() if match else position


LFM_2 = ToolFormat(
    key="lfm2",
    call=("<|tool_call_start|>", "<|tool_call_end|>"),
    layout=TurnLayout.LISTS,
    keeps_text=True,
    read=_read,
    read_head=_read_head,
    find=functools.partial(_find, brackets=True),
    find_strictly=functools.partial(_find, brackets=True, strict=True),
)
OLMO = dataclasses.replace(
    LFM_2,
    key="olmo",
    call=("<function_calls>", "</function_calls>"),
    keeps_text=False,
    find=functools.partial(_find, brackets=False),
    find_strictly=functools.partial(_find, brackets=False, strict=True),
)
PYTHONIC = ToolFormat(
    key="pythonic",
    call=None,
    variants=(_LLAMA_4,),
    openings=("[", _LLAMA_4[0]),
    layout=TurnLayout.BARE_CALLS,
    read=_read,
    read_head=_read_head,
    find=_find_bare,
    find_strictly=functools.partial(_find, brackets=True, strict=True),
)
