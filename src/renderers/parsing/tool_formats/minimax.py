"""Calls of MiniMax M2: `invoke` elements with `parameter` elements, all between two markers.

    <minimax:tool_call>
    <invoke name="get_weather">
    <parameter name="city">Rome</parameter>
    </invoke>
    </minimax:tool_call>

Strings have no quotes, other values are JSON. Models also leave out the markers around all calls.
"""

from __future__ import annotations

import functools

from renderers.parsing.tool_formats.base import MISSING_NAME, ToolFormat
from renderers.parsing.tool_formats.tags import Tags, read_tagged, read_tagged_head

_TAGS = Tags("", '<parameter name="', '">', "</parameter>", unnamed=MISSING_NAME)
MINIMAX = ToolFormat(
    key="minimax",
    section=("<minimax:tool_call>", "</minimax:tool_call>"),
    call=('<invoke name="', "</invoke>"),
    unmarked=('<invoke name="', "</invoke>"),
    value=_TAGS.value,
    rejects_unknown_tools=True,
    read=functools.partial(read_tagged, tags=_TAGS),
    read_head=functools.partial(read_tagged_head, tags=_TAGS),
)
