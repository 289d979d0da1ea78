"""`ToolFormat`: how tool calls are formatted and parsed, and helpers that several formats share."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from renderers.core.completions import ToolCallParseStatus
from renderers.parsing.lenient_json import JsonError, member_text, read_json
from renderers.parsing.schema import ToolSchemas, read_value

OK, INVALID = ToolCallParseStatus.OK, ToolCallParseStatus.INVALID_JSON
MALFORMED, MISSING_NAME = ToolCallParseStatus.MALFORMED_STRUCTURE, ToolCallParseStatus.MISSING_NAME

MarkerPair = tuple[str, str]
"""An opening marker and its closing marker."""


class ReadCall(NamedTuple):
    """A tool call as parsed from a payload."""

    name: str | None
    arguments: dict[str, Any] | str | None
    status: ToolCallParseStatus = OK
    id: str | None = None


class Payload(NamedTuple):
    """The byte text between the markers of a call.

    `mark` returns a marker as it occurs in byte text, `decode` decodes a part of the byte text.
    """

    byte_text: str
    mark: Callable[[str], str]
    decode: Callable[[str], str]

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

    def is_blank(self, start: int, end: int | None = None) -> bool:
        return not self.byte_text[start:end].strip()

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
    read: Callable[[Payload, ToolSchemas], ReadCall]
    """Parse the payload of a call. Never raises."""


def name_of(value: Any) -> str | None:
    """Return the name in a JSON object that describes a call. None if it has none."""
    name = value.get("name") if isinstance(value, dict) else None
    return name if isinstance(name, str) and name else None


def call_of(value: Any, text: str, *, arguments: Sequence[str]) -> ReadCall:
    """Return the call that a JSON object with a name and arguments describes.

    `text` is the JSON text of the object. `arguments` are the keys that can hold the arguments; the
    first key that is present counts.
    """
    if not isinstance(value, dict):
        return ReadCall(None, None, MISSING_NAME)
    present = [key for key in arguments if key in value]
    parsed, status = value[present[0]] if present else {}, OK
    if not isinstance(parsed, dict):
        parsed, status = read_arguments(member_text(text, present[0]))
    return named_call(name_of(value), parsed, status)


def named_call(
    name: str | None, arguments: dict[str, Any] | str | None, status: ToolCallParseStatus, call_id: str | None = None
) -> ReadCall:
    """Return a call, or a call with the status `MISSING_NAME` if the name is empty."""
    return ReadCall(name, arguments, status, call_id) if name else ReadCall(None, arguments, MISSING_NAME)


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


def call_of_values(name: str, pairs: Sequence[tuple[str, str]], schemas: ToolSchemas, *, well_formed: bool) -> ReadCall:
    """Return a call with arguments without quotes, as pairs of key and text, converted to the types in the schema."""
    values: dict[str, Any] = {}
    status = OK if well_formed else MALFORMED
    for key, text in pairs:
        values[key], fits = read_value(text, schemas.parameter(name, key))
        status = status if fits or not well_formed else INVALID
    return named_call(name, values, status)


class ValueTags(NamedTuple):
    """The markup of values with the key in the opening tag."""

    open: str
    """The markup before the key."""
    key_end: str
    close: str
    end: str = ""
    """The marker after all values."""
    padding: str = ""
    """Optional padding around a value. It is removed once."""


def read_tagged(payload: Payload, start: int, tags: ValueTags) -> tuple[list[tuple[str, str]], bool]:
    """Parse tagged values. Return pairs of key and value, and True if the markup is well-formed.

    A value ends at the last closing marker before the next value or before the end, so it can contain
    the text of that marker. A value without a closing marker ends at the next value.
    """
    pairs: list[tuple[str, str]] = []
    well_formed = True
    while opening := payload.find(tags.open, start):
        well_formed = well_formed and payload.is_blank(start, opening[0])
        key_end = payload.find(tags.key_end, opening[1])
        if key_end is None:
            return pairs, False
        following = payload.find(tags.open, key_end[1])
        bound = following[0] if following else len(payload.byte_text)
        closing = _find_closing(payload, key_end[1], bound, tags)
        value = payload.text(key_end[1], closing[0] if closing else bound)
        value = value.removeprefix(tags.padding).removesuffix(tags.padding)
        pairs.append((payload.text(opening[1], key_end[0]).strip(), value))
        well_formed, start = well_formed and closing is not None, closing[1] if closing else bound
    ended = payload.find(tags.end, start) if tags.end else None
    nothing_after = ended is None or payload.is_blank(ended[1])
    return pairs, well_formed and nothing_after and payload.is_blank(start, ended[0] if ended else None)


def _find_closing(payload: Payload, start: int, bound: int, tags: ValueTags) -> tuple[int, int] | None:
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
