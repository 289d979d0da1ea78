"""Calls of DeepSeek: a name and a JSON object around a separator, in a section of their own.

V3 and R1 write the word `function` before the separator, and the object between fences:

    <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather
    ```json
    {"city": "Rome"}
    ```<｜tool▁call▁end｜><｜tool▁calls▁end｜>

V3.1 writes the name before it, and the object bare:

    <｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{"city": "Rome"}<｜tool▁call▁end｜>
"""

from __future__ import annotations

from collections.abc import Sequence

from renderers.parse.response import ToolCallParseStatus
from renderers.parse.schema import ToolSchemas
from renderers.parse.syntax.base import MALFORMED, Attempt, Call, Payload, Syntax, read_arguments, written_json

__all__ = ["DEEPSEEK_V3", "DEEPSEEK_V31"]

_SECTION = "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"
_CALL = "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>"
_SEPARATOR = "<｜tool▁sep｜>"
_FENCE, _FENCE_END = "```json\n", "\n```"


def write_fenced(calls: Sequence[Call]) -> str:
    """Writes calls as V3 does.

    >>> "get\\n```json\\n{}\\n```" in write_fenced([Call("get", {})])
    True
    """
    written = (
        f"{_CALL[0]}function{_SEPARATOR}{call.name}\n{_FENCE}{written_json(dict(call.arguments))}{_FENCE_END}{_CALL[1]}"
        for call in calls
    )
    return _SECTION[0] + "\n".join(written) + _SECTION[1]


def read_fenced(payload: Payload, schemas: ToolSchemas) -> Attempt:  # noqa: ARG001
    """Reads a call as V3 writes it; the fence may be missing."""
    found = payload.find(_SEPARATOR)
    if found is None:
        return Attempt(None, None, MALFORMED)
    name, _, body = payload.text(found[1]).partition("\n")
    text = body.strip().removeprefix(_FENCE.strip()).removesuffix(_FENCE_END.strip())
    return _attempt(name.strip(), text)


def write_bare(calls: Sequence[Call]) -> str:
    """Writes calls as V3.1 does."""
    written = (f"{_CALL[0]}{call.name}{_SEPARATOR}{written_json(dict(call.arguments))}{_CALL[1]}" for call in calls)
    return _SECTION[0] + "".join(written) + _SECTION[1]


def read_bare(payload: Payload, schemas: ToolSchemas) -> Attempt:  # noqa: ARG001
    """Reads a call as V3.1 writes it."""
    found = payload.find(_SEPARATOR)
    if found is None:
        return Attempt(None, None, MALFORMED)
    return _attempt(payload.text(0, found[0]).strip(), payload.text(found[1]))


def _attempt(name: str, text: str) -> Attempt:
    arguments, status = read_arguments(text)
    return Attempt(name, arguments, status) if name else Attempt(None, arguments, ToolCallParseStatus.MISSING_NAME)


DEEPSEEK_V3 = Syntax(
    key="deepseek_v3", section=_SECTION, call=_CALL, inner=(_SEPARATOR,), write=write_fenced, read=read_fenced
)
DEEPSEEK_V31 = Syntax(
    key="deepseek_v31", section=_SECTION, call=_CALL, inner=(_SEPARATOR,), write=write_bare, read=read_bare
)
