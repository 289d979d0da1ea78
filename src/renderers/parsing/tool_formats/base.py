"""`ToolFormat`: how tool calls are formatted and parsed, and helpers that several formats share."""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from renderers.core.completions import ParsedToolCall, RecoveryKind, ToolCallParseStatus
from renderers.parsing.schema import Schema, ToolSchemas, read_value

OK, INVALID = ToolCallParseStatus.OK, ToolCallParseStatus.INVALID_JSON
MALFORMED, MISSING_NAME = ToolCallParseStatus.MALFORMED_STRUCTURE, ToolCallParseStatus.MISSING_NAME


_new = tuple.__new__
"""Creates a named tuple in half the time of its constructor."""

MarkerPair = tuple[str, str]
"""An opening marker and its closing marker."""


class Payload(NamedTuple):
    """The byte text between the markers of a call, and the schemas of the tools.

    `mark` returns a marker as it occurs in byte text, `decode` decodes a part of the byte text.
    """

    byte_text: str
    mark: Callable[[str], str]
    decode: Callable[[str], str]
    schemas: ToolSchemas
    decoded: str | None = None
    """The decoded byte text, if it is known."""

    def with_byte_text(self, byte_text: str) -> Payload:
        """Return a payload with another byte text."""
        return _new(Payload, (byte_text, self.mark, self.decode, self.schemas, None))

    def partition(self, marker: str) -> tuple[str, str] | None:
        """Return the text before and after the first occurrence of a marker. None if there is none."""
        before, matched, after = self.byte_text.partition(self.mark(marker))
        return (self.decode(before), self.decode(after)) if matched else None

    def head(self, marker: str) -> tuple[str | None, int]:
        """Return the text before the first occurrence of a marker, and the position after it. None if there is none."""
        before, matched, _ = self.byte_text.partition(self.mark(marker))
        return (self.decode(before) if matched else None), len(before) + len(matched)

    def text(self) -> str:
        return self.decode(self.byte_text) if self.decoded is None else self.decoded

    def text_from(self, start: int) -> str:
        return self.decode(self.byte_text[start:])


class CallHead(NamedTuple):
    """The beginning of a call that is not complete, as far as it can be read."""

    name: str | None = None
    name_end: int = 0
    """The position after the text that determines the name."""
    arguments_start: int | None = None
    """The position at which arguments that are one JSON object begin. None if it is not known."""


def head_before(payload: Payload, marker: str, *, to_name: Callable[[str], str] = str) -> CallHead:
    """Return the head of a call with the name before a marker and the arguments after it.

    `to_name` returns the name that the text before the marker contains.
    """
    text, start = payload.head(marker)
    return CallHead() if text is None else CallHead(to_name(text.strip()), start, start)


class FoundCalls(NamedTuple):
    """The spans of calls in a text. `broken` is True if the last one is broken or cut off."""

    spans: Sequence[tuple[int, int]]
    broken: bool = False
    recoveries: tuple[RecoveryKind, ...] = ()
    """The differences of all these calls from the format."""
    calls: Sequence[ParsedToolCall] = ()
    """The first ones of these calls as `ToolFormat.read` parses them, if finding them has parsed them already."""


Finder = Callable[[Payload], FoundCalls | None]
"""Finds the calls in a text."""


class CallKeys(NamedTuple):
    """The keys of a JSON object that describes a call."""

    name: str
    arguments: str
    wrapper: str = ""
    """The key of an object around the name and the arguments, if there is one."""


class TurnLayout(enum.StrEnum):
    """The layout of a turn in a format. It determines the states of the scanner."""

    MARKERS = "markers"
    """Markers enclose the reasoning and each call."""
    LISTS = "lists"
    """As `MARKERS`, but the text between two markers can hold several calls."""
    BARE_CALLS = "bare_calls"
    """As `LISTS`, and calls can have no markers: a whole turn, or all of it after the reasoning, is calls."""
    MESSAGES = "messages"
    """A turn is several messages, and a call is one of them."""
    SEGMENTS = "segments"
    """As `MESSAGES`, with markers and fields that the format defines."""


class SegmentKind(enum.Enum):
    """The field that a segment of a turn belongs to."""

    REASONING = enum.auto()
    CONTENT = enum.auto()
    CALL = enum.auto()
    SECTION = enum.auto()
    """The segment around all calls, which are segments of their own. Other text in it is skipped."""
    OTHER = enum.auto()
    """A segment of another role, which is skipped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Segments:
    """The markers of the segments of a turn, in the layout `SEGMENTS`."""

    starts: tuple[str, ...]
    """The markers that begin a segment, and its header. They are optional."""
    bodies: tuple[str, ...]
    """The markers between the header and the body."""
    ends: tuple[str, ...]
    """The markers that end a segment. A stop token does too."""
    kind_of: Callable[[str, str], SegmentKind]
    """Return the field of a segment, by its header and the marker after it."""
    header: re.Pattern[str] = re.compile("")
    """The texts that headers of reasoning and content can have. Other text in such a header is skipped."""
    call_header: re.Pattern[str] | None = None
    """The texts that headers of calls can have, if these are not those of `header`."""
    section: str = ""
    """The marker before all calls, if the format has one."""
    call_end: str = ""
    """The marker that ends a call, if only one of `ends` does."""
    reasoning_end: str = ""
    """The marker that ends a segment of reasoning, but not the turn, even if it is a stop token."""
    separator: str = ""
    """The text between the texts of two segments of the same field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFormat:
    """A format of tool calls."""

    key: str
    call: MarkerPair | None
    """The markers around each call, or around all calls of a list. None if calls have no markers.

    A call with an empty closing marker ends at the next opening marker, at a stop token, or with the completion.
    """
    section: MarkerPair | None = None
    """The markers around all calls of a turn."""
    other_sections: tuple[MarkerPair, ...] = ()
    """Markers that models write instead of those of a section."""
    padding: str = ""
    """The text between the markers of a section and those of its calls."""
    variants: tuple[MarkerPair, ...] = ()
    """Other markers around calls, which models write as well."""
    signature: str = ""
    """A text in every call, if another format has the same markers."""
    unmarked: MarkerPair | None = None
    """The first and the last tag within a call, or the markers of a call in a section. If the markers around them are
    missing, they are a call only if it names a tool of the prompt."""
    quotes: MarkerPair | None = None
    """Markup around a value, within which no marker counts."""
    value: MarkerPair | None = None
    """The beginning of the markup before a value, and the markup after it. A marker of calls within a value is text,
    if the value is closed before another one begins. If both are the same, punctuation follows the one that closes."""
    last: tuple[str, ...] = ()
    """The texts that end a complete call before its closing marker, in formats without JSON arguments."""
    inner: tuple[str, ...] = ()
    """Other markers, within a call or within another marker."""
    openings: tuple[str, ...] = ()
    """The texts that calls without markers can begin with, in the layout `BARE_CALLS`."""
    within_text: tuple[str, ...] = ()
    """The texts that JSON calls within content can begin with. They are calls only if the prompt has the named tool.

    In the layout `MESSAGES`: the texts that a header without its markers can begin with, within a message."""
    layout: TurnLayout = TurnLayout.MARKERS
    ends_reasoning: bool = True
    """A call within reasoning ends it, unless the closing marker follows later."""
    separates_calls: bool = False
    """The opening marker of a call within another call begins the next call."""
    keeps_text: bool = False
    """Text after a call is content. Otherwise it is skipped."""
    rejects_unknown_tools: bool = False
    """A call of a tool that is not in the prompt has the status `UNKNOWN_TOOL`."""
    json_arguments: bool = False
    """The arguments are one JSON object, so a stream can emit their text."""
    keys: CallKeys | None = None
    """The keys of calls that are JSON objects. A template can write others, which `read` and `read_head` accept as the
    argument `keys`, and `find` too if the calls have no markers."""
    json_list: bool = False
    """The calls between two markers are the objects of a JSON list (layout `LISTS`). A stream emits them one by one."""
    list_opening: str | None = "["
    """The text before the objects of a JSON list: a bracket, or nothing. None if the format has names instead."""
    names_calls: bool = False
    """A name can be in the place of a JSON list. Its call ends with its arguments, if these are a JSON object."""
    assumes_prompt: bool = False
    """Without a prompt, a completion is assumed to follow the generation prompt."""
    read: Callable[[Payload], ParsedToolCall]
    """Parse the payload of a call. Its `raw` and `token_span` are set later. Never raises."""
    read_head: Callable[[Payload], CallHead]
    """Parse the beginning of a payload. The result does not change when more text follows, except for None."""
    segments: Segments | None = None
    """The segments of a turn, in the layout `SEGMENTS`."""
    find: Finder | None = None
    """Find the calls in a text with several. The layouts with lists other than JSON lists require it.

    None if the text has none. Never raises.
    """
    find_strictly: Finder | None = None
    """As `find`, without recoveries. If it finds calls up to a later marker, one before it is text of a string."""


def failed_call(status: ToolCallParseStatus, name: str | None = None) -> ParsedToolCall:
    return ParsedToolCall("", name, None, None, status)


def named_call(
    name: str | None,
    arguments: dict[str, Any] | str | None,
    status: ToolCallParseStatus,
    recoveries: tuple[RecoveryKind, ...] = (),
    *,
    call_id: str | None = None,
) -> ParsedToolCall:
    """Return a call, or a call with the status `MISSING_NAME` if the name is empty."""
    if not name:
        name, status, call_id = None, MISSING_NAME, None
    return ParsedToolCall("", name, arguments, None, status, call_id, "", recoveries)


def recovered(call: ParsedToolCall, *kinds: RecoveryKind) -> ParsedToolCall:
    """Return a call with more differences from the format."""
    call.recoveries += tuple(kind for kind in kinds if kind not in call.recoveries)
    return call


def call_of_values(
    name: str,
    pairs: Sequence[tuple[str, str]],
    schemas: ToolSchemas,
    *,
    well_formed: bool,
    recoveries: tuple[RecoveryKind, ...] = (),
) -> ParsedToolCall:
    """Return a call with arguments without quotes, as pairs of key and text, converted to the types in the schema.

    A key that occurs twice makes the call malformed, as `well_formed=False` does.
    """
    values: dict[str, Any] = {}
    all_fit, find_schema = True, schemas.parameters(name)
    for key, text in pairs:
        values[key], fits = read_value(text, find_schema(key))
        all_fit = all_fit and fits
    if not well_formed or len(values) < len(pairs):
        return named_call(name, values, MALFORMED, recoveries)
    return named_call(name, values, OK if all_fit else INVALID, recoveries)


_WRAPPERS = frozenset({"arguments", "input", "parameters", "properties"})
"""The names that models give to a single parameter with all arguments in it."""
_OBJECT = Schema.parse({"type": "object"})


def unwrapped(call: ParsedToolCall, schemas: ToolSchemas) -> ParsedToolCall:
    """Return a call with the arguments in a single parameter that the tool does not have, if it has all of these."""
    values, properties = call.arguments, schemas.properties(call.name or "")
    if not isinstance(values, dict) or len(values) != 1 or not _WRAPPERS.issuperset(values):
        return call
    (inner,) = values.values()
    if isinstance(inner, str):
        inner, _ = read_value(inner, _OBJECT)
    if not properties or not properties.isdisjoint(values) or not isinstance(inner, dict) or inner.keys() - properties:
        return call
    call.arguments = inner
    return recovered(call, RecoveryKind.WRAPPED_ARGUMENTS)
