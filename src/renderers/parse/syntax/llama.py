"""A turn that is nothing but a call, as a JSON object.

    {"name": "get_weather", "parameters": {"city": "Rome"}}

Used by Llama 3.1 to 3.3. Their templates write one call; models also write several with semicolons or line breaks
between them, a token before it that announces code, and `arguments` for `parameters`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Sequence
from typing import NamedTuple

from renderers.parse.json_value import JsonError, read_json_prefix
from renderers.parse.schema import ToolSchemas
from renderers.parse.syntax.base import INVALID, Attempt, Call, Payload, Syntax, call_of, name_of, written_json
from renderers.tokenizer.wire import from_wire

__all__ = ["LLAMA", "PYTHON_TAG", "BareCalls", "find_calls"]

PYTHON_TAG = "<|python_tag|>"
_ARGUMENTS = ("parameters", "arguments")
# In wire text other spaces are parts of characters.
_SPACE = r"[ \t\n\r]*"
_BEFORE, _BETWEEN, _END = map(re.compile, (_SPACE, f"{_SPACE}[;\n]{_SPACE}", rf"{_SPACE}\Z"))
_BEGUN = re.compile(rf'{_SPACE}\{{{_SPACE}"name"{_SPACE}:{_SPACE}("[^"\\]*(?:\\.[^"\\]*)*")', re.DOTALL)
"""How a call begins: what can be read of one that is broken."""


class BareCalls(NamedTuple):
    """Where calls are, and whether the last one is broken or cut off."""

    places: list[tuple[int, int]]
    broken: bool


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
        return Attempt(_begun_name(text), None, INVALID)


def find_calls(
    text: str, tools: Container[str | None] = (), *, decode: Callable[[str], str] = from_wire
) -> BareCalls | None:
    """Returns the calls that a whole turn is; None for a turn that is anything else.

    The turn is wire text, and `decode` gives what that says.

    An object with a name is a call if it has parameters, or if its name is that of a tool. One that is broken is one
    if it begins with the name of a tool, and then it is the last.

    >>> find_calls('{"name": "a", "parameters": {}}; {"name": "b"}', {"b"})
    BareCalls(places=[(0, 31), (33, 46)], broken=False)
    >>> find_calls('{"name": "b", "para', {"b"}), find_calls('{"name": "Bob"}')
    (BareCalls(places=[(0, 19)], broken=True), None)
    """
    places: list[tuple[int, int]] = []
    between = _BEFORE.match(text)
    while between:
        start = between.end()
        try:
            value, end = read_json_prefix(text, start)
        except JsonError:
            begun = _begun_name(decode(text[start:])) in tools
            return BareCalls([*places, (start, len(text))], broken=True) if begun else None
        if name_of(value) is None:
            return None
        if not any(key in value for key in _ARGUMENTS) and _whole_name(decode(text[start:end])) not in tools:
            return None
        places.append((start, end))
        if _END.match(text, end):
            return BareCalls(places, broken=False)
        between = _BETWEEN.match(text, end)
    return None


def _whole_name(text: str) -> str | None:
    """Returns the name that a call gives."""
    try:
        return name_of(read_json_prefix(text, 0)[0])
    except JsonError:
        return None


def _begun_name(text: str) -> str | None:
    """Returns the name that a call begins with, which may be broken."""
    begun = _BEGUN.match(text)
    return _whole_name(f'{{"name": {begun[1]}}}') if begun else None


LLAMA = Syntax(key="llama", call=None, bare=True, inner=(PYTHON_TAG,), write=write, read=read)
