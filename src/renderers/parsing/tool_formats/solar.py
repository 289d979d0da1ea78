"""Messages of one assistant's turn, each with a marker that determines its field. One of them holds all calls.

    <|begin|>assistant<|tool_calls|>
    <|tool_call:begin|>a1b2c3d4e5<|tool_call:name|>get_weather<|tool_call:args|>{"city": "Rome"}<|tool_call:end|>
    <|calls|>

without the line breaks. Used by Solar Open. Messages with `<|think|>` are reasoning, those with `<|content|>` content.
"""

from __future__ import annotations

import re

from renderers.core.completions import ParsedToolCall
from renderers.parsing.tool_formats.base import (
    MALFORMED,
    CallHead,
    Payload,
    SegmentKind,
    Segments,
    ToolFormat,
    TurnLayout,
    failed_call,
    named_call,
)
from renderers.parsing.tool_formats.json_calls import read_arguments

_START, _END, _CALLS_END = "<|begin|>", "<|end|>", "<|calls|>"
_THINK, _CONTENT, _CALLS = "<|think|>", "<|content|>", "<|tool_calls|>"
_CALL, _NAME, _ARGUMENTS, _CALL_END = (f"<|tool_call:{part}|>" for part in ("begin", "name", "args", "end"))
_KINDS = {
    _THINK: SegmentKind.REASONING,
    _CONTENT: SegmentKind.CONTENT,
    _CALLS: SegmentKind.SECTION,
    _CALL: SegmentKind.CALL,
}


def _kind_of(header: str, marker: str) -> SegmentKind:
    return _KINDS[marker] if header.strip() in ("", "assistant") else SegmentKind.OTHER


def _read(payload: Payload) -> ParsedToolCall:
    parts = payload.partition(_ARGUMENTS)
    if parts is None:
        return failed_call(MALFORMED)
    call_id, _, name = parts[0].removeprefix(_CALL).partition(_NAME)
    return named_call(name.strip(), *read_arguments(parts[1]), call_id=call_id.strip() or None)


def _read_head(payload: Payload) -> CallHead:
    header, start = payload.head(_ARGUMENTS)
    return CallHead() if header is None else CallHead(header.partition(_NAME)[2].strip() or None, start, start)


SOLAR = ToolFormat(
    key="solar",
    call=None,
    inner=(_CALLS, _CALL, _NAME, _ARGUMENTS, _CALL_END, _CALLS_END, _START, _THINK, _CONTENT, _END),
    layout=TurnLayout.SEGMENTS,
    segments=Segments(
        starts=(_START,),
        bodies=tuple(_KINDS),
        ends=(_END, _CALLS_END, _CALL_END),
        section=_CALLS,
        call_end=_CALL_END,
        reasoning_end=_END,
        kind_of=_kind_of,
        header=re.compile("(?:assistant)?"),
        separator="\n",
    ),
    json_arguments=True,
    read=_read,
    read_head=_read_head,
)
