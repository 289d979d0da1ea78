"""Calls as tags that contain names, with each value on separate lines.

    <tool_call>
    <function=get_weather>
    <parameter=city>
    Rome
    </parameter>
    </function>
    </tool_call>

Used by Qwen3-Coder, Qwen 3.5 and later, Nemotron 3 and Step 3.5. Values have no quotes: a value that is not a string
is JSON or a Python literal (`True`, `None`). Seed-OSS writes values without the line breaks. Models also leave out the
markers around a function, or write several functions between two markers, or a JSON object with a name and arguments.
"""

from __future__ import annotations

import dataclasses
import functools

from renderers.parsing.tool_formats.base import ToolFormat
from renderers.parsing.tool_formats.tags import (
    Tags,
    find_tagged_or_json,
    read_tagged_or_json,
    read_tagged_or_json_head,
)

_TAGS = Tags("<function=", "<parameter=", ">", "</parameter>", end="</function>")
QWEN_XML = ToolFormat(
    key="qwen_xml",
    call=("<tool_call>", "</tool_call>"),
    unmarked=("<function=", "</function>"),
    value=_TAGS.value,
    last=(_TAGS.end,),
    separates_calls=True,
    read=functools.partial(read_tagged_or_json, tags=_TAGS._replace(padding="\n")),
    read_head=functools.partial(read_tagged_or_json_head, tags=_TAGS),
    find=functools.partial(find_tagged_or_json, tags=_TAGS),
)
SEED_XML = dataclasses.replace(
    QWEN_XML,
    key="seed_xml",
    call=("<seed:tool_call>", "</seed:tool_call>"),
    read=functools.partial(read_tagged_or_json, tags=_TAGS),
)
