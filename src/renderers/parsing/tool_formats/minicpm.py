"""Calls of MiniCPM5: `function` elements with `param` elements, without markers around them.

    <function name="get_weather"><param name="city">Rome</param></function>

A string with line breaks or markup is in a CDATA block: `<param name="code"><![CDATA[a < b]]></param>`. All other
values have no quotes. Models also leave out the space within a tag, as in `<functionname="get_weather">`, or write all
arguments as one object, with a name such as `arguments`.
"""

from __future__ import annotations

import functools

from renderers.core.completions import ParsedToolCall, RecoveryKind
from renderers.parsing.tool_formats.base import Payload, ToolFormat, recovered, unwrapped
from renderers.parsing.tool_formats.tags import Tags, read_tagged, read_tagged_head

_QUOTES = "<![CDATA[", "]]>"
_TAGS = Tags("", '<param name="', '">', "</param>", quotes=_QUOTES, lines=False)
_WITHOUT_SPACE = _TAGS._replace(open='<paramname="')


def _read(payload: Payload) -> ParsedToolCall:
    has_space = _TAGS.open in payload.byte_text or _WITHOUT_SPACE.open not in payload.byte_text
    call = read_tagged(payload, tags=_TAGS if has_space else _WITHOUT_SPACE)
    return unwrapped(call if has_space else recovered(call, RecoveryKind.OTHER_SYNTAX), payload.schemas)


MINICPM = ToolFormat(
    key="minicpm",
    call=('<function name="', "</function>"),
    variants=(('<functionname="', "</function>"),),
    quotes=_QUOTES,
    value=_TAGS.value,
    keeps_text=True,
    rejects_unknown_tools=True,
    read=_read,
    read_head=functools.partial(read_tagged_head, tags=_TAGS),
)
