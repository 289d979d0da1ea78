"""`ToolFormat`: how tool calls are formatted and parsed, and helpers that several formats share."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from renderers.core.completions import ParsedToolCall, ToolCallParseStatus
from renderers.parsing.lenient_json import JsonError, member_text, read_json
from renderers.parsing.schema import ToolSchemas, read_value

OK, INVALID = ToolCallParseStatus.OK, ToolCallParseStatus.INVALID_JSON
MALFORMED, MISSING_NAME = ToolCallParseStatus.MALFORMED_STRUCTURE, ToolCallParseStatus.MISSING_NAME

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

    def find(
        self, marker: str, start: int = 0, end: int | None = None, *, last: bool = False
    ) -> tuple[int, int] | None:
        """Return the span of the first or the last occurrence of a marker. None if there is none."""
        mark = self.mark(marker)
        position = (self.byte_text.rfind if last else self.byte_text.find)(mark, start, end)
        return (position, position + len(mark)) if position >= 0 else None

    def partition(self, marker: str) -> tuple[str, str] | None:
        """Return the text before and after the first occurrence of a marker. None if there is none."""
        span = self.find(marker)
        return (self.text(0, span[0]), self.text(span[1])) if span else None

    def text(self, start: int = 0, end: int | None = None) -> str:
        return self.decode(self.byte_text[start:end])


class TurnLayout(enum.StrEnum):
    """The layout of a turn in a format. It determines the states of the scanner."""

    MARKERS = "markers"
    """Markers enclose the reasoning and the calls."""
    BARE_CALLS = "bare_calls"
    """As `MARKERS`, but calls have no markers: a whole turn is one call or several."""
    MESSAGES = "messages"
    """A turn is several messages, and a call is one of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFormat:
    """A format of tool calls."""

    key: str
    call: MarkerPair | None
    """The markers around each call. None if calls have no markers."""
    section: MarkerPair | None = None
    """The markers around all calls of a turn."""
    inner: tuple[str, ...] = ()
    """Other markers, within a call."""
    layout: TurnLayout = TurnLayout.MARKERS
    ends_reasoning: bool = False
    """A call within reasoning ends it, unless the closing marker follows later."""
    keeps_text: bool = False
    """Text after a call is content. Otherwise it is skipped."""
    rejects_unknown_tools: bool = False
    """A call of a tool that is not in the prompt has the status `UNKNOWN_TOOL`."""
    assumes_prompt: bool = False
    """Without a prompt, a completion is assumed to follow the generation prompt."""
    read: Callable[[Payload], ParsedToolCall]
    """Parse the payload of a call. Its `raw` and `token_span` are set later. Never raises."""


def name_of(value: Any) -> str | None:
    """Return the name in a JSON object that describes a call. None if it has none."""
    name = value.get("name") if isinstance(value, dict) else None
    return name if isinstance(name, str) and name else None


def call_of(value: Any, text: str, *, arguments: Sequence[str]) -> ParsedToolCall:
    """Return the call that a JSON object with a name and arguments describes.

    `text` is the JSON text of the object. `arguments` are the keys that can hold the arguments; the
    first key that is present counts.
    """
    if not isinstance(value, dict):
        return failed_call(MISSING_NAME)
    present = [key for key in arguments if key in value]
    parsed, status = value[present[0]] if present else {}, OK
    if not isinstance(parsed, dict):
        parsed, status = read_arguments(member_text(text, present[0]))
    return named_call(name_of(value), parsed, status)


def failed_call(status: ToolCallParseStatus, name: str | None = None) -> ParsedToolCall:
    return ParsedToolCall("", name, status=status)


def named_call(
    name: str | None, arguments: dict[str, Any] | str | None, status: ToolCallParseStatus, call_id: str | None = None
) -> ParsedToolCall:
    """Return a call, or a call with the status `MISSING_NAME` if the name is empty."""
    if not name:
        name, status, call_id = None, MISSING_NAME, None
    return ParsedToolCall("", name, arguments, status=status, id=call_id)


def read_arguments(text: str) -> tuple[dict[str, Any] | str | None, ToolCallParseStatus]:
    """Parse arguments that are one JSON value. Blank text is an empty object.

    The value should be an object. A string or null is returned as it is. For any other value, and
    for text that is not JSON, the text is returned.
    """
    text = text.strip()
    if not text:
        return {}, OK
    try:
        value = read_json(text)
    except JsonError:
        return text, INVALID
    return (value, OK) if value is None or isinstance(value, dict | str) else (text, INVALID)


def call_of_values(
    name: str, pairs: Sequence[tuple[str, str]], schemas: ToolSchemas, *, well_formed: bool
) -> ParsedToolCall:
    """Return a call with arguments without quotes, as pairs of key and text, converted to the types in the schema."""
    values: dict[str, Any] = {}
    status = OK if well_formed else MALFORMED
    for key, text in pairs:
        values[key], fits = read_value(text, schemas.parameter(name, key))
        status = status if fits or not well_formed else INVALID
    return named_call(name, values, status)


class Tags(NamedTuple):
    """The markup of a call with tags around the values. The name and the keys are within tags."""

    function: str
    """The markup before the name."""
    open: str
    """The markup before a key."""
    key_end: str
    """The markup after the name or a key."""
    close: str
    end: str = ""
    """The marker after all values."""
    padding: str = ""
    """Optional padding around a value. It is removed once."""
    unnamed: ToolCallParseStatus = MALFORMED
    """The status of a call with an empty name."""


def read_tagged(payload: Payload, *, tags: Tags) -> ParsedToolCall:
    """Parse a call with tagged values.

    A value ends at the last closing marker before the next value or before the end, so it can contain
    the text of that marker. A value without a closing marker ends at the next value.
    """
    function = payload.find(tags.function)
    name_end = payload.find(tags.key_end, function[1]) if function else None
    if not function or not name_end:
        return failed_call(MALFORMED)
    name = payload.text(function[1], name_end[0]).strip()
    if not name:
        return failed_call(tags.unnamed)
    pairs: list[tuple[str, str]] = []
    outside, start, well_formed = [payload.byte_text[: function[0]]], name_end[1], True
    opening = payload.find(tags.open, start)
    while opening:
        outside.append(payload.byte_text[start : opening[0]])
        key_end = payload.find(tags.key_end, opening[1])
        if key_end is None:
            well_formed = False
            break
        following = payload.find(tags.open, key_end[1])
        bound = following[0] if following else len(payload.byte_text)
        closing = _find_closing(payload, key_end[1], bound, tags)
        value = payload.text(key_end[1], closing[0] if closing else bound)
        value = value.removeprefix(tags.padding).removesuffix(tags.padding)
        pairs.append((payload.text(opening[1], key_end[0]).strip(), value))
        well_formed, start = well_formed and closing is not None, closing[1] if closing else bound
        opening = following
    outside.append(payload.byte_text[start:].replace(payload.mark(tags.end), "", 1))
    return call_of_values(name, pairs, payload.schemas, well_formed=well_formed and not "".join(outside).strip())


def _find_closing(payload: Payload, start: int, bound: int, tags: Tags) -> tuple[int, int] | None:
    """Return the span of the marker that closes the value from `start` on. Another value begins at `bound`."""
    first = payload.find(tags.close, start, bound)
    if first is None:
        return None
    ended = payload.find(tags.end, first[1], bound) if tags.end else None
    closing = payload.find(tags.close, first[0], ended[0] if ended else bound, last=True)
    padding = tags.padding
    if closing and padding and payload.byte_text.startswith(padding, start):
        padded = payload.find(padding + tags.close, closing[0] - len(padding), bound)
        return (padded[0] + len(padding), padded[1]) if padded else closing
    return closing
