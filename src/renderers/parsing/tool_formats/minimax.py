"""Calls as `invoke` elements with `parameter` elements, all between two markers.

    <minimax:tool_call>
    <invoke name="get_weather">
    <parameter name="city">Rome</parameter>
    </invoke>
    </minimax:tool_call>

Used by MiniMax M2. Strings have no quotes, other values are JSON.
"""

from __future__ import annotations

from renderers.parsing.schema import ToolSchemas
from renderers.parsing.tool_formats.base import (
    MALFORMED,
    MISSING_NAME,
    Payload,
    ReadCall,
    ToolFormat,
    ValueTags,
    call_of_values,
    read_tagged,
)

_SECTION = "<minimax:tool_call>", "</minimax:tool_call>"
_CALL = '<invoke name="', "</invoke>"
_PARAMETER = ValueTags('<parameter name="', '">', "</parameter>")


def _read(payload: Payload, schemas: ToolSchemas) -> ReadCall:
    """Parse a call, from its name on."""
    name_end = payload.find('">')
    if name_end is None:
        return ReadCall(None, None, MALFORMED)
    name = payload.text(0, name_end[0]).strip()
    if not name:
        return ReadCall(None, None, MISSING_NAME)
    pairs, well_formed = read_tagged(payload, name_end[1], _PARAMETER)
    return call_of_values(name, pairs, schemas, well_formed=well_formed)


MINIMAX = ToolFormat(key="minimax", section=_SECTION, call=_CALL, ends_reasoning=True, read=_read)
