"""Messages with a header each. A call is a message with a function as the recipient in its header.

    <|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city": "Rome"}<|call|>

Used by gpt-oss. The recipient can also be before the channel, as in its chat template. Messages on
the channel `analysis` are reasoning. All other messages without a function as recipient are content.
"""

from __future__ import annotations

import re

from renderers.core.completions import ParsedToolCall
from renderers.parsing.tool_formats.base import (
    CallHead,
    Payload,
    ToolFormat,
    TurnLayout,
    named_call,
    read_arguments,
)

START, CHANNEL, MESSAGE, END, CALL_END = "<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|call|>"
RECIPIENT = re.compile(r"to=functions\.([^\s<]*)")
"""The name of the function that is the recipient in a header."""


def _read(payload: Payload) -> ParsedToolCall:
    """Parse a call: its header, and its body."""
    header, body = payload.partition(MESSAGE) or (payload.text(), "")
    recipient = RECIPIENT.search(header)
    return named_call(recipient[1] if recipient else "", *read_arguments(body))


def _read_head(payload: Payload) -> CallHead:
    header, start = payload.head(MESSAGE)
    recipient = RECIPIENT.search(header or "")
    return CallHead(recipient[1] if recipient else None, start, start if header is not None else None)


_INNER = START, CHANNEL, "<|constrain|>", MESSAGE, END, CALL_END
HARMONY = ToolFormat(
    key="harmony",
    call=None,
    inner=_INNER,
    layout=TurnLayout.MESSAGES,
    json_arguments=True,
    read=_read,
    read_head=_read_head,
)
