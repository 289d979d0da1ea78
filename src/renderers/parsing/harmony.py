"""Scan turns in the Harmony format: several messages, each with a header that determines its field."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from renderers.core.completions import ContentDelta, ParseEvent, ReasoningDelta, Region, ToolCallParseStatus
from renderers.parsing.buffer import MarkerSet
from renderers.parsing.emitter import MakeEvent, complete_characters_end, skipped_because
from renderers.parsing.grammar import NO_EDGES
from renderers.parsing.scanner import Scanner, State
from renderers.parsing.tool_formats.harmony import CALL_END, CHANNEL, END, MESSAGE, RECIPIENT, START
from renderers.tokenizer.encoding.byte_text import UNKNOWN

HEADER_ALONE = "a header without a message"
BETWEEN_MESSAGES = "between messages"
ANOTHER_ROLE = "a message of another role"
LONGEST_HEADER = 1024
_CHANNEL = re.compile(re.escape(CHANNEL) + r"\s*(\w+)")
_ROLE = re.compile(re.escape(START) + r"(\w+)")
_HEADER_CONTINUATION = re.compile(r"\s*(?:assistant)?\s*(?:to=\S+)?\s*")


@dataclass(frozen=True, slots=True)
class MessageMarkers:
    """The markers of Harmony in a vocabulary."""

    message: str
    """The marker between a header and its body."""
    ends: frozenset[str]
    """The markers that end a message."""
    all: MarkerSet
    header_start: MarkerSet
    """The markers that a header can begin with."""
    header_end: MarkerSet
    """The markers that end a header."""
    body_end: MarkerSet
    """The markers that end a body or begin another message."""


# Keyed by the markers: a cache keyed by `MarkerText` would keep whole vocabularies alive.
@functools.lru_cache(maxsize=64)
def _message_markers(
    start: str, channel: str, message: str, end: str, call_end: str, *, stops: frozenset[str]
) -> MessageMarkers:
    """Return the markers as they occur in byte text."""
    others = (*stops, UNKNOWN)
    return MessageMarkers(
        message=message,
        ends=frozenset({end, call_end}),
        all=MarkerSet.of(start, channel, message, end, call_end),
        header_start=MarkerSet.of(start, channel),
        header_end=MarkerSet.of(message, *others),
        body_end=MarkerSet.of(start, channel, end, call_end, *others),
    )


def begin_harmony_turn(scanner: Scanner) -> State:
    """Return the first state of a turn of several messages."""
    return HarmonyTurn(scanner).in_header


class HarmonyTurn:
    """The states of a turn of several messages. Messages for the same field are joined by a line break."""

    def __init__(self, scanner: Scanner) -> None:
        self._scanner = scanner
        self._buffer = scanner.buffer
        self._emitter = scanner.emitter
        self._calls = scanner.calls
        self._decode = scanner.compiled.marker_text.decode
        self._stops = scanner.compiled.marker_text.stops
        markers = map(scanner.compiled.marker_text.mark, (START, CHANNEL, MESSAGE, END, CALL_END))
        self._markers = _message_markers(*markers, stops=self._stops)
        self._has_message = False
        self._nonempty_regions: set[Region] = set()

    def in_header(self, final: bool) -> bool:
        """Read a header. A turn that begins with text and has no header is content."""
        buffer, markers = self._buffer, self._markers
        limit = buffer.position + LONGEST_HEADER
        match = buffer.find(markers.header_end)
        if match is not None and match[0] + len(match[1]) > limit:
            match = None
        if match is not None and match[1] == markers.message:
            self._begin_message(match[0], match[0] + len(match[1]))
            return True
        byte_text = buffer.byte_text
        if match is None and len(byte_text) < limit and not final:
            return False
        if match is not None:
            end = match[0]
        else:
            end = complete_characters_end(byte_text, buffer.position, min(limit, len(byte_text)))
        text = byte_text[buffer.position : end]
        if text.strip() and not self._has_message and not markers.all.occurs_in(text):
            self._begin_content()
            return True
        self._skip_to(end, HEADER_ALONE)
        if match is not None:
            self._scanner.end_at(match[1], end, NO_EDGES)
        return match is not None or bool(text)

    def _in_body(self, final: bool) -> bool:
        """Read the body of a message, up to the marker that ends it or begins another message."""
        scanner, emitter, markers = self._scanner, self._emitter, self._markers
        in_call = emitter.region is Region.CALL
        match = self._buffer.find(markers.body_end)
        if match is None:
            emitter.emit_chunk(markers.body_end, final, NO_EDGES)
            if final and in_call:
                self._calls.end(self._buffer.position, broken=ToolCallParseStatus.UNCLOSED_BLOCK)
            return False
        position, marker = match
        if marker == UNKNOWN or (marker in self._stops and not in_call and marker not in markers.ends):
            scanner.end_at(marker, position, NO_EDGES)
            return True
        emitter.emit_text_to(position, closed=NO_EDGES)
        if in_call:
            self._end_call(marker, position)
        emitter.region, scanner.current = Region.START, self.in_header
        if marker in self._stops:
            scanner.end_at(marker, position, NO_EDGES)
        elif marker in markers.ends:
            emitter.read_markers_to(position + len(marker))
        return True

    def _begin_message(self, start: int, end: int) -> None:
        """Begin a message. The marker after its header is from `start` to `end`."""
        buffer, emitter = self._buffer, self._emitter
        header_start = buffer.find(self._markers.header_start)
        opened = min(header_start[0], start) if header_start else start
        before = self._decode(buffer.byte_text[buffer.position : opened])
        # The prompt can hold the beginning of the first header.
        if self._has_message or not _HEADER_CONTINUATION.fullmatch(before):
            self._skip_to(opened, BETWEEN_MESSAGES)
        self._has_message = True
        header = buffer.byte_text[buffer.position : start]
        text = self._decode(header)
        role = _ROLE.match(text)
        if role is not None and role[1] != "assistant":
            emitter.read_markers_to(end)
            emitter.enter_field(Region.CONTENT, skipped_because(ANOTHER_ROLE))
        elif RECIPIENT.search(text):
            self._calls.begin(buffer.position, end, payload=(header, self._markers.message))
        else:
            emitter.read_markers_to(end)
            channel = _CHANNEL.search(text)
            self._begin_reasoning() if channel and channel[1] == "analysis" else self._begin_content()
        self._scanner.current = self._in_body

    def _begin_reasoning(self) -> None:
        self._scanner.opened_reasoning = True
        self._emitter.enter_field(Region.REASONING, self._joining(Region.REASONING, ReasoningDelta))

    def _begin_content(self) -> None:
        self._has_message = True
        self._emitter.enter_field(Region.CONTENT, self._joining(Region.CONTENT, ContentDelta))
        self._scanner.current = self._in_body

    def _joining(self, region: Region, make_event: MakeEvent) -> MakeEvent:
        """Return a function that puts a line break before the first text, if an earlier message has such text."""
        separator = ["\n"] if region in self._nonempty_regions else []

        def make_joined_event(text: str, start: int, end: int) -> ParseEvent:
            self._nonempty_regions.add(region)
            return make_event(separator.pop() + text if separator else text, start, end)

        return make_joined_event

    def _end_call(self, marker: str, position: int) -> None:
        """End a call at the marker that closes it, or at one that begins another message."""
        if marker in self._stops:
            # The stop token has an event of its own. The call's span includes it if it also closes the call.
            self._calls.end(position, span_end=position + len(marker) if marker in self._markers.ends else 0)
        elif marker in self._markers.ends:
            self._calls.end(position + len(marker))
        else:
            self._calls.end(position, broken=ToolCallParseStatus.MALFORMED_STRUCTURE)

    def _skip_to(self, end: int, reason: str) -> None:
        """Skip text up to a position. Whitespace is padding, not skipped text."""
        buffer = self._buffer
        text = self._decode(buffer.byte_text[max(buffer.position, buffer.completion_start) : end])
        if text.strip():
            self._emitter.emit_skipped(end, text, reason)
        self._emitter.read_markers_to(end)
