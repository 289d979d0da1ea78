"""Calls as a name and pairs of keys and values, each between markers.

    <tool_call>get_weather
    <arg_key>city</arg_key>
    <arg_value>Rome</arg_value>
    </tool_call>

Used by GLM 4.5 and later; since 4.7 without the line breaks. Strings have no quotes, other values are JSON.
"""

from __future__ import annotations

from renderers.core.completions import ParsedToolCall
from renderers.parsing.tool_formats.base import CallHead, Payload, ToolFormat, call_of_values

_INNER = "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"


def _read(payload: Payload) -> ParsedToolCall:
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
    return call_of_values(name, pairs, payload.schemas, well_formed=well_formed)


def _read_head(payload: Payload) -> CallHead:
    name, end = payload.head(_INNER[0])
    return CallHead() if name is None else CallHead(name.strip(), end)


GLM = ToolFormat(
    key="glm",
    call=("<tool_call>", "</tool_call>"),
    inner=_INNER,
    ends_reasoning=True,
    keeps_text=True,
    rejects_unknown_tools=True,
    assumes_prompt=True,
    read=_read,
    read_head=_read_head,
)
