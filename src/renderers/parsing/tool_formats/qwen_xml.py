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

from renderers.parsing.schema import ToolSchemas
from renderers.parsing.tool_formats.base import (
    MALFORMED,
    Payload,
    ReadCall,
    ToolFormat,
    ValueTags,
    call_of_values,
    read_tagged,
)

_CALL = "<tool_call>", "</tool_call>"
_SEED_CALL = "<seed:tool_call>", "</seed:tool_call>"
_FUNCTION = "<function="
_PARAMETER = ValueTags("<parameter=", ">", "</parameter>", end="</function>")


def _read(payload: Payload, schemas: ToolSchemas, *, parameter: ValueTags) -> ReadCall:
    function = payload.find(_FUNCTION)
    name_end = payload.find(">", function[1]) if function else None
    name = payload.text(function[1], name_end[0]).strip() if function and name_end else ""
    if not function or not name_end or not name:
        return ReadCall(None, None, MALFORMED)
    pairs, well_formed = read_tagged(payload, name_end[1], parameter)
    well_formed = well_formed and payload.is_blank(0, function[0])
    return call_of_values(name, pairs, schemas, well_formed=well_formed)


_read_seed = functools.partial(_read, parameter=_PARAMETER)
_read_qwen = functools.partial(_read, parameter=_PARAMETER._replace(padding="\n"))
SEED_XML = ToolFormat(key="seed_xml", call=_SEED_CALL, ends_reasoning=True, read=_read_seed)
QWEN_XML = ToolFormat(key="qwen_xml", call=_CALL, ends_reasoning=True, read=_read_qwen)
