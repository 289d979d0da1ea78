"""Calls as `invoke` elements with `parameter` elements, all between two markers.

    <minimax:tool_call>
    <invoke name="get_weather">
    <parameter name="city">Rome</parameter>
    </invoke>
    </minimax:tool_call>

Used by MiniMax M2. Strings have no quotes, other values are JSON.
"""

from __future__ import annotations

import functools

from renderers.parsing.tool_formats.base import MISSING_NAME, Tags, ToolFormat, read_tagged, read_tagged_head

_SECTION = "<minimax:tool_call>", "</minimax:tool_call>"
_CALL = '<invoke name="', "</invoke>"
_TAGS = Tags("", '<parameter name="', '">', "</parameter>", unnamed=MISSING_NAME)
_read = functools.partial(read_tagged, tags=_TAGS)
_read_head = functools.partial(read_tagged_head, tags=_TAGS)
MINIMAX = ToolFormat(key="minimax", section=_SECTION, call=_CALL, ends_reasoning=True, read=_read, read_head=_read_head)
