"""Calls as a name and pairs of keys and values, each between markers.

    <tool_call>get_weather
    <arg_key>city</arg_key>
    <arg_value>Rome</arg_value>
    </tool_call>

Used by GLM 4.5 and later; since 4.7 without the line breaks. Strings have no quotes, other values are JSON.
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
)

_KEY, _KEY_END, _VALUE, _VALUE_END = _INNER = "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"


def write(calls: Sequence[Call]) -> str:
    """Format calls.

    >>> write([Call("get", {"x": 1})])
    '<tool_call>get\\n<arg_key>x</arg_key>\\n<arg_value>1</arg_value>\\n</tool_call>'
    """
    return "\n".join(_write_call(call) for call in calls)


def _write_call(call: Call) -> str:
    values = dump_values(call.arguments).items()
    pairs = "".join(f"{_KEY}{key}{_KEY_END}\n{_VALUE}{text}{_VALUE_END}\n" for key, text in values)
    return f"<tool_call>{call.name}\n{pairs}</tool_call>"


def read(payload: Payload, schemas: ToolSchemas) -> ReadCall:
    """Parse a call."""
    key_marker, key_end, value_marker, value_end = map(payload.mark, _INNER)
    byte_name, *parts = payload.byte_text.split(key_marker)
    name = payload.decode(byte_name).strip()
    pairs: list[tuple[str, str]] = []
    well_formed = True
    for part in parts:
        key, _, rest = part.partition(key_end)
        before, _, rest = rest.partition(value_marker)
        # If any of the earlier markers is missing, this one is missing too.
        value, closing, after = rest.rpartition(value_end)
        if closing:
            pairs.append((payload.decode(key).strip(), payload.decode(value)))
        well_formed = bool(well_formed and closing and not (before.strip() or after.strip()))
    arguments, status = read_parameters(pairs, name, schemas)
    if not name:
        return ReadCall(None, arguments, MISSING_NAME)
    return ReadCall(name, arguments, status if well_formed else MALFORMED)


GLM = ToolFormat(
    key="glm",
    call=("<tool_call>", "</tool_call>"),
    inner=_INNER,
    ends_reasoning=True,
    keeps_text=True,
    rejects_unknown_tools=True,
    assumes_prompt=True,
    write=write,
    read=read,
)
