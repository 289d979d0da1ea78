"""Calls of DeepSeek up to V3.1: a name and a JSON object around a separator, in a section.

V3 and R1 write the word `function` before the separator, and the object between fences:

    <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather
    ```json
    {"city": "Rome"}
    ```<｜tool▁call▁end｜><｜tool▁calls▁end｜>

V3.1 writes the name before it, and the object without fences:

    <｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{"city": "Rome"}<｜tool▁call▁end｜>

Models of either kind write calls of the other one as well, and leave out the separator.
"""

from __future__ import annotations

import functools

from renderers.core.completions import ParsedToolCall, RecoveryKind
from renderers.core.lazy import lazy_pattern
from renderers.parsing.schema import ToolSchemas
from renderers.parsing.tool_formats.base import (
    MALFORMED,
    OK,
    CallHead,
    Payload,
    ToolFormat,
    failed_call,
    named_call,
    recovered,
)
from renderers.parsing.tool_formats.json_calls import read_arguments

_SECTION = "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"
_CALL = "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>"
_SEPARATOR = "<｜tool▁sep｜>"
_TYPE = "function"
"""The type of a call, which V3 writes before the separator."""
_BODY_START = lazy_pattern(r"\s*(?:\{|```)")
_NAME_LINE = lazy_pattern(r"([^\n{`]*)(?:\n|(?=[{`]))")
_FENCES = lazy_pattern(r"\s*(?:```(?:json)?)?\s*(?=\{)")


def _has_name_after(kind: str, byte_text: str, start: int, *, fenced: bool) -> bool | None:
    """Return True if the name of a call is after the separator, before an object. None if more text decides.

    `kind` is the text before the separator. `fenced` is True in the format of V3.
    """
    body = _BODY_START.match(byte_text, start)
    if fenced:
        # Without a name there, the text before the separator is the name of a call of V3.1.
        return not (body and kind and kind != _TYPE)
    if kind != _TYPE:
        return False
    return body is None if byte_text[start:].strip(" \t\n\r`") else None


def _read(payload: Payload, *, fenced: bool) -> ParsedToolCall:
    byte_text = payload.byte_text
    kind, start = payload.head(_SEPARATOR)
    if kind is None:
        return _read_unseparated(payload.text(), payload.schemas)
    kind, after = kind.strip(), payload.decode(byte_text[start:])
    named_after = bool(_has_name_after(kind, byte_text, start, fenced=fenced))
    name, body = _split_name(after) if named_after else (kind, after)
    call = named_call(name, *read_arguments(_without_fences(body)))
    is_own = named_after == fenced and ("```" in body) == fenced
    return call if is_own or not body.strip() else recovered(call, RecoveryKind.OTHER_SYNTAX)


def _split_name(text: str) -> tuple[str, str]:
    """Return the name at the beginning of a text, up to the end of its line or to an object, and the text after it."""
    match = _NAME_LINE.match(text)
    return (match[1].strip(), text[match.end() :]) if match else (text.strip(), "")


def _without_fences(text: str) -> str:
    text = text.strip()
    return text.removeprefix("```json").removeprefix("```").removesuffix("```")


def _read_unseparated(text: str, schemas: ToolSchemas) -> ParsedToolCall:
    """Parse a call without a separator. Return its name and arguments only if the arguments are an object.

    A name with spaces can be text, so that call is malformed. So is one that begins with the type of V3, unless a tool
    has the name, or the rest of it.
    """
    name, body = _split_name(text)
    is_name = " " not in name
    if name.startswith(_TYPE) and name not in schemas:
        is_name = name.removeprefix(_TYPE) in schemas
        name = name.removeprefix(_TYPE) if is_name else name
    arguments, _, recoveries = read_arguments(_without_fences(body))
    if name and body.strip() and isinstance(arguments, dict):
        recoveries += (RecoveryKind.MISSING_SEPARATOR,)
        return named_call(name, arguments, OK if is_name else MALFORMED, recoveries)
    return failed_call(MALFORMED)


def _read_head(payload: Payload, *, fenced: bool) -> CallHead:
    byte_text = payload.byte_text
    kind, start = payload.head(_SEPARATOR)
    if kind is None:
        return CallHead()
    name, name_end = kind.strip(), start
    named_after = _has_name_after(name, byte_text, start, fenced=fenced)
    if named_after:
        match = _NAME_LINE.match(byte_text, start)
        name, name_end = (payload.decode(match[1]).strip(), match.end()) if match else ("", start)
    if named_after is None or not name:
        return CallHead()
    body = _FENCES.match(byte_text, name_end)
    return CallHead(name, name_end, body.end() if body else None)


def _deepseek(key: str, *, fenced: bool) -> ToolFormat:
    return ToolFormat(
        key=key,
        section=_SECTION,
        call=_CALL,
        inner=(_SEPARATOR,),
        separates_calls=True,
        signature=f"{_TYPE}{_SEPARATOR}" if fenced else "",
        json_arguments=True,
        read=functools.partial(_read, fenced=fenced),
        read_head=functools.partial(_read_head, fenced=fenced),
    )


DEEPSEEK_V3 = _deepseek("deepseek_v3", fenced=True)
DEEPSEEK_V31 = _deepseek("deepseek_v31", fenced=False)
