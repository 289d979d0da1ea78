"""Scan turns of several segments, each with a header and a marker between header and body that determine its field."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from renderers.core.completions import RecoveryKind, Region, ToolCallParseStatus
from renderers.core.lazy import lazy_pattern
from renderers.parsing.buffer import MarkerSet
from renderers.parsing.compiled import TEXT_IN_SECTION, CompiledGrammar
from renderers.parsing.emitter import Field, complete_characters_end, skipped_because
from renderers.parsing.grammar import NO_EDGES
from renderers.parsing.message_scanner import HEADER, LONGEST_HEADER, MessageScanner
from renderers.parsing.pieces import NO_PIECES, Pieces
from renderers.parsing.tool_formats.base import SegmentKind
from renderers.tokenizer.encoding.byte_text import UNKNOWN

# Attributes of enum classes are slow in Python 3.11.
_REASONING, _CONTENT, _CALL = Region.REASONING, Region.CONTENT, Region.CALL
_OTHER_ROLE = lazy_pattern(r"[^\s.]*+(?:[ \t]++\S++)*+")
"""The header of a segment of another role."""
_OTHER = Field(skipped_because("a message of another role"), _CONTENT)


class _Markers:
    """The markers of segments in a vocabulary."""

    def __init__(
        self, starts: tuple[str, ...], bodies: tuple[str, ...], ends: tuple[str, ...], stops: frozenset[str]
    ) -> None:
        self.starts, self.bodies, self.ends = frozenset(starts), frozenset(bodies), frozenset(ends)
        self.all = MarkerSet.of(*starts, *bodies, *ends, *stops, UNKNOWN)


# Keyed by the markers: a cache keyed by `MarkerText` would keep whole vocabularies alive.
_markers = functools.lru_cache(maxsize=64)(_Markers)


class SegmentScanner(MessageScanner):
    """Scan a turn of segments. Segments for the same field are joined by the separator of the format."""

    def __init__(self, compiled: CompiledGrammar, tools: Sequence[Any] | None, *, prefill: Pieces = NO_PIECES) -> None:
        assert compiled.tool_format is not None
        assert compiled.tool_format.segments is not None
        self._segments = segments = compiled.tool_format.segments
        super().__init__(compiled, tools, prefill=prefill, separator=segments.separator)
        mark = compiled.marker_text.mark
        self._markers = _markers(
            tuple(map(mark, segments.starts)),
            tuple(map(mark, segments.bodies)),
            tuple(map(mark, segments.ends)),
            self.stops,
        )
        self._has_section, self._call_end = not segments.section, mark(segments.call_end)
        self._reasoning_end = mark(segments.reasoning_end)

    def in_start(self, final: bool) -> bool:
        """Read a header up to the marker before its body. Text without such a marker is content."""
        buffer, markers, byte_text = self.buffer, self._markers, self.buffer.byte_text
        limit = buffer.position + LONGEST_HEADER
        match = buffer.find(markers.all)
        if match is None or match[0] + len(match[1]) > limit:
            if len(byte_text) < limit and not final:
                self.await_header(markers.all)
                return False
            end = complete_characters_end(byte_text, buffer.position, min(limit, len(byte_text)))
            return self._begin_without_marker(end)
        position, marker = match
        if marker in markers.bodies:
            self._begin_segment(buffer.position, position, marker)
        elif byte_text[buffer.position : position].strip() and not self._is_prompt(position):
            return self._begin_without_marker(position)
        elif marker == UNKNOWN:
            self.emitter.read_markers_to(position)
            self.skip_unknown_token(position)
        elif marker in self.stops:
            self.emitter.read_markers_to(position)
            self.stop_at(marker, position)
        else:
            self.emitter.read_markers_to(position + len(marker))
        return True

    def _is_prompt(self, end: int) -> bool:
        """Return True if the text up to a position is part of the prompt."""
        return end <= self.buffer.completion_start

    def _begin_without_marker(self, end: int) -> bool:
        """Begin content that has no marker before it. Return False if there is no text."""
        text = self.buffer.byte_text[self.buffer.position : end]
        if not text.strip():
            self.emitter.read_markers_to(end)
            return False
        self.emitter.emit_recovery(RecoveryKind.MISSING_HEADER)
        self.begin_body(_CONTENT)
        return True

    def _begin_segment(self, header: int, position: int, marker: str) -> None:
        """Begin the body of a segment. Its header begins at `header`, the marker after it is at `position`."""
        end, byte_text = position + len(marker), self.buffer.byte_text
        kind = self._segments.kind_of(self.decode(byte_text[header:position]), self.decode(marker))
        if kind is SegmentKind.SECTION:
            self._has_section = True
        header = self._skip_before_header(header, position, kind)
        if kind is SegmentKind.CALL:
            if not self._has_section:
                self.calls.recoveries.append(RecoveryKind.MISSING_OPENING_MARKER)
                self._has_section = True
            self.emitter.read_markers_to(header)
            self.calls.begin(header, end, prefix=byte_text[header:end])
            self.emitter.read_markers_to(end)
            self.current = self.in_body
            return
        self.emitter.read_markers_to(end)
        if kind is SegmentKind.REASONING:
            self.opened_reasoning = True
            self.begin_body(_REASONING)
        elif kind is SegmentKind.CONTENT:
            self.begin_body(_CONTENT)
        else:
            self.begin(self.in_body, TEXT_IN_SECTION if kind is SegmentKind.SECTION else _OTHER)

    def _skip_before_header(self, start: int, end: int, kind: SegmentKind) -> int:
        """Skip text before the header of a segment, which the format does not have there. Return the header's start."""
        if self._is_prompt(end):
            return start
        segments, byte_text = self._segments, self.buffer.byte_text
        in_call = kind is SegmentKind.CALL
        pattern = segments.call_header if in_call and segments.call_header else segments.header
        pattern = _OTHER_ROLE if kind is SegmentKind.OTHER else pattern
        text = self.decode(byte_text[start:end])
        if pattern.fullmatch(text.strip()):
            return start
        # A header is on a line of its own.
        line = byte_text.rfind("\n", start, end) + 1 if in_call else end
        header = line if line and pattern.fullmatch(self.decode(byte_text[line:end]).strip()) else end
        self.emitter.read_markers_to(start)
        self.emitter.emit_skipped(header, self.decode(byte_text[start:header]).strip(), "in a header")
        return header

    def in_body(self, final: bool) -> bool:
        """Read the body of a segment, up to the marker that ends it or begins another one."""
        emitter, markers = self.emitter, self._markers
        in_call = emitter.region is _CALL
        position, marker = self.next_marker(markers.all, final)
        if not marker:
            if final and in_call:
                self.calls.end(position, broken=ToolCallParseStatus.UNCLOSED_BLOCK)
            return False
        end = position + len(marker)
        emitter.emit_text_to(position, closed=NO_EDGES)
        in_string = in_call and self.read_string_with(marker, end, final)
        if in_string is not False:
            return bool(in_string)
        if in_call:
            stopped = marker in self.stops
            closed = stopped or marker in markers.ends
            if closed and self._call_end and marker != self._call_end:
                self.calls.recoveries.append(RecoveryKind.MISSING_CLOSING_MARKER)
            broken = None if closed else ToolCallParseStatus.MALFORMED_STRUCTURE
            if stopped and marker not in markers.ends and not self.calls.ends_as_complete:
                broken = ToolCallParseStatus.UNCLOSED_BLOCK
            self.calls.end(end if closed and not stopped else position, broken=broken)
        elif emitter.region is not Region.CALLS and marker not in self.stops and marker not in markers.ends:
            emitter.emit_recovery(RecoveryKind.MISSING_CLOSING_MARKER)
        goes_on = marker == self._reasoning_end and emitter.region is _REASONING
        if marker in self.stops and not goes_on:
            self.begin(self.in_start, HEADER)
            self.stop_at(marker, position)
        elif marker in markers.bodies:
            # A body without an end. The marker begins another one.
            self._begin_segment(position, position, marker)
        else:
            self.begin(self.in_start, HEADER)
            emitter.read_markers_to(end if marker in markers.ends else position)
        return True
