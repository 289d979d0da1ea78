"""Scan turns in the Harmony format: several messages, each with a header that determines its field."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Any

from renderers.core.completions import RecoveryKind, Region, ToolCallParseStatus
from renderers.core.lazy import lazy_pattern
from renderers.parsing.buffer import MarkerSet
from renderers.parsing.compiled import CompiledGrammar
from renderers.parsing.emitter import Field, complete_characters_end, skipped_because
from renderers.parsing.grammar import NO_EDGES, Edges
from renderers.parsing.message_scanner import HEADER, LONGEST_HEADER, MessageScanner
from renderers.parsing.pieces import NO_PIECES, Pieces
from renderers.parsing.tool_formats.harmony import CHANNEL, CONSTRAIN, START, is_code, recipient_of
from renderers.tokenizer.encoding.byte_text import UNKNOWN

# Attributes of enum classes are slow in Python 3.11.
_REASONING, _CONTENT, _CALL = Region.REASONING, Region.CONTENT, Region.CALL
_ANOTHER_ROLE = Field(skipped_because("a message of another role"), _CONTENT)
_TO_ITSELF = Field(skipped_because("a message to the assistant itself"), _CONTENT)
_AFTER_CALL = Field(skipped_because("after the stop token"))
_CONTENT_CHANNELS = frozenset({"commentary", "final"})
_CHANNEL = lazy_pattern(re.escape(CHANNEL) + r"\s*(\w+)")
_ROLE = lazy_pattern(re.escape(START) + r"(\w+)")
_LOST_CHANNEL = lazy_pattern(
    rf"(?:{re.escape(START)})?\s*+(?:assistant)?\s*+(?:to=\S++\s++)?(analysis|commentary|final)\b(?:\s*+to=[^\s<]++)?"
    rf"\s*+(?:{re.escape(CONSTRAIN)}\s*+\w++|json|code)?\s*+"
)
"""A header without the marker before its channel."""
_CHANNEL_NAME = lazy_pattern("analysis|commentary|final")
_RUN_TOGETHER = lazy_pattern(r"assistant\w+")
"""The role without the marker between it and the channel."""
_HEADER_CONTINUATION = lazy_pattern(r"\s*+(?:assistant)?\s*+(?:to=\S++)?\s*+")


class _Markers:
    """The markers of Harmony in a vocabulary."""

    def __init__(self, inner: tuple[str, ...], stops: frozenset[str]) -> None:
        self.start, channel, constrain, self.message, end, self.call_end = inner
        self.ends = {end, self.call_end}
        """The markers that end a message."""
        self.all = MarkerSet.of(self.start, channel, self.message, *self.ends)
        self.header_start = MarkerSet.of(self.start, channel)
        self.header_end = MarkerSet.of(self.message, *self.ends, *stops, UNKNOWN)
        self.body_end = MarkerSet.of(self.start, channel, *self.ends, *stops, UNKNOWN)
        start, channel, constrain = map(re.escape, (self.start, channel, constrain))
        self.open_header = re.compile(
            rf"(?:{start}\s*assistant\s*(?:to=[\w.-]+\s*)?)?{channel}\s*(?:analysis|commentary|final)\b"
            rf"(?:\s*to=[\w.-]+)?(?:\s*{constrain}\s*\w+|\s+(?:json|code)\b)?\s*"
        )
        """A header up to the place of the marker that should end it."""


# Keyed by the markers: a cache keyed by `MarkerText` would keep whole vocabularies alive.
_markers = functools.lru_cache(maxsize=64)(_Markers)


class HarmonyScanner(MessageScanner):
    """Scan a turn of several messages. Messages for the same field are joined by a line break."""

    _in_code = False
    """True if the body of the last call is code."""

    def __init__(self, compiled: CompiledGrammar, tools: Sequence[Any] | None, *, prefill: Pieces = NO_PIECES) -> None:
        super().__init__(compiled, tools, prefill=prefill)
        self._markers = _markers(compiled.inner, self.stops)
        self._has_message = False

    def in_start(self, final: bool) -> bool:
        """Read a header. A turn that begins with text and has no header is content."""
        buffer, markers = self.buffer, self._markers
        limit = buffer.position + LONGEST_HEADER
        match = buffer.find(markers.header_end)
        if match is not None and match[0] + len(match[1]) > limit:
            match = None
        byte_text = buffer.byte_text
        if match is None and len(byte_text) < limit and not final:
            self.await_header(markers.header_end)
            return False
        end = match[0] if match else complete_characters_end(byte_text, buffer.position, min(limit, len(byte_text)))
        if self._begin_open_message(end, is_closed=match is not None and match[1] == markers.message):
            return True
        if match is not None and match[1] == markers.message:
            self._begin_message(match[0], match[0] + len(match[1]))
            return True
        text = byte_text[buffer.position : end]
        if text.strip() and not markers.all.occurs_in(text) and self._can_be_answer(text):
            self._has_message = True
            self.emitter.emit_recovery(RecoveryKind.MISSING_HEADER)
            self.begin_body(_CONTENT)
            return True
        self._skip_to(end, "a header without a message")
        if match is None:
            return bool(text)
        self._read_end(match[1], end)
        return True

    def _can_be_answer(self, text: str) -> bool:
        """Return True if text without a header is the content of the turn: nothing but reasoning is before it."""
        if not self._has_message:
            return True
        is_header = _HEADER_CONTINUATION.fullmatch(self.decode(text)) is not None
        return not (is_header or self.calls.calls or _CONTENT in self.nonempty_regions)

    def _read_end(self, marker: str, position: int) -> None:
        """Read a marker after a header without a message: an id that is not a token, a stop token, or the end."""
        if marker == UNKNOWN:
            self.skip_unknown_token(position)
        elif marker in self.stops:
            self.stop_at(marker, position)
        else:
            self.emitter.read_markers_to(position + len(marker))

    def _begin_open_message(self, end: int, *, is_closed: bool) -> bool:
        """Begin a message with a header that no marker ends, if there is one before `end`. Return False if not.

        `is_closed` is True if the marker that ends a header is at `end`. Then only a header before the last one counts.
        """
        buffer, markers = self.buffer, self._markers
        header_start = buffer.find(markers.header_start)
        if header_start is None or header_start[0] >= end:
            return False
        start = header_start[0]
        # The buffer remembers occurrences, so it cannot be searched ahead.
        following = buffer.byte_text.find(markers.start, start + 1, end)
        if following >= 0:
            end = following
        elif is_closed:
            return False
        header = markers.open_header.match(buffer.byte_text, start, end)
        if header is None or not buffer.byte_text[header.end() : end].strip():
            # Without a text there is nothing to recover. A later header is read on its own.
            if following < 0:
                return False
            self._skip_to(end, "a header without a message")
            return True
        self._skip_to(start, "between messages")
        self._skip_to(header.end(), "a header that no marker ends")
        self._begin_field(header[0], start, header.end(), recoveries=[RecoveryKind.INCOMPLETE_HEADER])
        return True

    def in_body(self, final: bool) -> bool:
        """Read the body of a message, up to the marker that ends it or begins another message."""
        emitter, markers = self.emitter, self._markers
        in_call = emitter.region is _CALL
        position, marker = self.next_marker(markers.body_end, final)
        if not marker:
            if final and in_call:
                self.calls.end(position, broken=ToolCallParseStatus.UNCLOSED_BLOCK)
            return False
        stops, ends = marker in self.stops, marker in markers.ends
        if stops and not in_call and not ends:
            self.stop_at(marker, position)
            return True
        emitter.emit_text_to(position, closed=NO_EDGES)
        end = position + len(marker)
        in_string = in_call and not self._in_code and self.read_string_with(marker, end, final)
        if in_string is not False:
            return bool(in_string)
        if in_call and stops:
            # The stop token has an event of its own. The call's span includes it if it also closes the call.
            self._note_other_end(marker)
            self.calls.end(position, span_end=end if ends else 0)
        elif in_call and ends:
            self._note_other_end(marker)
            self.calls.end(end)
        elif in_call:
            self.calls.end(position, broken=ToolCallParseStatus.MALFORMED_STRUCTURE)
        elif not ends:
            emitter.emit_recovery(RecoveryKind.MISSING_CLOSING_MARKER)
        self.begin(self.in_start, HEADER)
        if stops:
            self.stop_at(marker, position)
        elif ends:
            emitter.read_markers_to(end)
        return True

    def _note_other_end(self, marker: str) -> None:
        """List the marker that ends a call as a difference, if it is not the one that ends calls."""
        if marker != self._markers.call_end:
            self.calls.recoveries.append(RecoveryKind.MISSING_CLOSING_MARKER)

    def stop_at(self, marker: str, position: int, edges: Edges = NO_EDGES) -> None:
        """Read a stop token. Another message can follow the one that ends a call."""
        super().stop_at(marker, position, edges)
        if marker == self._markers.call_end:
            self.begin(self._after_call, _AFTER_CALL)

    def _after_call(self, final: bool) -> bool:
        """Read on after a call: another message if one begins at once, or text that is skipped."""
        buffer, start = self.buffer, self._markers.start
        text = buffer.byte_text[buffer.position : buffer.position + len(start)]
        if text == start:
            self.stop_token_id = None
            self.begin(self.in_start, HEADER)
            return True
        if start.startswith(text) and not final:
            return False
        self.current = self._after_stop
        return True

    def _begin_message(self, start: int, end: int) -> None:
        """Begin a message. The marker after its header is from `start` to `end`."""
        buffer = self.buffer
        header_start = buffer.find(self._markers.header_start)
        opened = min(header_start[0], start) if header_start else start
        before = self.decode(buffer.byte_text[buffer.position : opened])
        # The prompt can hold the beginning of the first header.
        is_header = not self._has_message and _HEADER_CONTINUATION.fullmatch(before)
        if not is_header and not (opened == start and _LOST_CHANNEL.fullmatch(before)):
            self._skip_to(opened, "between messages")
        header_begin = buffer.position
        self.emitter.read_markers_to(end)
        self._begin_field(buffer.byte_text[header_begin:start], header_begin, end)

    def _begin_field(self, header: str, start: int, end: int, *, recoveries: Sequence[RecoveryKind] = ()) -> None:
        """Begin the body of a message. Its header, with all markers, is from `start` to `end`.

        `recoveries` are the differences of the header from the format.
        """
        self._has_message = True
        text = self.decode(header)
        role, channels, recipient = _ROLE.match(text), _CHANNEL.findall(text), recipient_of(text)
        if not channels and (lost := _LOST_CHANNEL.fullmatch(text)):
            role, channels, recoveries = None, [lost[1]], (*recoveries, RecoveryKind.INCOMPLETE_HEADER)
        elif role is not None and _RUN_TOGETHER.fullmatch(role[1]):
            channels, recoveries = (
                channels or _CHANNEL_NAME.findall(text),
                (*recoveries, RecoveryKind.INCOMPLETE_HEADER),
            )
        if role is not None and not role[1].startswith("assistant"):
            self.begin(self.in_body, _ANOTHER_ROLE)
        elif recipient == "assistant":
            self.begin(self.in_body, _TO_ITSELF)
        elif recipient is not None and recipient != "user":
            self.calls.recoveries += recoveries
            self._in_code = is_code(recipient, self.calls.schemas)
            self.calls.begin(start, end, prefix=header + self._markers.message)
            self.current = self.in_body
            return
        elif channels and channels[-1] == "analysis":
            self.opened_reasoning = True
            self.begin_body(_REASONING)
        else:
            if not channels or channels[-1] not in _CONTENT_CHANNELS:
                recoveries = (*recoveries, RecoveryKind.UNKNOWN_CHANNEL)
            self.begin_body(_CONTENT)
        for kind in recoveries:
            self.emitter.emit_recovery(kind, end=end)

    def _skip_to(self, end: int, reason: str) -> None:
        """Skip text up to a position. Whitespace is padding, not skipped text."""
        buffer = self.buffer
        text = self.decode(buffer.byte_text[max(buffer.position, buffer.completion_start) : end])
        if text.strip():
            self.emitter.emit_skipped(end, text, reason)
        self.emitter.read_markers_to(end)
