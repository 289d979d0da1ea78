"""A turn that is nothing but a call, as a JSON object.

    {"name": "get_weather", "parameters": {"city": "Rome"}}

Used by Llama 3.1 to 3.3. Their templates write one call; models also write several with semicolons between them,
a token before it that announces code, and `arguments` for `parameters`.
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence

from renderers.parse.json_value import JsonError, read_json_prefix
from renderers.parse.schema import ToolSchemas
from renderers.parse.syntax.base import INVALID, Attempt, Call, Payload, Syntax, call_of, name_of, written_json

__all__ = ["LLAMA", "PYTHON_TAG", "find_calls"]

PYTHON_TAG = "<|python_tag|>"
_ARGUMENTS = ("parameters", "arguments")
_BEFORE, _BETWEEN, _END = map(re.compile, (r"\s*", r"\s*;\s*", r"\s*\Z"))


def write(calls: Sequence[Call]) -> str:
    """Writes calls.

    >>> write([Call("get", {"x": 1})])
    '{"name": "get", "parameters": {"x": 1}}'
    """
    return "; ".join(written_json({"name": call.name, "parameters": dict(call.arguments)}) for call in calls)


def read(payload: Payload, schemas: ToolSchemas) -> Attempt:  # noqa: ARG001
    """Reads a call."""
    text = payload.text()
    try:
        value, _ = read_json_prefix(text, 0)
        return call_of(value, text, arguments=_ARGUMENTS)
    except JsonError:
        return Attempt(None, None, INVALID)


def find_calls(text: str, tools: Container[str] = ()) -> list[tuple[int, int]] | None:
    """Returns where the calls are that a whole turn is; None for a turn that is anything else.

    An object with a name is a call if it has parameters, or if its name is that of a tool.

    >>> find_calls('{"name": "a", "parameters": {}}; {"name": "b"}', {"b"}), find_calls('{"name": "Bob"}')
    ([(0, 31), (33, 46)], None)
    """
    places: list[tuple[int, int]] = []
    between = _BEFORE.match(text)
    while between:
        try:
            value, end = read_json_prefix(text, between.end())
        except JsonError:
            return None
        name = name_of(value)
        if name is None or not (name in tools or any(key in value for key in _ARGUMENTS)):
            return None
        places.append((between.end(), end))
        if _END.match(text, end):
            return places
        between = _BETWEEN.match(text, end)
    return None


LLAMA = Syntax(key="llama", call=None, bare=True, inner=(PYTHON_TAG,), write=write, read=read)
