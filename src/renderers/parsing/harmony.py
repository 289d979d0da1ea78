"""Scan turns in the Harmony format: several messages, each with a header that determines its field."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Any

from renderers.core.completions import ContentDelta, ParseEvent, ReasoningDelta, Region, ToolCallParseStatus
from renderers.parsing.buffer import MarkerSet
from renderers.parsing.compiled import CompiledGrammar
from renderers.parsing.emitter import Field, MakeEvent, complete_characters_end, skipped_because
from renderers.parsing.grammar import NO_EDGES
from renderers.parsing.pieces import NO_PIECES, Pieces
from renderers.parsing.scanner import Scanner
from renderers.parsing.tool_formats.harmony import CHANNEL, RECIPIENT, START
from renderers.tokenizer.encoding.byte_text import UNKNOWN

# Attributes of enum classes are slow in Python 3.11.
_START, _REASONING, _CONTENT, _CALL = Region.START, Region.REASONING, Region.CONTENT, Region.CALL
_HEADER = Field(ContentDelta, _START)
_ANOTHER_ROLE = Field(skipped_because("a message of another role"), _CONTENT)
LONGEST_HEADER = 1024
_CHANNEL = re.compile(re.escape(CHANNEL) + r"\s*(\w+)")
_ROLE = re.compile(re.escape(START) + r"(\w+)")
_HEADER_CONTINUATION = re.compile(r"\s*(?:assistant)?\s*(?:to=\S+)?\s*")


class _Markers:
    """The markers of Harmony in a vocabulary."""

    def __init__(self, inner: tuple[str, ...], stops: frozenset[str]) -> None:
        start, channel, _, self.message, end, call_end = inner
        self.ends = {end, call_end}
        """The markers that end a message."""
        self.all = MarkerSet.of(start, channel, self.message, *self.ends)
        self.header_start = MarkerSet.of(start, channel)
        self.header_end = MarkerSet.of(self.message, *stops, UNKNOWN)
        self.body_end = MarkerSet.of(start, channel, *self.ends, *stops, UNKNOWN)


# Keyed by the markers: a cache keyed by `MarkerText` would keep whole vocabularies alive.
_markers = functools.lru_cache(maxsize=64)(_Markers)


class HarmonyScanner(Scanner):
    """Scan a turn of several messages. Messages for the same field are joined by a line break."""

    def __init__(self, compiled: CompiledGrammar, tools: Sequence[Any] | None, *, prefill: Pieces = NO_PIECES) -> None:
        super().__init__(compiled, tools, prefill=prefill)
        self._decode, self._stops = compiled.marker_text.decode, compiled.marker_text.stops
        self._markers = _markers(compiled.inner, self._stops)
        self._has_message = False
        self._nonempty_regions: set[Region] = set()

    def in_start(self, final: bool) -> bool:
        """Read a header. A turn that begins with text and has no header is content."""
        buffer, markers = self.buffer, self._markers
        limit = buffer.position + LONGEST_HEADER
        match = buffer.find(markers.header_end, end=limit)
        if match is not None and match[0] + len(match[1]) > limit:
            match = None
        if match is not None and match[1] == markers.message:
            self._begin_message(match[0], match[0] + len(match[1]))
            return True
        byte_text = buffer.byte_text
        if match is None and len(byte_text) < limit and not final:
            return False
        end = match[0] if match else complete_characters_end(byte_text, buffer.position, min(limit, len(byte_text)))
        text = byte_text[buffer.position : end]
        if text.strip() and not self._has_message and not markers.all.occurs_in(text):
            self._has_message = True
            self._begin_body(_CONTENT, ContentDelta)
            return True
        self._skip_to(end, "a header without a message")
        if match is None:
            return bool(text)
        self.skip_unknown_token(end) if match[1] == UNKNOWN else self.stop_at(match[1], end)
        return True

    def _in_body(self, final: bool) -> bool:
        """Read the body of a message, up to the marker that ends it or begins another message."""
        emitter, markers = self.emitter, self._markers
        in_call = emitter.region is _CALL
        position, marker = self.next_marker(markers.body_end, final)
        if not marker:
            if final and in_call:
                self.calls.end(position, broken=ToolCallParseStatus.UNCLOSED_BLOCK)
            return False
        stops, ends = marker in self._stops, marker in markers.ends
        if stops and not in_call and not ends:
            self.stop_at(marker, position)
            return True
        emitter.emit_text_to(position, closed=NO_EDGES)
        end = position + len(marker)
        if in_call and stops:
            # The stop token has an event of its own. The call's span includes it if it also closes the call.
            self.calls.end(position, span_end=end if ends else 0)
        elif in_call and ends:
            self.calls.end(end)
        elif in_call:
            self.calls.end(position, broken=ToolCallParseStatus.MALFORMED_STRUCTURE)
        self.begin(self.in_start, _HEADER)
        if stops:
            self.stop_at(marker, position)
        elif ends:
            emitter.read_markers_to(end)
        return True

    def _begin_message(self, start: int, end: int) -> None:
        """Begin a message. The marker after its header is from `start` to `end`."""
        buffer = self.buffer
        header_start = buffer.find(self._markers.header_start)
        opened = min(header_start[0], start) if header_start else start
        before = self._decode(buffer.byte_text[buffer.position : opened])
        # The prompt can hold the beginning of the first header.
        if self._has_message or not _HEADER_CONTINUATION.fullmatch(before):
            self._skip_to(opened, "between messages")
        self._has_message = True
        header_begin = buffer.position
        header = buffer.byte_text[header_begin:start]
        text = self._decode(header)
        self.emitter.read_markers_to(end)
        role, channel = _ROLE.match(text), _CHANNEL.search(text)
        if role is not None and role[1] != "assistant":
            self.begin(self._in_body, _ANOTHER_ROLE)
        elif RECIPIENT.search(text):
            self.calls.begin(header_begin, end, prefix=header + self._markers.message)
            self.current = self._in_body
        elif channel is not None and channel[1] == "analysis":
            self.opened_reasoning = True
            self._begin_body(_REASONING, ReasoningDelta)
        else:
            self._begin_body(_CONTENT, ContentDelta)

    def _begin_body(self, region: Region, make_event: MakeEvent) -> None:
        """Begin a body. A line break comes before its first text if an earlier message has such text."""
        separator = ["\n"] if region in self._nonempty_regions else []

        def make_joined_event(text: str, start: int, end: int) -> ParseEvent:
            self._nonempty_regions.add(region)
            return make_event(separator.pop() + text if separator else text, start, end)

        self.begin(self._in_body, Field(make_joined_event, region, plain=self.compiled.plain_in_calls))

    def _skip_to(self, end: int, reason: str) -> None:
        """Skip text up to a position. Whitespace is padding, not skipped text."""
        buffer = self.buffer
        text = self._decode(buffer.byte_text[max(buffer.position, buffer.completion_start) : end])
        if text.strip():
            self.emitter.emit_skipped(end, text, reason)
        self.emitter.read_markers_to(end)
