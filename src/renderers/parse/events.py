"""What a scanner tells while it reads: small records, in the order of the tokens and without a gap between them."""

from __future__ import annotations

from typing import NamedTuple

from renderers.parse.response import ParsedToolCall

__all__ = [
    "ContentDelta",
    "MarkerRead",
    "ParseEvent",
    "ReasoningDelta",
    "StopRead",
    "TextSkipped",
    "ToolCallDelta",
    "ToolCallRead",
]


class ReasoningDelta(NamedTuple):
    """More of the reasoning, and the tokens that it was read from: whole characters, of which there may be none."""

    text: str
    start: int
    end: int


class ContentDelta(NamedTuple):
    """More of the content."""

    text: str
    start: int
    end: int


class ToolCallDelta(NamedTuple):
    """More of the text of a tool call, as it stands there; `number` counts the calls from 0."""

    number: int
    text: str
    start: int
    end: int


class ToolCallRead(NamedTuple):
    """A tool call is complete, or as complete as it will be. Its tokens are those of its end."""

    number: int
    call: ParsedToolCall
    start: int
    end: int


class MarkerRead(NamedTuple):
    """A marker of the format, with the padding around it."""

    start: int
    end: int


class TextSkipped(NamedTuple):
    """Text that is in no field, and why."""

    text: str
    reason: str
    start: int
    end: int


class StopRead(NamedTuple):
    """A stop token: the completion is over."""

    token: int
    start: int
    end: int


ParseEvent = ReasoningDelta | ContentDelta | ToolCallDelta | ToolCallRead | MarkerRead | TextSkipped | StopRead
