"""Messages with a header each. A call is a message with a tool as the recipient in its header.

    <|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city": "Rome"}<|call|>

Used by gpt-oss. The recipient can be before or after the channel. Functions have the prefix `functions.`, which models
leave out at times. The built-in tools `python` and `browser.search` have none, and the body of a call of `python` is
code. Messages on the channel `analysis` are reasoning. All other messages without a recipient are content.
"""

from __future__ import annotations

from renderers.core.completions import ParsedToolCall, RecoveryKind
from renderers.core.lazy import lazy_pattern
from renderers.parsing.schema import ToolSchemas
from renderers.parsing.tool_formats.base import OK, CallHead, Payload, ToolFormat, TurnLayout, named_call, recovered
from renderers.parsing.tool_formats.json_calls import read_arguments

START, CHANNEL, MESSAGE, END, CALL_END = "<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|call|>"
CONSTRAIN = "<|constrain|>"
CHANNELS = "analysis", "commentary", "final"
FUNCTIONS = "functions."
_RECIPIENT = lazy_pattern(r"to=([^\s<]*)")
_PYTHON, _BROWSER = "python", "browser."


def recipient_of(header: str) -> str | None:
    """Return the recipient in a header, without the prefix of functions. None if there is none.

    >>> recipient_of("<|channel|>commentary to=functions.search"), recipient_of(" to=python<|channel|>analysis")
    ('search', 'python')
    """
    recipient = written_recipient_of(header)
    return None if recipient is None else recipient.removeprefix(FUNCTIONS)


def written_recipient_of(header: str) -> str | None:
    """Return the recipient in a header as the model wrote it. None if there is none."""
    recipient = _RECIPIENT.search(header)
    return recipient[1] if recipient else None


def is_code(recipient: str, known: ToolSchemas) -> bool:
    """Return True if the body of a call is code: its recipient is the built-in tool, and not one of the prompt."""
    return recipient == _PYTHON and recipient not in known


def _read(payload: Payload) -> ParsedToolCall:
    """Parse a call: its header, and its body."""
    header, body = payload.partition(MESSAGE) or (payload.text(), "")
    name, known = recipient_of(header), payload.schemas
    if name is not None and is_code(name, known):
        return named_call(name, body, OK)
    call = named_call(name, *read_arguments(body))
    is_built_in = name is not None and name.startswith(_BROWSER) and name not in known
    return call if is_built_in or f"to={FUNCTIONS}" in header else recovered(call, RecoveryKind.NAME_PREFIX)


def _read_head(payload: Payload) -> CallHead:
    header, start = payload.head(MESSAGE)
    return CallHead() if header is None else CallHead(recipient_of(header) or None, start, start)


_INNER = START, CHANNEL, CONSTRAIN, MESSAGE, END, CALL_END
HARMONY = ToolFormat(
    key="harmony",
    call=None,
    inner=_INNER,
    within_text=(*(f"assistant{channel}" for channel in CHANNELS), "assistant to="),
    layout=TurnLayout.MESSAGES,
    json_arguments=True,
    read=_read,
    read_head=_read_head,
)
