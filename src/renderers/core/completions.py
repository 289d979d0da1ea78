"""The shapes of parsed completions: events, the message, and the state at its end."""

from __future__ import annotations

import copy
import enum
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from renderers.core.message_types import Message, ToolCall


class ToolCallParseStatus(enum.StrEnum):
    """The outcome of parsing a tool call. Execute only calls that are `OK`."""

    OK = "ok"
    INVALID_JSON = "invalid_json"
    """A value is not valid JSON, or does not have the type that the tool's schema requires."""
    UNCLOSED_BLOCK = "unclosed_block"
    """The completion ended within the call."""
    MISSING_NAME = "missing_name"
    MALFORMED_STRUCTURE = "malformed_structure"
    UNKNOWN_TOOL = "unknown_tool"
    """The name is not the name of a tool in the prompt."""


class RecoveryKind(enum.StrEnum):
    """A difference between a completion and its format that did not keep it from being parsed."""

    MISSING_OPENING_MARKER = "missing_opening_marker"
    """A call has no opening marker, or the marker that opens the section of all calls is missing."""
    MISSING_CLOSING_MARKER = "missing_closing_marker"
    """A complete call, a section of calls or a message has no closing marker."""
    REPEATED_MARKER = "repeated_marker"
    """A marker occurs twice in a row."""
    MISSING_SEPARATOR = "missing_separator"
    """The marker between the name and the arguments is missing."""
    MISSING_HEADER = "missing_header"
    """A message has no header. It is the answer."""
    INCOMPLETE_HEADER = "incomplete_header"
    """A header has no marker at its end, so that its tokens are skipped, or none before its role or its channel, or the
    channel or the recipient is in another place, or no message follows."""
    UNKNOWN_CHANNEL = "unknown_channel"
    """A message has no channel, or one that the format does not have. It is content."""
    OTHER_SYNTAX = "other_syntax"
    """A call has the markers or the syntax of another version or format."""
    SEVERAL_CALLS = "several_calls"
    """Several calls are where the format has one."""
    CALL_IN_REASONING = "call_in_reasoning"
    """A call ended reasoning that has no closing marker."""
    CALL_IN_CONTENT = "call_in_content"
    """A call without markers is within the content."""
    CODE_FENCE = "code_fence"
    """JSON is in a code fence."""
    UNESCAPED_QUOTES = "unescaped_quotes"
    """A string contains quotes without escapes."""
    NAME_PREFIX = "name_prefix"
    """A prefix or an index was removed from the name, or the prefix of the format is missing."""
    MISSING_ARGUMENTS = "missing_arguments"
    """The arguments are missing, blank or null. They are an empty object."""
    JSON_STRING_ARGUMENTS = "json_string_arguments"
    """The arguments are a JSON string that contains the object."""
    WRAPPED_ARGUMENTS = "wrapped_arguments"
    """All arguments are in one parameter that the tool does not have."""
    UNTYPED_VALUE = "untyped_value"
    """A value without its type has that of the schema."""
    VALUE_QUOTES = "value_quotes"
    """A string has no quotes, or a key or another value has quotes. The schema determines the type of a value."""


@dataclass
class ParsedToolCall:
    """A tool call, complete or not. Owned by the caller, who may change it."""

    raw: str
    """The text between the markers of the call."""
    name: str | None = None
    arguments: dict[str, Any] | str | None = None
    """An object. If it could not be parsed as one, its text or None."""
    token_span: tuple[int, int] | None = None
    """The first token of the call, including its marker, and the token after its last one."""
    status: ToolCallParseStatus = ToolCallParseStatus.OK
    id: str | None = None
    """The id that the model wrote, in formats with ids."""
    text: str = field(default="", compare=False, repr=False)
    """The text of a call that is not `OK`, with its markers and with the padding between the content and the call."""
    recoveries: tuple[RecoveryKind, ...] = field(default=(), compare=False)
    """The differences from the format that did not keep the call from being parsed."""


class Region(enum.StrEnum):
    """The part of a completion that a token belongs to, or that the completion ends in."""

    START = "start"
    """Before the first field, or between the messages of a turn with several messages."""
    REASONING = "reasoning"
    CONTENT = "content"
    """Content, or a position where content can follow, as after tool calls."""
    CALLS = "calls"
    """Between tool calls, within the markers around all of them."""
    CALL = "call"
    MARKER = "marker"
    """Markers, and the padding of the format around them."""
    SKIPPED = "skipped"


class ReasoningState(enum.StrEnum):
    """Whether a completion has reasoning."""

    NONE = "none"
    EMPTY = "empty"
    """The prompt or the model opened reasoning, and there is no text in it."""
    SOME = "some"


class ParsedPart(NamedTuple):
    """A run of tokens of one region, from `start` up to `end`."""

    region: Region
    start: int
    end: int


class SkippedText(NamedTuple):
    """Text of a completion that belongs to no field, the reason, and its tokens."""

    text: str
    reason: str
    start: int
    end: int


class Recovery(NamedTuple):
    """A difference between a completion and its format that did not keep it from being parsed."""

    kind: RecoveryKind
    start: int
    """The first token of the call, or the first one after the place of the difference."""
    end: int
    """The token after the last one of the call. `start` if the difference does not concern a call."""
    call: int | None = None
    """The index of the call in `tool_calls`. None if the difference does not concern a call."""


class CalledTool(NamedTuple):
    """The id and the name of a tool call, as far as they could be parsed."""

    id: str | None
    name: str | None


@dataclass(frozen=True, slots=True)
class CompletionState:
    """The end of a completion and the tools that it called: everything that a bridge uses."""

    region: Region
    """The region at the end, or at the stop token."""
    stop_token_id: int | None
    """The stop token that ended the completion. None if it was cut off."""
    calls: tuple[CalledTool, ...] = ()
    reasoning: ReasoningState = ReasoningState.NONE

    @property
    def stop(self) -> int | None:
        """Former name of `stop_token_id`, kept as an alias."""
        return self.stop_token_id

    @property
    def thought(self) -> ReasoningState:
        """Former name of `reasoning`, kept as an alias."""
        return self.reasoning


@dataclass
class ParsedResponse:
    """The message of a completion, and the region of each of its tokens. Owned by the caller, who may change it.

    >>> ParsedResponse("Hi").reasoning_content is None
    True
    """

    content: str
    reasoning_content: str | None = None
    tool_calls: list[ParsedToolCall] = field(default_factory=list)
    """All calls in order, including broken ones. See `ParsedToolCall.status`."""
    reasoning_complete: bool | None = True
    """False if the completion ends within its reasoning."""
    skipped: tuple[SkippedText, ...] = ()
    parts: tuple[ParsedPart, ...] = ()
    """All tokens of the completion, in order and without gaps."""
    state: CompletionState = CompletionState(Region.START, None)
    recoveries: tuple[Recovery, ...] = ()
    """All differences from the format that did not keep the completion from being parsed, including those of calls."""

    def to_message(self) -> Message:
        """Return the assistant's message to append to the conversation. It shares no object with this response.

        The message has `reasoning_content` and `tool_calls` only if there are any, and a call has an `id` only if the
        model wrote one. A broken call, which could not be written again from its name and its arguments, stays in the
        content as the model wrote it. Text in `skipped` is left out.

        >>> ParsedResponse("Hi!", "Greet.").to_message()
        {'role': 'assistant', 'content': 'Hi!', 'reasoning_content': 'Greet.'}
        """
        broken = [call.text or call.raw for call in self.tool_calls if not _is_whole(call)]
        message: Message = {"role": "assistant", "content": self.content + "".join(broken)}
        if self.reasoning_content is not None:
            message["reasoning_content"] = self.reasoning_content
        calls = [_call_of(call) for call in self.tool_calls if _is_whole(call)]
        if calls:
            message["tool_calls"] = calls
        return message


def _is_whole(call: ParsedToolCall) -> bool:
    """Return True if a call can be written again from its name and its arguments."""
    if call.status == ToolCallParseStatus.INVALID_JSON:
        # An argument does not have the type of the schema.
        return call.name is not None and isinstance(call.arguments, dict)
    return call.status in (ToolCallParseStatus.OK, ToolCallParseStatus.UNKNOWN_TOOL)


def _call_of(call: ParsedToolCall) -> ToolCall:
    function: Any = {"name": call.name, "arguments": copy.deepcopy(call.arguments)}
    described: ToolCall = {"type": "function", "function": function}
    return described if call.id is None else {"id": call.id, **described}


class ReasoningDelta(NamedTuple):
    """More reasoning text, and its tokens. The text may be empty. It never ends within a character."""

    text: str
    start: int
    end: int


class ContentDelta(NamedTuple):
    """More content text, and its tokens."""

    text: str
    start: int
    end: int


class ToolCallDelta(NamedTuple):
    """More raw text of a tool call, and its tokens. `number` counts the calls from 0."""

    number: int
    text: str
    start: int
    end: int
    name: str | None = None
    """The name of the tool, in the event that completes it. None in all other events."""
    arguments: str = ""
    """More text of the arguments, in formats with arguments that are one JSON object."""


class ToolCallEnd(NamedTuple):
    """The end of a tool call, with the parsed call. The tokens are those of its end."""

    number: int
    call: ParsedToolCall
    start: int
    end: int


class MarkerToken(NamedTuple):
    """The tokens of a marker, and of the padding around it."""

    start: int
    end: int


class SkippedTextEvent(NamedTuple):
    """Text that belongs to no field, the reason, and its tokens."""

    text: str
    reason: str
    start: int
    end: int


class RecoveryEvent(NamedTuple):
    """A difference from the format outside of calls. It has no tokens: both positions are those of the next token."""

    kind: RecoveryKind
    start: int
    end: int


class StopToken(NamedTuple):
    """A stop token, which ends the completion."""

    token: int
    start: int
    end: int


ParseEvent = (
    ReasoningDelta
    | ContentDelta
    | ToolCallDelta
    | ToolCallEnd
    | MarkerToken
    | SkippedTextEvent
    | RecoveryEvent
    | StopToken
)
"""An event of a parser. Events are in the order of the tokens, without gaps between them."""

# Former names, kept as aliases.
Thought = ReasoningState
StateCall = CalledTool
MarkerRead = MarkerToken
StopRead = StopToken
ToolCallRead = ToolCallEnd
TextSkipped = SkippedTextEvent
