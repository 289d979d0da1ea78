"""A whole turn as a call: a JSON object.

    {"name": "get_weather", "parameters": {"city": "Rome"}}

Used by Llama 3.1 to 3.3. Their templates write one call. Models also write several with semicolons or
line breaks between them, a token before the call that announces code, and `arguments` for `parameters`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container
from typing import NamedTuple

from renderers.core.completions import ParsedToolCall
from renderers.parsing.lenient_json import JsonError, is_shallow, read_json_prefix
from renderers.parsing.tool_formats.base import (
    INVALID,
    OK,
    Payload,
    ToolFormat,
    TurnLayout,
    call_of,
    failed_call,
    name_of,
    read_arguments,
    read_json_head,
)
from renderers.tokenizer.encoding.byte_text import from_byte_text

PYTHON_TAG = "<|python_tag|>"
_ARGUMENTS = ("parameters", "arguments")
# In byte text any other whitespace is a part of a character.
_SPACE = r"[ \t\n\r]*"
_BEFORE, _BETWEEN, _END = map(re.compile, (_SPACE, f"{_SPACE}[;\n]{_SPACE}", rf"{_SPACE}\Z"))
_CALL_START = re.compile(rf'{_SPACE}\{{{_SPACE}"name"{_SPACE}:{_SPACE}("[^"\\]*(?:\\.[^"\\]*)*")', re.DOTALL)
"""The beginning of a call up to its name, which can be parsed even if the call is broken."""


class BareCalls(NamedTuple):
    """The spans of calls in a text. `broken` is True if the last one is broken or cut off."""

    spans: list[tuple[int, int]]
    broken: bool


def _parse(text: str) -> ParsedToolCall:
    try:
        value, _ = read_json_prefix(text, 0, shallow=is_shallow(text))
        return call_of(value, text, arguments=_ARGUMENTS)
    except JsonError:
        start = _CALL_START.match(text)
        name, status = read_arguments(start[1]) if start else (None, INVALID)
        return failed_call(INVALID, name_of({"name": name}) if status is OK else None)


def find_calls(
    byte_text: str, tools: Container[str | None] = (), *, decode: Callable[[str], str] = from_byte_text
) -> BareCalls | None:
    """Return the calls that make up a whole turn. None if the turn is anything else.

    `decode` decodes a part of the byte text. An object with a name is a call if it has parameters, or
    if its name is the name of a tool. A broken object is a call if it begins with the name of a tool,
    and it is the last call then.

    >>> find_calls('{"name": "a", "parameters": {}}; {"name": "b"}', {"b"})
    BareCalls(spans=[(0, 31), (33, 46)], broken=False)
    >>> find_calls('{"name": "b", "para', {"b"}), find_calls('{"name": "Bob"}')
    (BareCalls(spans=[(0, 19)], broken=True), None)
    """
    spans: list[tuple[int, int]] = []
    shallow = is_shallow(byte_text)
    separator = _BEFORE.match(byte_text)
    while separator:
        start = separator.end()
        try:
            value, end = read_json_prefix(byte_text, start, shallow=shallow)
        except JsonError:
            value, end = None, len(byte_text)
        has_arguments = name_of(value) and any(key in value for key in _ARGUMENTS)
        if not has_arguments and _parse(decode(byte_text[start:end])).name not in tools:
            return None
        spans.append((start, end))
        if value is None or _END.match(byte_text, end):
            return BareCalls(spans, broken=value is None)
        separator = _BETWEEN.match(byte_text, end)
    return None


def _read(payload: Payload) -> ParsedToolCall:
    return _parse(payload.text())


LLAMA = ToolFormat(
    key="llama",
    call=None,
    inner=(PYTHON_TAG,),
    layout=TurnLayout.BARE_CALLS,
    json_arguments=True,
    read=_read,
    read_head=read_json_head,
)
