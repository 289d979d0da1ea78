"""What a completion says: the shapes that parsing gives."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any, NamedTuple

__all__ = [
    "CompletionState",
    "ParsedPart",
    "ParsedResponse",
    "ParsedToolCall",
    "Region",
    "SkippedText",
    "StateCall",
    "Thought",
    "ToolCallParseStatus",
]


class ToolCallParseStatus(enum.StrEnum):
    """What became of an attempt to call a tool. Only an `OK` one should be carried out."""

    OK = "ok"
    INVALID_JSON = "invalid_json"
    """A value is not what it has to be: JSON, or a value of the type that the tool's schema says."""
    UNCLOSED_BLOCK = "unclosed_block"
    """The completion ended within the call."""
    MISSING_NAME = "missing_name"
    MALFORMED_STRUCTURE = "malformed_structure"
    UNKNOWN_TOOL = "unknown_tool"
    """The name is none of the tools that were given."""


@dataclass
class ParsedToolCall:
    """An attempt to call a tool, whatever became of it. Nobody else holds it, and callers may change it."""

    raw: str
    """The text between the markers of the call."""
    name: str | None = None
    arguments: dict[str, Any] | str | None = None
    """An object; where it could not be read as one, its text or nothing."""
    token_span: tuple[int, int] | None = None
    """The first token of the call, its marker included, and the one after its last."""
    status: ToolCallParseStatus = ToolCallParseStatus.OK
    id: str | None = None
    """The id that the model gave the call, in formats that have one."""


class Region(enum.StrEnum):
    """What a token of a completion belongs to, or what a completion is in at its end."""

    START = "start"
    """Before anything is said; between the messages of a turn that has several."""
    REASONING = "reasoning"
    CONTENT = "content"
    """Content, or where more of it may follow: also after tool calls."""
    CALLS = "calls"
    """Between tool calls, within the markers around all of them."""
    CALL = "call"
    MARKER = "marker"
    """Markers, and the padding that the format has around them."""
    SKIPPED = "skipped"


class Thought(enum.StrEnum):
    """Whether a completion reasons."""

    NONE = "none"
    EMPTY = "empty"
    """Reasoning is opened, by the prompt or the model, and there is none of it."""
    SOME = "some"


class ParsedPart(NamedTuple):
    """Tokens that are of one kind: from `start` up to `end`."""

    region: Region
    start: int
    end: int


class SkippedText(NamedTuple):
    """Text of a completion that is in no field, its tokens, and why."""

    text: str
    reason: str
    start: int
    end: int


class StateCall(NamedTuple):
    """A call as a bridge has to know it."""

    id: str | None
    name: str | None


@dataclass(frozen=True, slots=True)
class CompletionState:
    """Where a completion ends, and what it called: all that extending it needs to know."""

    region: Region
    """What it is in at its end, or was in when a stop token ended it."""
    stop: int | None
    """The stop token that ended it; None where it is cut off."""
    calls: tuple[StateCall, ...] = ()
    thought: Thought = Thought.NONE


_START = CompletionState(Region.START, None)


@dataclass
class ParsedResponse:
    """A completion's message, and what every token of it is. Nobody else holds it, and callers may change it.

    >>> ParsedResponse("Hi").reasoning_content is None
    True
    """

    content: str
    reasoning_content: str | None = None
    tool_calls: list[ParsedToolCall] = field(default_factory=list)
    """All attempts, in order; see `ParsedToolCall.status`."""
    reasoning_complete: bool | None = True
    """False where the completion ends within its reasoning."""
    skipped: tuple[SkippedText, ...] = ()
    parts: tuple[ParsedPart, ...] = ()
    """Every token of the completion, in order and without a gap."""
    state: CompletionState = _START
