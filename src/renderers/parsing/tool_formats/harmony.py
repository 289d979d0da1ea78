"""Messages with a header each. A call is a message with a function as the recipient in its header.

    <|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city": "Rome"}<|call|>

Used by gpt-oss. The recipient can also be before the channel, as in its chat template. Messages on
the channel `analysis` are reasoning. All other messages without a function as recipient are content.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from renderers.parsing.schema import ToolSchemas
from renderers.parsing.tool_formats.base import (
    MISSING_NAME,
    Call,
    Payload,
    ReadCall,
    ToolFormat,
    TurnLayout,
    dump_json,
    read_arguments,
)

START, CHANNEL, CONSTRAIN, MESSAGE, END, CALL_END = (
    "<|start|>",
    "<|channel|>",
    "<|constrain|>",
    "<|message|>",
    "<|end|>",
    "<|call|>",
)
_RECIPIENT = re.compile(r"to=functions\.([^\s<]*)")
_CHANNEL = re.compile(re.escape(CHANNEL) + r"\s*(\w+)")


def header_recipient(header: str) -> str | None:
    """Return the name of the function that is the recipient in a header. None if there is none.

    >>> header_recipient("<|channel|>commentary to=functions.get <|constrain|>json")
    'get'
    """
    match = _RECIPIENT.search(header)
    return match[1] if match else None


def header_channel(header: str) -> str | None:
    """Return the channel in a header. None if there is none.

    >>> header_channel(" to=functions.get<|channel|>commentary json")
    'commentary'
    """
    match = _CHANNEL.search(header)
    return match[1] if match else None


def write(calls: Sequence[Call]) -> str:
    """Format calls as one message each. The prompt holds the beginning of the first header.

    >>> write([Call("get", {"x": 1})])
    '<|channel|>commentary to=functions.get <|constrain|>json<|message|>{"x": 1}<|call|>'
    """
    texts = (
        f"{CHANNEL}commentary to=functions.{call.name} {CONSTRAIN}json{MESSAGE}{dump_json(dict(call.arguments))}"
        for call in calls
    )
    return f"{CALL_END}{START}assistant".join(texts) + CALL_END


def read(payload: Payload, schemas: ToolSchemas) -> ReadCall:  # noqa: ARG001
    """Parse a call: its header, and its body."""
    separator = payload.find(MESSAGE)
    header, body = (payload.text(0, separator[0]), payload.text(separator[1])) if separator else (payload.text(), "")
    arguments, status = read_arguments(body)
    name = header_recipient(header)
    return ReadCall(name, arguments, status) if name else ReadCall(None, arguments, MISSING_NAME)


HARMONY = ToolFormat(
    key="harmony",
    call=None,
    inner=(START, CHANNEL, CONSTRAIN, MESSAGE, END, CALL_END),
    layout=TurnLayout.MESSAGES,
    write=write,
    read=read,
)
