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

from collections.abc import Sequence

from renderers.parsing.schema import ToolSchemas
from renderers.parsing.tool_formats.base import (
    MALFORMED,
    MISSING_NAME,
    Call,
    Payload,
    ReadCall,
    ToolFormat,
    dump_json,
    read_arguments,
)

_SECTION = "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"
_CALL = "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>"
_SEPARATOR = "<｜tool▁sep｜>"
_FENCE, _FENCE_END = "```json\n", "\n```"


def write_fenced(calls: Sequence[Call]) -> str:
    """Format calls as V3 does.

    >>> "get\\n```json\\n{}\\n```" in write_fenced([Call("get", {})])
    True
    """
    texts = (
        f"{_CALL[0]}function{_SEPARATOR}{call.name}\n{_FENCE}{dump_json(dict(call.arguments))}{_FENCE_END}{_CALL[1]}"
        for call in calls
    )
    return _SECTION[0] + "\n".join(texts) + _SECTION[1]


def read_fenced(payload: Payload, schemas: ToolSchemas) -> ReadCall:  # noqa: ARG001
    """Parse a call of V3. The fences are optional."""
    separator = payload.find(_SEPARATOR)
    if separator is None:
        return ReadCall(None, None, MALFORMED)
    name, _, body = payload.text(separator[1]).partition("\n")
    text = body.strip().removeprefix(_FENCE.strip()).removesuffix(_FENCE_END.strip())
    return _read_call(name.strip(), text)


def write_bare(calls: Sequence[Call]) -> str:
    """Format calls as V3.1 does."""
    texts = (f"{_CALL[0]}{call.name}{_SEPARATOR}{dump_json(dict(call.arguments))}{_CALL[1]}" for call in calls)
    return _SECTION[0] + "".join(texts) + _SECTION[1]


def read_bare(payload: Payload, schemas: ToolSchemas) -> ReadCall:  # noqa: ARG001
    """Parse a call of V3.1."""
    separator = payload.find(_SEPARATOR)
    if separator is None:
        return ReadCall(None, None, MALFORMED)
    return _read_call(payload.text(0, separator[0]).strip(), payload.text(separator[1]))


def _read_call(name: str, text: str) -> ReadCall:
    arguments, status = read_arguments(text)
    return ReadCall(name, arguments, status) if name else ReadCall(None, arguments, MISSING_NAME)


DEEPSEEK_V3 = ToolFormat(
    key="deepseek_v3", section=_SECTION, call=_CALL, inner=(_SEPARATOR,), write=write_fenced, read=read_fenced
)
DEEPSEEK_V31 = ToolFormat(
    key="deepseek_v31", section=_SECTION, call=_CALL, inner=(_SEPARATOR,), write=write_bare, read=read_bare
)
