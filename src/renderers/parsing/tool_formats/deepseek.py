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

from renderers.core.completions import ParsedToolCall
from renderers.parsing.tool_formats.base import MALFORMED, Payload, ToolFormat, failed_call, named_call, read_arguments

_SECTION = "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"
_CALL = "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>"
_SEPARATOR = "<｜tool▁sep｜>"


def _read_fenced(payload: Payload) -> ParsedToolCall:
    """Parse a call of V3. The fences are optional."""
    parts = payload.partition(_SEPARATOR)
    if parts is None:
        return failed_call(MALFORMED)
    name, _, body = parts[1].partition("\n")
    return named_call(name.strip(), *read_arguments(body.strip().removeprefix("```json").removesuffix("```")))


def _read_bare(payload: Payload) -> ParsedToolCall:
    parts = payload.partition(_SEPARATOR)
    if parts is None:
        return failed_call(MALFORMED)
    return named_call(parts[0].strip(), *read_arguments(parts[1]))


DEEPSEEK_V3 = ToolFormat(key="deepseek_v3", section=_SECTION, call=_CALL, inner=(_SEPARATOR,), read=_read_fenced)
DEEPSEEK_V31 = dataclasses.replace(DEEPSEEK_V3, key="deepseek_v31", read=_read_bare)
