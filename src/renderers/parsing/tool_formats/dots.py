"""Calls of dots: `invoke` elements with `parameter` elements, one or several between two markers.

    <dots_function_call><invoke name="get_weather"><parameter name="city">Rome</parameter></invoke></dots_function_call>

Values have no quotes. The models also write a JSON object with a name and arguments between the markers.
"""

from __future__ import annotations

import functools

from renderers.parsing.tool_formats.base import ToolFormat
from renderers.parsing.tool_formats.tags import (
    Tags,
    find_tagged_or_json,
    read_tagged_or_json,
    read_tagged_or_json_head,
)

_TAGS = Tags('<invoke name="', '<parameter name="', '">', "</parameter>", end="</invoke>", lines=False)
DOTS = ToolFormat(
    key="dots",
    call=("<dots_function_call>", "</dots_function_call>"),
    value=_TAGS.value,
    last=(_TAGS.end,),
    keeps_text=True,
    rejects_unknown_tools=True,
    read=functools.partial(read_tagged_or_json, tags=_TAGS),
    read_head=functools.partial(read_tagged_or_json_head, tags=_TAGS),
    find=functools.partial(find_tagged_or_json, tags=_TAGS),
)
