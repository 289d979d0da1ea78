"""Calls as tags that contain names, with each value on separate lines.

    <tool_call>
    <function=get_weather>
    <parameter=city>
    Rome
    </parameter>
    </function>
    </tool_call>

Used by Qwen3-Coder, Qwen 3.5 and later, Nemotron 3. Values have no quotes: a value that is not a
string is JSON or a Python literal (`True`, `None`). Seed-OSS writes values without the line breaks.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from renderers.parsing.schema import ToolSchemas
from renderers.parsing.tool_formats.base import (
    MALFORMED,
    Call,
    MarkerPair,
    Payload,
    ReadCall,
    ToolFormat,
    dump_values,
    read_parameters,
    read_tagged,
)

_CALL = "<tool_call>", "</tool_call>"
_SEED_CALL = "<seed:tool_call>", "</seed:tool_call>"
_FUNCTION, _FUNCTION_END = "<function=", "</function>"
_PARAMETER, _PARAMETER_END = "<parameter=", "</parameter>"


def write(calls: Sequence[Call], *, markers: MarkerPair = _CALL, padding: str = "\n") -> str:
    """Format calls between markers, with padding around values.

    >>> print(write([Call("get", {"x": 1})]))
    <tool_call>
    <function=get>
    <parameter=x>
    1
    </parameter>
    </function>
    </tool_call>
    """
    return "\n".join(f"{markers[0]}\n{_write_call(call, padding)}\n{markers[1]}" for call in calls)


def _write_call(call: Call, padding: str) -> str:
    values = dump_values(call.arguments).items()
    parameters = "".join(f"{_PARAMETER}{key}>{padding}{text}{padding}{_PARAMETER_END}\n" for key, text in values)
    return f"{_FUNCTION}{call.name}>\n{parameters}{_FUNCTION_END}"


def read(payload: Payload, schemas: ToolSchemas, *, padding: str = "\n") -> ReadCall:
    """Parse a call. Padding around values is optional, and is removed once."""
    function = payload.find(_FUNCTION)
    name_end = payload.find(">", function[1]) if function else None
    name = payload.text(function[1], name_end[0]).strip() if function and name_end else ""
    if not function or not name_end or not name:
        return ReadCall(None, None, MALFORMED)
    pairs, well_formed = read_tagged(
        payload,
        name_end[1],
        tag=(_PARAMETER, ">"),
        close=_PARAMETER_END,
        end=_FUNCTION_END,
        padding=padding,
    )
    arguments, status = read_parameters(pairs, name, schemas)
    return ReadCall(name, arguments, status if well_formed and payload.is_blank(0, function[0]) else MALFORMED)


QWEN_XML = ToolFormat(key="qwen_xml", call=_CALL, ends_reasoning=True, write=write, read=read)
SEED_XML = ToolFormat(
    key="seed_xml",
    call=_SEED_CALL,
    ends_reasoning=True,
    write=functools.partial(write, markers=_SEED_CALL, padding=""),
    read=functools.partial(read, padding=""),
)
