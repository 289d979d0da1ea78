"""A whole turn as a call: a JSON object.

    {"name": "get_weather", "parameters": {"city": "Rome"}}

Used by Llama 3.1 to 3.3. Their templates write one call. Models also write several with semicolons or
line breaks between them, a token before the call that announces code, and `arguments` for `parameters`. After that
token, a call can be in the syntax of Python, as for the built-in tools of Llama 3.1:

    <|python_tag|>brave_search.call(query="Rome")
"""

from __future__ import annotations

import functools
import re

from renderers.core.completions import ParsedToolCall, RecoveryKind
from renderers.parsing.lenient_json import JsonError, is_shallow, read_json_prefix
from renderers.parsing.python_calls import PythonError, read_call
from renderers.parsing.schema import NO_SCHEMAS
from renderers.parsing.tool_formats.base import (
    MALFORMED,
    OK,
    CallKeys,
    FoundCalls,
    Payload,
    ToolFormat,
    TurnLayout,
    failed_call,
    named_call,
)
from renderers.parsing.tool_formats.json_calls import (
    NAME_PARAMETERS,
    broken_call,
    call_of,
    has_arguments,
    name_of,
    read_json_head,
)

PYTHON_TAG = "<|python_tag|>"
# In byte text any other whitespace is a part of a character.
_SPACE = r"[ \t\n\r]*"
_PYTHON_CALL = re.compile(r"([\w-]+)\.call\(")
_BEFORE, _BETWEEN, _END = map(re.compile, (_SPACE, f"{_SPACE}[;\n]{_SPACE}", rf"{_SPACE}\Z"))


def _parse(text: str, keys: CallKeys) -> ParsedToolCall:
    try:
        value, _ = read_json_prefix(text, 0, shallow=is_shallow(text))
        return call_of(value, text, keys)
    except JsonError:
        payload = Payload(text, str, str, NO_SCHEMAS)
        return broken_call(payload, read_json_head(payload, keys=keys))


def find_calls(payload: Payload, *, keys: CallKeys = NAME_PARAMETERS) -> FoundCalls | None:
    """Return the calls that make up a whole turn. None if the turn is anything else.

    An object with a name is a call if it has parameters, or if its name is the name of a tool. A broken
    object is a call if it begins with the name of a tool, and it is the last call then.
    """
    spans: list[tuple[int, int]] = []
    calls: list[ParsedToolCall] = []
    byte_text = payload.byte_text
    tag = payload.mark(PYTHON_TAG)
    separator = _BEFORE.match(byte_text)
    tagged = separator is not None and byte_text.startswith(tag, separator.end())
    if separator and tagged:
        separator = _BEFORE.match(byte_text, separator.end() + len(tag))
        if separator and _PYTHON_CALL.match(byte_text, separator.end()):
            return _find_python_calls(payload, separator.end())
    shallow, is_text = is_shallow(byte_text), byte_text.isascii()
    while separator:
        start = separator.end()
        try:
            value, end = read_json_prefix(byte_text, start, shallow=shallow)
        except JsonError:
            value, end = None, len(byte_text)
        called = value.get(keys.wrapper, value) if keys.wrapper and isinstance(value, dict) else value
        is_whole = bool(name_of(called, keys)) and has_arguments(called, keys)
        if not is_whole and _parse(payload.decode(byte_text[start:end]), keys).name not in payload.schemas:
            return None
        spans.append((start, end))
        if is_text and value is not None:
            calls.append(call_of(value, byte_text[start:end], keys))
        if value is None or _END.match(byte_text, end):
            recoveries = ((RecoveryKind.OTHER_SYNTAX,) if tagged else ()) + (
                (RecoveryKind.SEVERAL_CALLS,) if len(spans) > 1 else ()
            )
            return FoundCalls(spans, value is None, recoveries, calls)
        separator = _BETWEEN.match(byte_text, end)
    return None


def _find_python_calls(payload: Payload, start: int) -> FoundCalls | None:
    """Return the calls in the syntax of Python that make up the rest of a turn. None if the rest is anything else.

    A broken call counts if it names a tool. It is the last call then.
    """
    spans: list[tuple[int, int]] = []
    byte_text, broken = payload.byte_text, False
    while named := _PYTHON_CALL.match(byte_text, start):
        try:
            end = read_call(byte_text, start).end
        except PythonError:
            broken, end = payload.decode(named[1]) in payload.schemas, len(byte_text)
            if not broken:
                return None
        spans.append((start, end))
        if broken or _END.match(byte_text, end):
            several = (RecoveryKind.SEVERAL_CALLS,) if len(spans) > 1 else ()
            return FoundCalls(spans, broken, (RecoveryKind.OTHER_SYNTAX, *several))
        following = _BETWEEN.match(byte_text, end)
        if following is None:
            return None
        start = following.end()
    return None


def _read(payload: Payload, *, keys: CallKeys = NAME_PARAMETERS) -> ParsedToolCall:
    text = payload.text()
    named = _PYTHON_CALL.match(text)
    if named is None:
        return _parse(text, keys)
    try:
        call = read_call(text)
    except PythonError:
        return failed_call(MALFORMED, named[1])
    return named_call(named[1], call.arguments, OK)


LLAMA = ToolFormat(
    key="llama",
    call=None,
    inner=(PYTHON_TAG,),
    openings=("{", PYTHON_TAG),
    within_text=("{", "[", "```", PYTHON_TAG),
    layout=TurnLayout.BARE_CALLS,
    json_arguments=True,
    keys=NAME_PARAMETERS,
    read=_read,
    read_head=functools.partial(read_json_head, keys=NAME_PARAMETERS),
    find=find_calls,
)
