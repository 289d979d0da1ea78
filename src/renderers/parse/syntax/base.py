"""What a syntax of tool calls is: how calls are written, and how one is read."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from renderers.parse.grammar import Pair
from renderers.parse.json_value import JsonError, member_text, read_json
from renderers.parse.response import ToolCallParseStatus
from renderers.parse.schema import ToolSchemas, read_value
from renderers.tokenizer.wire import from_wire, to_wire

__all__ = [
    "INVALID",
    "MALFORMED",
    "OK",
    "Attempt",
    "Call",
    "Payload",
    "Syntax",
    "call_of",
    "name_of",
    "read_arguments",
    "read_parameters",
    "read_tagged",
    "written_json",
    "written_values",
]

OK, INVALID, MALFORMED = (
    ToolCallParseStatus.OK,
    ToolCallParseStatus.INVALID_JSON,
    ToolCallParseStatus.MALFORMED_STRUCTURE,
)


class Call(NamedTuple):
    """A call to be written."""

    name: str
    arguments: Mapping[str, Any]
    id: str = ""


class Attempt(NamedTuple):
    """What was read of a call."""

    name: str | None
    arguments: dict[str, Any] | str | None
    status: ToolCallParseStatus = OK
    id: str | None = None


class Payload(NamedTuple):
    """What stands between the markers of a call, as wire text.

    `mark` gives a marker as it stands there, `decode` the text of a part of it.
    """

    wire: str
    mark: Callable[[str], str] = to_wire
    decode: Callable[[str], str] = from_wire

    def find(self, marker: str, at: int = 0, end: int | None = None) -> tuple[int, int] | None:
        """Returns where a marker begins and ends, the first from a place on; None where there is none."""
        mark = self.mark(marker)
        found = self.wire.find(mark, at, end)
        return (found, found + len(mark)) if found >= 0 else None

    def find_last(self, marker: str, at: int, end: int) -> tuple[int, int] | None:
        """Returns the last place of a marker between two places; None where there is none."""
        mark = self.mark(marker)
        found = self.wire.rfind(mark, at, end)
        return (found, found + len(mark)) if found >= 0 else None

    def is_blank(self, start: int, end: int | None = None) -> bool:
        """Says whether a part is nothing but space."""
        return not self.wire[start:end].strip()

    def text(self, start: int = 0, end: int | None = None) -> str:
        """Returns the text of a part."""
        return self.decode(self.wire[start:end])


@dataclass(frozen=True, slots=True, kw_only=True)
class Syntax:
    """A way to write tool calls."""

    key: str
    call: Pair | None
    """The markers around each call; None where it has none."""
    section: Pair | None = None
    """The markers around all calls of a turn."""
    inner: tuple[str, ...] = ()
    """Other markers, which stand within a call."""
    ends_reasoning: bool = False
    """A call that begins within reasoning ends it, if nothing else does."""
    keeps_text: bool = False
    """Text after a call is content."""
    knows_tools: bool = False
    """A name that is none of the tools is an error of its own."""
    bare: bool = False
    """A call has no markers: a whole turn is one, or several."""
    by_message: bool = False
    """A turn is several messages, and a call is one of them."""
    assumes_prompt: bool = False
    """Without a prompt a completion is taken to begin as the generation prompt would let it."""
    write: Callable[[Sequence[Call]], str]
    """Writes calls as a model does."""
    read: Callable[[Payload, ToolSchemas], Attempt]
    """Reads what stands between the markers of a call. Never raises."""


def name_of(value: Any) -> str | None:
    """Returns the name that a JSON value gives as a call; None where it gives none.

    >>> name_of({"name": "get"}), name_of(["get"])
    ('get', None)
    """
    name = value.get("name") if isinstance(value, dict) else None
    return name if isinstance(name, str) and name else None


def call_of(value: Any, text: str, *, arguments: Sequence[str]) -> Attempt:
    """Returns the call that a JSON object with a name and arguments is.

    `text` is what the object was read from, `arguments` are the keys that may hold them, the first one there counts.

    >>> call_of({"name": "get", "args": {"x": 1}}, '{"name": "get", "args": {"x": 1}}', arguments=["args"])
    Attempt(name='get', arguments={'x': 1}, status=<ToolCallParseStatus.OK: 'ok'>, id=None)
    """
    if not isinstance(value, dict):
        return Attempt(None, None, ToolCallParseStatus.MISSING_NAME)
    key = next((key for key in arguments if key in value), None)
    given: dict[str, Any] | str | None = value[key] if key is not None else {}
    status = OK
    if key is not None and not isinstance(given, dict):
        given, status = read_arguments(member_text(text, key))
    name = name_of(value)
    return Attempt(name, given, status if name else ToolCallParseStatus.MISSING_NAME)


def read_arguments(text: str) -> tuple[dict[str, Any] | str | None, ToolCallParseStatus]:
    """Returns arguments that are written as one JSON value; none are written where there is nothing but space.

    They are an object. A string or null is passed on as it is; of any other value, and of what is no JSON, the text is.

    >>> read_arguments('{"x": 1}'), read_arguments("null")
    (({'x': 1}, <ToolCallParseStatus.OK: 'ok'>), (None, <ToolCallParseStatus.OK: 'ok'>))
    >>> read_arguments("[1]")
    ('[1]', <ToolCallParseStatus.INVALID_JSON: 'invalid_json'>)
    """
    text = text.strip()
    if not text:
        return {}, OK
    try:
        value = read_json(text)
    except JsonError:
        return text, INVALID
    return (value, OK) if value is None or isinstance(value, dict | str) else (text, INVALID)


def read_parameters(
    pairs: Sequence[tuple[str, str]], name: str, schemas: ToolSchemas
) -> tuple[dict[str, Any], ToolCallParseStatus]:
    """Returns arguments that are written one by one without quotes, each read by the tool's schema."""
    values: dict[str, Any] = {}
    fit = True
    for key, text in pairs:
        values[key], fits = read_value(text, schemas.parameter(name, key))
        fit = fit and fits
    return values, OK if fit else INVALID


def read_tagged(
    payload: Payload, at: int, *, tag: Pair, close: str, end: str = "", padding: str = ""
) -> tuple[list[tuple[str, str]], bool]:
    """Returns keys and values that are written as elements with the key in their tag, and whether nothing is amiss.

    `tag` is what stands before the key and after it, `end` what stands after all elements. A value goes up to the
    last marker that closes it before the next element, or before the end; so it may hold the text of that marker.
    One that is not closed goes up to the next element. Padding around values is taken off once.
    """
    pairs: list[tuple[str, str]] = []
    whole = True
    while found := payload.find(tag[0], at):
        whole = whole and payload.is_blank(at, found[0])
        keyed = payload.find(tag[1], found[1])
        if keyed is None:
            return pairs, False
        following = payload.find(tag[0], keyed[1])
        bound = following[0] if following else len(payload.wire)
        closed = _closed(payload, keyed[1], bound, close=close, end=end, padding=padding)
        value = payload.text(keyed[1], closed[0] if closed else bound)
        pairs.append((payload.text(found[1], keyed[0]).strip(), value.removeprefix(padding).removesuffix(padding)))
        whole, at = whole and closed is not None, closed[1] if closed else bound
    ended = payload.find(end, at) if end else None
    rest = ended is None or payload.is_blank(ended[1])
    return pairs, whole and rest and payload.is_blank(at, ended[0] if ended else None)


def _closed(payload: Payload, at: int, bound: int, *, close: str, end: str, padding: str) -> tuple[int, int] | None:
    """Returns the marker that closes a value, which begins at a place and is followed by another."""
    first = payload.find(close, at, bound)
    if first is None:
        return None
    ended = payload.find(end, first[1], bound) if end else None
    closed = payload.find_last(close, first[0], ended[0] if ended else bound)
    if closed and padding and payload.wire.startswith(padding, at):
        padded = payload.find(padding + close, closed[0] - len(padding), bound)
        return (padded[0] + len(padding), padded[1]) if padded else closed
    return closed


def written_values(arguments: Mapping[str, Any]) -> dict[str, str]:
    """Returns arguments without quotes: strings as they are, other values as JSON.

    >>> written_values({"a": "x", "b": True})
    {'a': 'x', 'b': 'true'}
    """
    return {key: value if isinstance(value, str) else written_json(value) for key, value in arguments.items()}


def written_json(value: Any) -> str:
    """Returns a value as JSON, as templates write it."""
    return json.dumps(value, ensure_ascii=False)
