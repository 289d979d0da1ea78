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

from renderers.parsing.tool_formats.base import Tags, ToolFormat, read_tagged, read_tagged_head

_CALL = "<tool_call>", "</tool_call>"
_SEED_CALL = "<seed:tool_call>", "</seed:tool_call>"
_TAGS = Tags("<function=", "<parameter=", ">", "</parameter>", end="</function>")
_read_seed = functools.partial(read_tagged, tags=_TAGS)
_read_qwen = functools.partial(read_tagged, tags=_TAGS._replace(padding="\n"))
_read_head = functools.partial(read_tagged_head, tags=_TAGS)
SEED_XML = ToolFormat(key="seed_xml", call=_SEED_CALL, ends_reasoning=True, read=_read_seed, read_head=_read_head)
QWEN_XML = ToolFormat(key="qwen_xml", call=_CALL, ends_reasoning=True, read=_read_qwen, read_head=_read_head)
