"""Scan turns in the Harmony format: several messages, each with a header that determines its field."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Any

from renderers.core.completions import RecoveryKind, Region, ToolCallParseStatus
from renderers.parsing.buffer import MarkerSet
from renderers.parsing.compiled import CompiledGrammar
from renderers.parsing.emitter import Field, complete_characters_end, skipped_because
from renderers.parsing.grammar import NO_EDGES, Edges
from renderers.parsing.harmony_headers import cut_recipient, is_header_beginning, is_unmarked_header, read_header
from renderers.parsing.message_scanner import HEADER, LONGEST_HEADER, MessageScanner
from renderers.parsing.pieces import NO_PIECES, Pieces
from renderers.parsing.tool_formats.harmony import CHANNELS, FUNCTIONS, is_code
from renderers.tokenizer.encoding.byte_text import UNKNOWN, to_byte_text

# Attributes of enum classes are slow in Python 3.11.
_REASONING, _CONTENT, _CALL = Region.REASONING, Region.CONTENT, Region.CALL
_INCOMPLETE_HEADER = RecoveryKind.INCOMPLETE_HEADER
_ANOTHER_ROLE = Field(skipped_because("a message of another role"), _CONTENT)
_TO_ITSELF = Field(skipped_because("a message to the assistant itself"), _CONTENT)
_AFTER_CALL = Field(skipped_because("after the stop token"))
_CONTENT_CHANNELS = frozenset({"commentary", "final"})


class _Markers:
    """The markers of Harmony in a vocabulary."""

    def __init__(self, inner: tuple[str, ...], unmarked: frozenset[str], stops: frozenset[str]) -> None:
        self.start, channel, constrain, self.message, end, self.call_end = inner
        self.ends = {end, self.call_end}
        """The markers that end a message."""
        self.all = MarkerSet.of(self.start, channel, self.message, *self.ends)
        self.header_start = MarkerSet.of(self.start, channel)
        self.header_end = MarkerSet.of(self.message, *self.ends, *stops, UNKNOWN)
        self.body_end = MarkerSet.of(self.start, channel, *self.ends, *stops, UNKNOWN)
        self.in_text = unmarked | {self.message}
        """The texts that can belong to a header within a message."""
        self.text_end = MarkerSet.of(*self.body_end.markers, *self.in_text)
        """The markers to search for in a message that is not a call."""
        start, channel, constrain = map(re.escape, (self.start, channel, constrain))
        to_channel = rf"{channel}\s*+(?:{'|'.join(CHANNELS)})\b(?:\s*to=[\w.-]+)?"
        self.open_header = re.compile(
            rf"(?:{start})?\s*+(?:assistant)?\s*+(?:(?:to=[\w.-]++\s*+)?{to_channel}|to={FUNCTIONS}[\w.-]++(?!\s*{channel}))"
            rf"(?:\s*{constrain}\s*\w+|\s+(?:json|code)\b)?\s*",
            re.ASCII,
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
        self._markers = _markers(compiled.inner, compiled.unmarked_openers, self.stops)
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
        can_be_cut = match is not None or (final and len(byte_text) < limit)
        if can_be_cut and self._read_cut_header(end, at_end=match is None):
            if match is not None:
                self._read_end(match[1], end)
            return match is not None
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
        return not (is_header_beginning(self.decode(text)) or self.calls.calls or _CONTENT in self.nonempty_regions)

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
        start = self._header_start(end)
        if start == end:
            start = buffer.position
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
            if not self._read_cut_header(end, at_end=False):
                self._skip_to(end, "a header without a message")
            return True
        self._read_before(start)
        self._skip_to(header.end(), "a header that no marker ends")
        self._begin_field(header[0], start, header.end(), recoveries=[_INCOMPLETE_HEADER])
        return True

    def _header_start(self, end: int) -> int:
        """Return the position at which the header before `end` begins, which can lack the marker at its beginning."""
        buffer, markers = self.buffer, self._markers
        match = buffer.find(markers.header_start)
        position, marker = match if match and match[0] < end else (end, "")
        is_header = marker != markers.start and is_header_beginning(
            self.decode(buffer.byte_text[buffer.position : position])
        )
        return buffer.position if is_header else position

    def _read_cut_header(self, end: int, *, at_end: bool) -> bool:
        """Read a header of a call that has no message as a broken call. Return False if there is none before `end`.

        `at_end` is True if the completion ends there.
        """
        start = self.buffer.position
        recipient = cut_recipient(self.decode(self.buffer.byte_text[start:end]), self.calls.schemas, at_end=at_end)
        if recipient is None:
            return False
        self._has_message = True
        self.calls.recoveries.append(_INCOMPLETE_HEADER)
        self._begin_call(recipient, start, end)
        broken = ToolCallParseStatus.UNCLOSED_BLOCK if at_end else ToolCallParseStatus.MALFORMED_STRUCTURE
        self.calls.end(end, broken=broken)
        if not at_end:
            self.begin(self.in_start, HEADER)
        return True

    def in_body(self, final: bool) -> bool:
        """Read the body of a message, up to the marker that ends it or begins another message."""
        emitter, markers = self.emitter, self._markers
        in_call = emitter.region is _CALL
        position, marker = self.next_marker(markers.body_end if in_call else markers.text_end, final)
        if not marker:
            if final and in_call:
                self.calls.end(position, broken=ToolCallParseStatus.UNCLOSED_BLOCK)
            return False
        if marker in markers.in_text:
            return self._read_header_in_text(marker, position, final)
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

    def _read_header_in_text(self, marker: str, position: int, final: bool) -> bool:
        """Read a header without its markers within a message, if `marker` at a position begins one."""
        buffer, emitter, markers = self.buffer, self.emitter, self._markers
        emitter.emit_text_to(position, closed=None, flush=True)
        if marker == markers.message:
            emitter.emit_recovery(_INCOMPLETE_HEADER)
        else:
            limit = position + LONGEST_HEADER
            end, next_marker = buffer.find(markers.header_end) or (limit, "")
            if not next_marker and len(buffer.byte_text) < limit and not final:
                return False
            is_closed = next_marker == markers.message and end + len(next_marker) <= limit
            if is_closed and is_unmarked_header(self.decode(buffer.byte_text[position:end])):
                emitter.emit_text_to(position, closed=NO_EDGES)
                emitter.emit_recovery(RecoveryKind.MISSING_CLOSING_MARKER)
                self._begin_message(end, end + len(next_marker))
                return True
        emitter.emit_text_to(position + len(marker), closed=None, flush=True)
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
        buffer, markers = self.buffer, self._markers
        opened = self._header_start(start)
        before = self.decode(buffer.byte_text[buffer.position : opened])
        if opened == start and is_unmarked_header(before):
            opened = buffer.position
        # The prompt can hold the beginning of the first header.
        header = buffer.byte_text[opened:start].lstrip()
        is_incomplete = self._has_message and header and not header.startswith(markers.header_start.markers)
        self._read_before(opened)
        self.emitter.read_markers_to(end)
        self._begin_field(header, opened, end, recoveries=[_INCOMPLETE_HEADER] if is_incomplete else [])

    def _begin_field(self, byte_text: str, start: int, end: int, *, recoveries: Sequence[RecoveryKind] = ()) -> None:
        """Begin the body of a message. Its header, with all markers, is from `start` to `end`.

        `recoveries` are the differences of the header from the format.
        """
        self._has_message = True
        header = read_header(self.decode(byte_text), self.calls.schemas)
        recoveries = list(dict.fromkeys((*recoveries, *header.recoveries)))
        if header.role and not header.role.startswith("assistant"):
            self.begin(self.in_body, _ANOTHER_ROLE)
        elif header.recipient == "assistant":
            self.begin(self.in_body, _TO_ITSELF)
        elif header.recipient is not None and header.is_call:
            self.calls.recoveries += recoveries
            self._begin_call(header.recipient, start, end)
            self.current = self.in_body
            return
        elif header.channel == "analysis":
            self.opened_reasoning = True
            self.begin_body(_REASONING)
        else:
            if header.channel not in _CONTENT_CHANNELS:
                recoveries.append(RecoveryKind.UNKNOWN_CHANNEL)
            self.begin_body(_CONTENT)
        for kind in recoveries:
            self.emitter.emit_recovery(kind, end=end)

    def _begin_call(self, recipient: str, start: int, end: int) -> None:
        """Begin a call with a header from `start` to `end`."""
        self._in_code = is_code(recipient, self.calls.schemas)
        self.calls.begin(start, end, prefix=f"to={to_byte_text(recipient)}{self._markers.message}")

    def _read_before(self, end: int) -> None:
        """Read the text before a header: a header without a message, or text that is skipped."""
        if not self._read_cut_header(end, at_end=False):
            self._skip_to(end, "between messages")

    def _skip_to(self, end: int, reason: str) -> None:
        """Skip text up to a position. Whitespace is padding, not skipped text."""
        buffer = self.buffer
        text = self.decode(buffer.byte_text[max(buffer.position, buffer.completion_start) : end])
        if text.strip():
            self.emitter.emit_skipped(end, text, reason)
        self.emitter.read_markers_to(end)
