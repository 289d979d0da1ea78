"""Calls as `invoke` elements with `parameter` elements, all between two tokens.

    <minimax:tool_call>
    <invoke name="get_weather">
    <parameter name="city">Rome</parameter>
    </invoke>
    </minimax:tool_call>

Used by MiniMax M2. Strings have no quotes, other values are JSON.
"""

from __future__ import annotations

from collections.abc import Sequence

from renderers.parse.response import ToolCallParseStatus
from renderers.parse.schema import ToolSchemas
from renderers.parse.syntax.base import (
    MALFORMED,
    Attempt,
    Call,
    Payload,
    Syntax,
    read_parameters,
    read_tagged,
    written_values,
)

__all__ = ["MINIMAX"]

_SECTION = "<minimax:tool_call>", "</minimax:tool_call>"
_CALL = '<invoke name="', "</invoke>"
_PARAMETER, _PARAMETER_END = '<parameter name="', "</parameter>"
_NAMED = '">'


def write(calls: Sequence[Call]) -> str:
    """Writes calls.

    >>> print(write([Call("get", {"x": 1})]))
    <minimax:tool_call>
    <invoke name="get">
    <parameter name="x">1</parameter>
    </invoke>
    </minimax:tool_call>
    """
    return "\n".join([_SECTION[0], *map(_written, calls), _SECTION[1]])


def _written(call: Call) -> str:
    values = written_values(call.arguments).items()
    parameters = "".join(f"{_PARAMETER}{key}{_NAMED}{text}{_PARAMETER_END}\n" for key, text in values)
    return f"{_CALL[0]}{call.name}{_NAMED}\n{parameters}{_CALL[1]}"


def read(payload: Payload, schemas: ToolSchemas) -> Attempt:
    """Reads a call, from its name on."""
    named = payload.find(_NAMED)
    if named is None:
        return Attempt(None, None, MALFORMED)
    name = payload.text(0, named[0]).strip()
    pairs, whole = read_tagged(payload, named[1], tag=(_PARAMETER, _NAMED), close=_PARAMETER_END)
    if not name:
        return Attempt(None, None, ToolCallParseStatus.MISSING_NAME)
    arguments, status = read_parameters(pairs, name, schemas)
    return Attempt(name, arguments, status if whole else MALFORMED)


MINIMAX = Syntax(key="minimax", section=_SECTION, call=_CALL, ends_reasoning=True, write=write, read=read)
