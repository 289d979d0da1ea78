"""Calls of DeepSeek: a name and a JSON object around a separator, in a section.

V3 and R1 write the word `function` before the separator, and the object between fences:

    <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather
    ```json
    {"city": "Rome"}
    ```<｜tool▁call▁end｜><｜tool▁calls▁end｜>

V3.1 writes the name before it, and the object without fences:

    <｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{"city": "Rome"}<｜tool▁call▁end｜>
"""

from __future__ import annotations

import dataclasses
import re

from renderers.core.completions import ParsedToolCall
from renderers.parsing.tool_formats.base import (
    MALFORMED,
    CallHead,
    Payload,
    ToolFormat,
    failed_call,
    head_before,
    named_call,
    read_arguments,
)

_SECTION = "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"
_CALL = "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>"
_SEPARATOR = "<｜tool▁sep｜>"
_FENCED = re.compile(r"([^\n]*)\n\s*(?:```json)?\s*(?=\{)")


def _read_fenced(payload: Payload) -> ParsedToolCall:
    """Parse a call of V3. The fences are optional."""
    parts = payload.partition(_SEPARATOR)
    if parts is None:
        return failed_call(MALFORMED)
    name, _, body = parts[1].partition("\n")
    return named_call(name.strip(), *read_arguments(body.strip().removeprefix("```json").removesuffix("```")))


def _read_fenced_head(payload: Payload) -> CallHead:
    kind, start = payload.head(_SEPARATOR)
    end = payload.byte_text.find("\n", start)
    if kind is None or end < 0:
        return CallHead()
    fenced = _FENCED.match(payload.byte_text, start)
    return CallHead(payload.decode(payload.byte_text[start:end]).strip(), end, fenced.end() if fenced else None)


def _read_bare_head(payload: Payload) -> CallHead:
    return head_before(payload, _SEPARATOR)


def _read_bare(payload: Payload) -> ParsedToolCall:
    parts = payload.partition(_SEPARATOR)
    if parts is None:
        return failed_call(MALFORMED)
    return named_call(parts[0].strip(), *read_arguments(parts[1]))


DEEPSEEK_V3 = ToolFormat(
    key="deepseek_v3",
    section=_SECTION,
    call=_CALL,
    inner=(_SEPARATOR,),
    json_arguments=True,
    read=_read_fenced,
    read_head=_read_fenced_head,
)
DEEPSEEK_V31 = dataclasses.replace(DEEPSEEK_V3, key="deepseek_v31", read=_read_bare, read_head=_read_bare_head)
