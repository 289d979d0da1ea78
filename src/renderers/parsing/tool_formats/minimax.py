"""Calls as `invoke` elements with `parameter` elements, all between two markers.

    <minimax:tool_call>
    <invoke name="get_weather">
    <parameter name="city">Rome</parameter>
    </invoke>
    </minimax:tool_call>

Used by MiniMax M2. Strings have no quotes, other values are JSON.
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
    dump_values,
    read_parameters,
    read_tagged,
)

_SECTION = "<minimax:tool_call>", "</minimax:tool_call>"
_CALL = '<invoke name="', "</invoke>"
_PARAMETER, _PARAMETER_END = '<parameter name="', "</parameter>"
_NAME_END = '">'


def write(calls: Sequence[Call]) -> str:
    """Format calls.

    >>> print(write([Call("get", {"x": 1})]))
    <minimax:tool_call>
    <invoke name="get">
    <parameter name="x">1</parameter>
    </invoke>
    </minimax:tool_call>
    """
    return "\n".join([_SECTION[0], *map(_write_call, calls), _SECTION[1]])


def _write_call(call: Call) -> str:
    values = dump_values(call.arguments).items()
    parameters = "".join(f"{_PARAMETER}{key}{_NAME_END}{text}{_PARAMETER_END}\n" for key, text in values)
    return f"{_CALL[0]}{call.name}{_NAME_END}\n{parameters}{_CALL[1]}"


def read(payload: Payload, schemas: ToolSchemas) -> ReadCall:
    """Parse a call, from its name on."""
    name_end = payload.find(_NAME_END)
    if name_end is None:
        return ReadCall(None, None, MALFORMED)
    name = payload.text(0, name_end[0]).strip()
    pairs, well_formed = read_tagged(payload, name_end[1], tag=(_PARAMETER, _NAME_END), close=_PARAMETER_END)
    if not name:
        return ReadCall(None, None, MISSING_NAME)
    arguments, status = read_parameters(pairs, name, schemas)
    return ReadCall(name, arguments, status if well_formed else MALFORMED)


MINIMAX = ToolFormat(key="minimax", section=_SECTION, call=_CALL, ends_reasoning=True, write=write, read=read)
