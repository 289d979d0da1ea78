"""Messages with a header each; a call is one whose header names a function as its recipient.

    <|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city": "Rome"}<|call|>

Used by gpt-oss. The recipient may also stand before the channel, as in its chat template. What is sent on the channel
`analysis` is reasoning; all else without a function as its recipient is content.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from renderers.parse.response import ToolCallParseStatus
from renderers.parse.schema import ToolSchemas
from renderers.parse.syntax.base import Attempt, Call, Payload, Syntax, read_arguments, written_json

__all__ = ["CHANNEL", "END", "HARMONY", "MESSAGE", "START", "channel_of_header", "recipient_of"]

START, CHANNEL, CONSTRAIN, MESSAGE, END = (
    "<|start|>",
    "<|channel|>",
    "<|constrain|>",
    "<|message|>",
    "<|end|>",
)
CALL_END = "<|call|>"
_RECIPIENT = re.compile(r"to=functions\.([^\s<]*)")
_CHANNEL = re.compile(re.escape(CHANNEL) + r"\s*(\w+)")


def recipient_of(header: str) -> str | None:
    """Returns the function that a header names as its recipient; None where it names none.

    >>> recipient_of("<|channel|>commentary to=functions.get <|constrain|>json")
    'get'
    """
    found = _RECIPIENT.search(header)
    return found[1] if found else None


def channel_of_header(header: str) -> str | None:
    """Returns the channel of a header.

    >>> channel_of_header(" to=functions.get<|channel|>commentary json")
    'commentary'
    """
    found = _CHANNEL.search(header)
    return found[1] if found else None


def write(calls: Sequence[Call]) -> str:
    """Writes calls, each as a message of its own after the header's first word.

    >>> write([Call("get", {"x": 1})])
    '<|channel|>commentary to=functions.get <|constrain|>json<|message|>{"x": 1}<|call|>'
    """
    written = (
        f"{CHANNEL}commentary to=functions.{call.name} {CONSTRAIN}json{MESSAGE}{written_json(dict(call.arguments))}"
        for call in calls
    )
    return f"{CALL_END}{START}assistant".join(written) + CALL_END


def read(payload: Payload, schemas: ToolSchemas) -> Attempt:  # noqa: ARG001
    """Reads a call: its header, and its body."""
    found = payload.find(MESSAGE)
    header, body = (payload.text(0, found[0]), payload.text(found[1])) if found else (payload.text(), "")
    arguments, status = read_arguments(body)
    name = recipient_of(header)
    return Attempt(name, arguments, status) if name else Attempt(None, arguments, ToolCallParseStatus.MISSING_NAME)


HARMONY = Syntax(
    key="harmony",
    call=None,
    by_message=True,
    inner=(START, CHANNEL, CONSTRAIN, MESSAGE, END, CALL_END),
    write=write,
    read=read,
)
