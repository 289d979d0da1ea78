"""A turn that is nothing but a call, as a JSON object.

    {"name": "get_weather", "parameters": {"city": "Rome"}}

Used by Llama 3.1 to 3.3. Their templates write one call; models also write several with semicolons between them,
a token before it that announces code, and `arguments` for `parameters`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from renderers.parse.json_value import JsonError, read_json_prefix
from renderers.parse.schema import ToolSchemas
from renderers.parse.syntax.base import INVALID, OK, Attempt, Call, Payload, Syntax, call_of, written_json

__all__ = ["LLAMA", "PYTHON_TAG", "find_calls"]

PYTHON_TAG = "<|python_tag|>"
_BEFORE, _BETWEEN, _END = map(re.compile, (r"\s*", r"\s*;\s*", r"\s*\Z"))


def write(calls: Sequence[Call]) -> str:
    """Writes calls.

    >>> write([Call("get", {"x": 1})])
    '{"name": "get", "parameters": {"x": 1}}'
    """
    return "; ".join(written_json({"name": call.name, "parameters": dict(call.arguments)}) for call in calls)


def read(payload: Payload, schemas: ToolSchemas) -> Attempt:  # noqa: ARG001
    """Reads a call."""
    try:
        value, _ = read_json_prefix(payload.text(), 0)
    except JsonError:
        return Attempt(None, None, INVALID)
    return call_of(value, arguments=("parameters", "arguments"))


def find_calls(text: str) -> list[tuple[int, int]] | None:
    """Returns where the calls are that a whole turn is; None for a turn that is anything else.

    >>> find_calls('{"name": "get"}; {"name": "go"}'), find_calls('{"x": 1}'), find_calls("Hi")
    ([(0, 15), (17, 31)], None, None)
    """
    places: list[tuple[int, int]] = []
    between = _BEFORE.match(text)
    while between:
        try:
            value, end = read_json_prefix(text, between.end())
        except JsonError:
            return None
        if call_of(value).status is not OK:
            return None
        places.append((between.end(), end))
        if _END.match(text, end):
            return places
        between = _BETWEEN.match(text, end)
    return None


LLAMA = Syntax(key="llama", call=None, inner=(PYTHON_TAG,), write=write, read=read)
