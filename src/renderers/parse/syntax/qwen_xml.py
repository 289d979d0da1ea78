"""Calls as tags that carry names, with values between lines of their own.

    <tool_call>
    <function=get_weather>
    <parameter=city>
    Rome
    </parameter>
    </function>
    </tool_call>

Used by Qwen3-Coder, Qwen 3.5 and later, Nemotron 3. Values have no quotes: what is not a string is JSON, or what
Python writes (`True`, `None`). Seed-OSS writes them without the line breaks.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from renderers.parse.grammar import Pair
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

__all__ = ["QWEN_XML", "SEED_XML"]

_CALL = "<tool_call>", "</tool_call>"
_SEED_CALL = "<seed:tool_call>", "</seed:tool_call>"
_FUNCTION, _FUNCTION_END = "<function=", "</function>"
_PARAMETER, _PARAMETER_END = "<parameter=", "</parameter>"


def write(calls: Sequence[Call], *, markers: Pair = _CALL, padding: str = "\n") -> str:
    """Writes calls between some markers, with some padding around values.

    >>> print(write([Call("get", {"x": 1})]))
    <tool_call>
    <function=get>
    <parameter=x>
    1
    </parameter>
    </function>
    </tool_call>
    """
    return "\n".join(f"{markers[0]}\n{_written(call, padding)}\n{markers[1]}" for call in calls)


def _written(call: Call, padding: str) -> str:
    values = written_values(call.arguments).items()
    parameters = "".join(f"{_PARAMETER}{key}>{padding}{text}{padding}{_PARAMETER_END}\n" for key, text in values)
    return f"{_FUNCTION}{call.name}>\n{parameters}{_FUNCTION_END}"


def read(payload: Payload, schemas: ToolSchemas, *, padding: str = "\n") -> Attempt:
    """Reads a call, with some padding around values that is taken off once where it is there."""
    found = payload.find(_FUNCTION)
    named = payload.find(">", found[1]) if found else None
    name = payload.text(found[1], named[0]).strip() if found and named else ""
    if not found or not named or not name:
        return Attempt(None, None, MALFORMED)
    pairs, whole = read_tagged(
        payload,
        named[1],
        tag=(_PARAMETER, ">"),
        close=_PARAMETER_END,
        end=_FUNCTION_END,
        padding=padding,
    )
    arguments, status = read_parameters(pairs, name, schemas)
    return Attempt(name, arguments, status if whole and payload.is_blank(0, found[0]) else MALFORMED)


QWEN_XML = Syntax(key="qwen_xml", call=_CALL, ends_reasoning=True, write=write, read=read)
SEED_XML = Syntax(
    key="seed_xml",
    call=_SEED_CALL,
    ends_reasoning=True,
    write=functools.partial(write, markers=_SEED_CALL, padding=""),
    read=functools.partial(read, padding=""),
)
