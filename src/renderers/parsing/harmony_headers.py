"""Read the headers of messages in the Harmony format, also those that lack a part."""

from __future__ import annotations

import re
from collections.abc import Container
from typing import NamedTuple

from renderers.core.completions import RecoveryKind
from renderers.core.lazy import lazy_pattern
from renderers.parsing.tool_formats.harmony import (
    CHANNEL,
    CHANNELS,
    CONSTRAIN,
    FUNCTIONS,
    START,
    recipient_of,
    written_recipient_of,
)

_START, _MARK = re.escape(START), re.escape(CHANNEL)
_TO = r"(?:to=[^\s<]*+)?"
_TYPES = "json", "code"
"""The types of the body of a call."""
_TYPE = rf"(?:{re.escape(CONSTRAIN)}\s*+\w*+|{'|'.join(_TYPES)})?\s*+"
_NAMES = "|".join(CHANNELS)
_ROLE = lazy_pattern(_START + r"(\w+)")
_CHANNEL = lazy_pattern(_MARK + r"\s*(\w+)")
_CHANNEL_NAME = lazy_pattern(_NAMES)
_RUN_TOGETHER = lazy_pattern(r"assistant\w+")
"""The role without the marker between it and the channel."""
_LOST_CHANNEL = lazy_pattern(
    rf"(?:{_START})?\s*+(?:assistant)?\s*+(?:to=\S++\s++)?({_NAMES})\b(?:\s*+to=[^\s<]++)?\s*+{_TYPE}"
)
"""A header without the marker before its channel."""
_BEGINNING = lazy_pattern(rf"\s*+(?:assistant)?\s*+(?:to=[^\s<]*+\s*+{_TYPE})?")
"""A header, or the part of one before its channel, without the marker at its beginning."""
_CUT = lazy_pattern(
    rf"(?:{_START})?\s*+(?:assistant)?\s*+{_TO}\s*+(?:{_MARK}\s*+(?:{_NAMES}|\w*+)\s*+{_TO}\s*+)*+{_TYPE}"
)
_IN_CHANNEL = lazy_pattern(rf"{_MARK}\s*+(?:(?:{_NAMES})\s++(?={re.escape(FUNCTIONS)}))?([^\s<]++)")
"""The text in the place of the channel, or the name of a function after it."""


class Header(NamedTuple):
    """The header of a message."""

    role: str = ""
    """Empty if the header has none."""
    channel: str = ""
    """Empty if the header has none."""
    recipient: str | None = None
    """The recipient as the model wrote it. None if there is none."""
    recoveries: tuple[RecoveryKind, ...] = ()

    @property
    def is_call(self) -> bool:
        """True if the message is to a tool."""
        return self.recipient not in (None, "assistant", "user")


def read_header(text: str, tools: Container[str]) -> Header:
    """Read a header, with the names of the tools of the prompt.

    >>> read_header("<|start|>assistant to=functions.lookcommentary", {"look"})[1:3]
    ('commentary', 'functions.look')
    """
    role_match, channels, recipient = _ROLE.match(text), _CHANNEL.findall(text), written_recipient_of(text)
    role = role_match[1] if role_match else ""
    is_complete = True
    if not channels and (lost := _LOST_CHANNEL.fullmatch(text)):
        role, channels, is_complete = "", [lost[1]], False
    elif _RUN_TOGETHER.fullmatch(role):
        channels, is_complete = channels or _CHANNEL_NAME.findall(text), False
    if recipient is None:
        if (recipient := _recipient_in_channel(text, tools)) is not None:
            channels, is_complete = [], False
    elif recipient.removeprefix(FUNCTIONS) not in tools:
        for word in (*CHANNELS, *_TYPES):
            name = recipient.removesuffix(word)
            if name != recipient and name.removeprefix(FUNCTIONS) in tools:
                recipient, is_complete = name, False
                channels = channels or [word] * (word in CHANNELS)
    header = Header(role, channels[-1] if channels else "", recipient)
    is_complete = is_complete and bool(channels or not header.is_call)
    return header if is_complete else header._replace(recoveries=(RecoveryKind.INCOMPLETE_HEADER,))


def _recipient_in_channel(text: str, tools: Container[str]) -> str | None:
    """Return the tool that a header names in the place of its channel. None if it names none."""
    names = _IN_CHANNEL.findall(text)
    is_tool = names and names[-1] not in CHANNELS and (names[-1].startswith(FUNCTIONS) or names[-1] in tools)
    return names[-1] if is_tool else None


def is_header_beginning(text: str) -> bool:
    """Return True if a text is whitespace, or a role, a recipient and a type without the marker before them.

    >>> is_header_beginning("assistant to=functions.look "), is_header_beginning("An answer")
    (True, False)
    """
    return _BEGINNING.fullmatch(text) is not None


def is_unmarked_header(text: str) -> bool:
    """Return True if a text is a header without the markers before its role and its channel.

    >>> is_unmarked_header("assistantcommentary to=functions.look"), is_unmarked_header("assistantfinally")
    (True, False)
    """
    return _LOST_CHANNEL.fullmatch(text) is not None or is_header_beginning(text)


def cut_recipient(text: str, tools: Container[str], *, at_end: bool) -> str | None:
    """Return the tool that a header without a message is for. None if the text is not such a header.

    `at_end` is True if the completion ends after the text. A name that may be cut off there is an empty text.

    >>> cut_recipient("<|channel|>commentary to=functions.look <|constrain|>js", (), at_end=True)
    'functions.look'
    >>> cut_recipient("<|channel|>commentary to=functions.lo", (), at_end=True)
    ''
    """
    header = read_header(text, tools)
    if header.recipient is None or not header.is_call or _CUT.fullmatch(text) is None:
        return None
    is_cut = at_end and text.endswith(header.recipient) and recipient_of(text) not in tools
    return "" if is_cut else header.recipient
