"""Calls as tags of special tokens, with a type for each argument.

    <|open|>tools<|sep|>
    <|open|>call tool="get_weather" index="1"<|sep|>
    <|open|>argument key="city" type="string"<|sep|>Rome<|close|>argument<|sep|>
    <|close|>call<|sep|>
    <|close|>tools<|sep|>

(Line breaks are for readability only.) Used by Kimi K3. Strings have no quotes, other values are JSON. A call can
have a tag `json` with all arguments in one object instead. Quotes and ampersands in attributes are escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from renderers.core.completions import ParsedToolCall
from renderers.parsing.lenient_json import JsonError, read_json
from renderers.parsing.tool_formats.base import (
    INVALID,
    MALFORMED,
    OK,
    CallHead,
    Payload,
    ReadArguments,
    ToolFormat,
    failed_call,
    named_call,
    read_arguments,
)

_SECTION = "<|open|>tools<|sep|>", "<|close|>tools<|sep|>"
_CALL = "<|open|>call", "<|close|>call<|sep|>"
_SEPARATOR = "<|sep|>"
_ARGUMENT = "<|open|>argument", "<|close|>argument<|sep|>"
_JSON = "<|open|>json", "<|close|>json<|sep|>"
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')


def _attributes(text: str) -> dict[str, str]:
    """Return the attributes of a tag."""
    pairs = _ATTRIBUTE.findall(text)
    return {key: value.replace("&quot;", '"').replace("&amp;", "&") for key, value in pairs}


def _tags(payload: Payload, start: int, markers: tuple[str, str]) -> Iterator[tuple[dict[str, str], str, bool]]:
    """Yield the attributes and the text of each tag from a position on, and whether it is closed."""
    byte_text, (opener, closer) = payload.byte_text, map(payload.mark, markers)
    separator = payload.mark(_SEPARATOR)
    while (opened := byte_text.find(opener, start)) >= 0:
        separated = byte_text.find(separator, opened)
        if separated < 0:
            yield _attributes(payload.decode(byte_text[opened + len(opener) :])), "", False
            return
        body = separated + len(separator)
        closed, following = byte_text.find(closer, body), byte_text.find(opener, body)
        if closed < 0 or 0 <= following < closed:
            end = start = following if following >= 0 else len(byte_text)
            closed = -1
        else:
            end, start = closed, closed + len(closer)
        attributes = _attributes(payload.decode(byte_text[opened + len(opener) : separated]))
        yield attributes, payload.decode(byte_text[body:end]), closed >= 0


def _read(payload: Payload) -> ParsedToolCall:
    head, start = payload.head(_SEPARATOR)
    name = _attributes(payload.text() if head is None else head).get("tool")
    if head is None:
        return failed_call(MALFORMED, name)
    arguments: dict[str, Any] = {}
    status = OK
    for attributes, text, closed in _tags(payload, start, _ARGUMENT):
        key = attributes.get("key")
        if key is None or not closed:
            status = MALFORMED
        if key is None:
            continue
        arguments[key], is_valid = _read_value(text, attributes.get("type", "string"))
        status = status if is_valid or status is MALFORMED else INVALID
    for _, text, closed in _tags(payload, start, _JSON):
        return named_call(name, *(read_arguments(text) if closed else ReadArguments(text, MALFORMED)))
    return named_call(name, arguments, status)


def _read_value(text: str, kind: str) -> tuple[Any, bool]:
    """Return a value of a type, and whether its text fits the type."""
    if kind == "string":
        return text, True
    try:
        return read_json(text.strip()), True
    except JsonError:
        return text, False


def _read_head(payload: Payload) -> CallHead:
    head, end = payload.head(_SEPARATOR)
    return CallHead() if head is None else CallHead(_attributes(head).get("tool"), end)


KIMI_K3 = ToolFormat(
    key="kimi_k3",
    section=_SECTION,
    call=_CALL,
    inner=(_SEPARATOR, *_ARGUMENT, *_JSON),
    ends_reasoning=True,
    read=_read,
    read_head=_read_head,
)
