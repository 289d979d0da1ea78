"""`ToolFormat`: how tool calls are formatted and parsed, and helpers that several formats share."""

from __future__ import annotations

import contextlib
import enum
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from renderers.core.completions import ParsedToolCall, RecoveryKind, ToolCallParseStatus
from renderers.core.lazy import lazy_pattern
from renderers.parsing.lenient_json import JsonError, begins_value, member_text, read_json, read_json_prefix
from renderers.parsing.schema import Schema, ToolSchemas, read_value

OK, INVALID = ToolCallParseStatus.OK, ToolCallParseStatus.INVALID_JSON
MALFORMED, MISSING_NAME = ToolCallParseStatus.MALFORMED_STRUCTURE, ToolCallParseStatus.MISSING_NAME

NAMES, IDS = ("name", "tool_name"), ("id", "tool_call_id")
"""The keys of the name and of the id in a JSON object that describes a call. The first one that is present counts."""
_BESIDE_ARGUMENTS = frozenset({*NAMES, *IDS, "type", "index"})
"""The keys of an object that describes a call without arguments."""

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
    find: Callable[[Payload], FoundCalls | None] | None = None
    """Find the calls in a text with several. The layouts with lists other than JSON lists require it.

    None if the text has none. Never raises.
    """


def list_calls_in(payload: Payload) -> FoundCalls | None:
    """Find the calls of a JSON list, or of JSON objects in any order. A broken object is the last call.

    >>> list_calls_in(Payload('[{"name": "a"}, {"name": "b"', str, str, ToolSchemas(None)))
    FoundCalls(spans=[(1, 14), (16, 28)], broken=True, recoveries=(), calls=())
    """
    spans: list[tuple[int, int]] = []
    byte_text, position = payload.byte_text, 0
    while (start := byte_text.find("{", position)) >= 0:
        try:
            _, position = read_json_prefix(byte_text, start)
        except JsonError:
            return FoundCalls([*spans, (start, len(byte_text))], broken=True)
        spans.append((start, position))
    return FoundCalls(spans) if spans else None


def name_of(value: Any) -> str | None:
    """Return the name in a JSON object that describes a call. None if it has none."""
    name = first_member(value, NAMES) if isinstance(value, dict) else None
    return name if name and isinstance(name, str) else None


def first_member(value: dict[str, Any], keys: Sequence[str]) -> Any:
    """Return the value of the first key that is present. None if there is none."""
    for key in keys:
        if key in value:
            return value[key]
    return None


def call_of(value: Any, text: str, *, arguments: Sequence[str] = ("arguments", "parameters")) -> ParsedToolCall:
    """Return the call that a JSON object with a name and arguments describes.

    `text` is the JSON text of the object. `arguments` are the keys that can hold the arguments; the
    first key that is present counts. Without such a key, any other member may be an argument, so the call is malformed.
    """
    if not isinstance(value, dict):
        return failed_call(MISSING_NAME)
    name = name_of(value)
    for key in arguments:
        if key in value:
            written = value[key]
            is_object = isinstance(written, dict)
            parsed = _new(ReadArguments, (written, OK, ())) if is_object else read_arguments(member_text(text, key))
            break
    else:
        if name is not None and value.keys() - _BESIDE_ARGUMENTS:
            return failed_call(MALFORMED, name)
        parsed = _NO_ARGUMENTS
    call_id = first_member(value, IDS)
    return named_call(name, *parsed, call_id=call_id if isinstance(call_id, str) and call_id else None)


def read_json_call(payload: Payload) -> ParsedToolCall:
    """Parse a call that is a JSON object, which can be between code fences. A broken call has a name if it has one."""
    written = payload.text()
    text = without_fences(written) if "```" in written else written
    if "{" not in text and not begins_value(text):
        return failed_call(INVALID)
    try:
        call = call_of(read_json(text), text)
    except JsonError:
        return broken_call(payload, read_json_head(payload)) if "{" in text else failed_call(INVALID)
    return call if text is written else recovered(call, RecoveryKind.CODE_FENCE)


def broken_call(payload: Payload, head: CallHead) -> ParsedToolCall:
    """Return a call that is not JSON, with its name, and with its arguments if they are a complete object.

    Then the structure around the arguments is broken, and not their JSON.
    """
    arguments = None
    if head.arguments_start is not None:
        with contextlib.suppress(JsonError):
            arguments, _ = read_json_prefix(payload.text_from(head.arguments_start), 0)
    if not isinstance(arguments, dict):
        return failed_call(INVALID, head.name)
    return ParsedToolCall("", head.name, arguments, status=MALFORMED)


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


class ReadArguments(NamedTuple):
    """Arguments that were parsed, or their text, with their status and the differences from the format."""

    value: dict[str, Any] | str
    status: ToolCallParseStatus
    recoveries: tuple[RecoveryKind, ...] = ()


_NO_ARGUMENTS = ReadArguments({}, OK, (RecoveryKind.MISSING_ARGUMENTS,))


def read_arguments(text: str) -> ReadArguments:
    """Parse arguments that are one JSON object, which can be between code fences or in a JSON string.

    Null, and a blank text or string, is an empty object. For any other value, and for text that is not JSON, the text
    is returned.
    """
    text = text.strip()
    unfenced = without_fences(text)
    recoveries: tuple[RecoveryKind, ...] = (RecoveryKind.CODE_FENCE,) if unfenced is not text else ()
    try:
        value = _value_of(unfenced)
        if isinstance(value, str):
            value = _value_of(value)
            recoveries += (RecoveryKind.JSON_STRING_ARGUMENTS,)
    except JsonError:
        return ReadArguments(text, INVALID)
    if value is None:
        return ReadArguments({}, OK, _NO_ARGUMENTS.recoveries)
    return ReadArguments(value, OK, recoveries) if isinstance(value, dict) else ReadArguments(text, INVALID)


def _value_of(text: str) -> Any:
    """Return the value of a JSON text. None if the text is blank."""
    return read_json(text) if text.strip() else None


def read_string(text: str) -> str | None:
    """Parse a JSON string. None if the text is anything else."""
    try:
        value = read_json(text)
    except JsonError:
        return None
    return value if isinstance(value, str) else None


def without_fences(text: str) -> str:
    """Return the text between code fences, or else all of the text."""
    fenced = _FENCED.fullmatch(text)
    return fenced[1] if fenced else text


_FENCED = lazy_pattern(r"\s*```(?:json)?(.*?)```\s*", re.DOTALL)
_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"'
_HEAD = lazy_pattern(
    rf'\s*\{{\s*(?:"(?:tool_call_)?id"\s*:\s*{_STRING}\s*,\s*)?"(?:tool_)?name"\s*:\s*({_STRING})\s*', re.DOTALL
)
_ARGUMENTS = lazy_pattern(r'(?:,\s*)?"(?:arguments|parameters)"\s*:')


def read_json_head(payload: Payload) -> CallHead:
    """Parse the beginning of a JSON object with a name and then arguments."""
    byte_text = payload.byte_text
    match = _HEAD.match(byte_text)
    if match is None:
        return CallHead()
    name = name_of({"name": read_string(payload.decode(match[1]))})
    arguments = _ARGUMENTS.match(byte_text, match.end())
    start = arguments.end() if arguments else None
    return CallHead(name, match.end(1), start)


_JSON_CALL = lazy_pattern(r"[ \t\n\r]*(?:```(?:json)?[ \t\n\r]*)?(?:\[[ \t\n\r]*)?\{")
"""The beginning of a JSON object or of a list of these, which can be between code fences."""


def begins_json(text: str) -> bool:
    """Return True if a text begins with JSON calls, in a format with elements."""
    return _JSON_CALL.match(text) is not None


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
