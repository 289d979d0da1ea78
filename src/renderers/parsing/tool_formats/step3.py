"""Calls of Step 3: an `invoke` element with `parameter` elements between two markers, in a section.

    <｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="get_weather">
    <steptml:parameter name="city">Rome</steptml:parameter></steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>

(Line breaks are for readability only.) The type before the separator can be missing. Values have no quotes.
"""

from __future__ import annotations

import functools

from renderers.core.completions import ParsedToolCall
from renderers.parsing.tool_formats.base import Payload, ToolFormat
from renderers.parsing.tool_formats.tags import Tags, read_tagged, read_tagged_head

_SEPARATOR = "<｜tool_sep｜>"
_TYPE = "function"
_TAGS = Tags(
    '<steptml:invoke name="',
    '<steptml:parameter name="',
    '">',
    "</steptml:parameter>",
    end="</steptml:invoke>",
    lines=False,
)


def _read(payload: Payload) -> ParsedToolCall:
    kind, separator, rest = payload.byte_text.partition(payload.mark(_SEPARATOR))
    if separator and kind.strip() == _TYPE:
        payload = payload.with_byte_text(rest)
    return read_tagged(payload, tags=_TAGS)


STEP_3 = ToolFormat(
    key="step3",
    section=("<｜tool_calls_begin｜>", "<｜tool_calls_end｜>"),
    call=("<｜tool_call_begin｜>", "<｜tool_call_end｜>"),
    value=_TAGS.value,
    last=(_TAGS.end,),
    inner=(_SEPARATOR,),
    keeps_text=True,
    read=_read,
    read_head=functools.partial(read_tagged_head, tags=_TAGS),
)
