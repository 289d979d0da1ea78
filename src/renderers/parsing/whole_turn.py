"""Read a whole completion in few steps: reasoning, content, calls between their markers, a stop token.

The scanner reads any completion in chunks of any size, and defines the result. If all tokens are there, most of its
rules do not matter: the markers of most turns are in the usual order. Anything else is left to the scanner.
"""

from __future__ import annotations

from bisect import bisect_left

from renderers.core.completions import (
    ContentDelta,
    ParsedResponse,
    RecoveryKind,
    Region,
    ToolCallParseStatus,
)
from renderers.parsing.buffer import InputBuffer, MarkerSet, find_mark
from renderers.parsing.call_progress import OpenString, ends_in_value
from renderers.parsing.collected_turn import CollectedTurn
from renderers.parsing.compiled import CompiledGrammar
from renderers.parsing.emitter import Field
from renderers.parsing.ended_calls import WrittenCall, ended_calls, with_tool_name
from renderers.parsing.grammar import MOST_TRIMMED, NO_EDGES, SPACES, Edges
from renderers.parsing.pieces import Pieces
from renderers.parsing.schema import ToolSchemas
from renderers.parsing.tool_formats import Payload, TurnLayout
from renderers.tokenizer.encoding.byte_text import UNKNOWN, from_byte_text

# Attributes of enum classes are slow in Python 3.11.
_REASONING, _CONTENT, _CALL = Region.REASONING, Region.CONTENT, Region.CALL
_OK, _UNCLOSED = ToolCallParseStatus.OK, ToolCallParseStatus.UNCLOSED_BLOCK
_MARKERS = TurnLayout.MARKERS
_LAYOUTS = frozenset({_MARKERS, TurnLayout.LISTS, TurnLayout.BARE_CALLS})
_SHORT_TEXT = 8
"""The size of texts that are decoded without a search for markers in them."""
_new = tuple.__new__
"""Creates a named tuple in half the time of its constructor."""


def read_whole_turn(
    compiled: CompiledGrammar, schemas: ToolSchemas, *, prefill: Pieces, pieces: Pieces
) -> ParsedResponse | None:
    """Return the message of a whole completion, equal to that of a scanner. None if the scanner has to read it.

    `prefill` is the beginning of the turn in the prompt. Neither a call nor the turn may end in it.
    """
    if compiled.layout not in _LAYOUTS:
        return None
    turn = _WholeTurn(compiled, schemas, prefill, pieces)
    try:
        turn.read()
    except _UnusualError:
        return None
    return turn.response()


class _UnusualError(Exception):
    """The scanner has to read the completion."""


class _WholeTurn(CollectedTurn):
    """A turn, with the fields that were read so far. Positions are those in the text of prefill and completion."""

    def __init__(self, compiled: CompiledGrammar, schemas: ToolSchemas, prefill: Pieces, pieces: Pieces) -> None:
        byte_text, starts, marks = pieces
        before, _, marks_before = prefill
        super().__init__(before + byte_text, starts)
        self._compiled, self._schemas = compiled, schemas
        self._completion_start = len(before)
        self._marks = marks_before + marks
        # Finds markers that are not tokens.
        self._buffer: InputBuffer | None = None
        self._position = 0
        # The text that was trimmed from the ends of the last field, and from the end of the content before it.
        self._leading = self._trimmed = self._padding = ""
        # The differences of the next call from the format.
        self._recoveries: list[RecoveryKind] = []

    def read(self) -> None:
        """Read all fields.

        Raises:
            _UnusualError: The scanner has to read the completion.
        """
        if UNKNOWN in self.text:
            raise _UnusualError
        field = self._read_start()
        if field is self._compiled.fields.reasoning:
            field = self._read_reasoning()
        if field is None:
            return
        self.region = _CONTENT
        if self._compiled.openings and self._read_bare_call():
            return
        markers = self._content_markers()
        position, marker = self._read_content(field, markers)
        while marker in self._compiled.call_openers:
            self._read_calls(position, marker)
            if self.region is _CALL:
                return
            position, marker = self._read_after_calls(markers)
        self._end_at(position, marker)

    def _end_at(self, position: int, marker: str) -> None:
        """End the turn at a stop token, or with the completion."""
        if marker:
            if marker not in self._compiled.marker_text.stops or position + 1 < len(self.text):
                raise _UnusualError
            self.stop_token_id = self._compiled.marker_text.id_of(marker)

    # ==================
    # Reasoning and content
    # ==================

    def _read_start(self) -> Field | None:
        """Read the markers before the first field. Return that field, or None if the completion has none."""
        compiled, text = self._compiled, self.text
        while (position := self._skip_spaces()) < self._position + MOST_TRIMMED:
            for marker in compiled.starts:
                if text.startswith(marker, position):
                    break
            else:
                break
            self._position = position + len(marker)
            if marker == compiled.think:
                self.opened_reasoning, self.region = True, _REASONING
                return compiled.fields.reasoning
            if marker == compiled.think_end:
                self.opened_reasoning = True
                return self._answer()
            if marker != compiled.header:
                raise _UnusualError
        return compiled.fields.first if self._position < len(text) else None

    def _skip_spaces(self) -> int:
        """Return the first position that is not whitespace. At most `MOST_TRIMMED` characters are skipped."""
        text = self.text[self._position : self._position + MOST_TRIMMED]
        return self._position + len(text) - len(text.lstrip(SPACES))

    def _read_reasoning(self) -> Field | None:
        """Read reasoning. Return the field after it, or None if the completion ends within it."""
        compiled, fields = self._compiled, self._compiled.fields
        markers = compiled.open_reasoning_markers
        lead, left, edges = fields.reasoning.lead, fields.reasoning.left, compiled.reasoning.edges
        while True:
            position, marker = self._find(markers, self._position)
            is_closed = marker == compiled.think_end
            if marker in compiled.call_openers and not is_closed:
                _, deciding = self._find(compiled.reasoning_end_markers, position + len(marker))
                if deciding == compiled.think_end:
                    # The marker is text of the reasoning.
                    markers = compiled.reasoning_markers
                    continue
                self.reasoning.append(self._read_field(position, _REASONING, lead, left, edges))
                self._recoveries.append(RecoveryKind.CALL_IN_REASONING)
                return fields.content
            text = self._read_field(position, _REASONING, lead, left, edges if is_closed else NO_EDGES)
            self.reasoning.append(text)
            self._position += len(marker)
            if is_closed:
                return self._answer()
            if marker != compiled.think:
                self._end_at(position, marker)
                return None
            # A second opening marker is not text of the reasoning.
            lead, left = "", "" if text else left

    def _answer(self) -> Field:
        """Return the field of content after reasoning."""
        compiled = self._compiled
        if compiled.response:
            raise _UnusualError
        return compiled.fields.answer if any(self.reasoning) else compiled.fields.answer_after_empty

    def _content_markers(self) -> MarkerSet:
        """Return the markers to search for in content."""
        compiled, text = self._compiled, self.text
        if not compiled.unmarked_openers:
            return compiled.content_markers
        if compiled.layout is _MARKERS or compiled.in_unmarked_calls.occurs_in(text):
            return compiled.unmarked_markers if self._schemas.names else compiled.content_markers
        # No call can follow.
        return compiled.content_markers

    def _read_content(self, field: Field, markers: MarkerSet) -> tuple[int, str]:
        """Read content. Return the position after it and the marker there."""
        compiled = self._compiled
        position, marker = self._find(markers, self._position)
        edges = compiled.grammar.content_before_calls if marker in compiled.call_openers else compiled.grammar.content
        text = self._read_field(position, _CONTENT, field.lead, field.left, edges)
        if text and self.content:
            # The whitespace between content before calls and after them is content.
            text = compiled.marker_text.decode(self._padding + self._leading) + text
            self._padding = ""
        if text:
            self.content.append(text)
        if self.content:
            self._padding += self._trimmed
        return position, marker

    def _read_after_calls(self, markers: MarkerSet) -> tuple[int, str]:
        """Read the text after calls. Return the position after it and the marker there."""
        field = self._compiled.fields.after_calls
        if field.make_event is ContentDelta:
            return self._read_content(field, markers)
        position, marker = self._find(markers, self._position)
        text = self.text[self._position : position].lstrip(field.left)
        self._position, self._trimmed = position, ""
        if text:
            start = position - len(text)
            self.add_skipped(self._decode(start, position), start, position)
        return position, marker

    # ==================
    # Calls
    # ==================

    def _read_calls(self, position: int, marker: str) -> None:
        """Read a call, or a section of calls, from its marker on."""
        compiled = self._compiled
        if compiled.layout is not _MARKERS or marker in compiled.unmarked_openers:
            raise _UnusualError
        if not compiled.section:
            if marker != compiled.call:
                self._recoveries.append(RecoveryKind.OTHER_SYNTAX)
            self._read_call(position, marker, self._trimmed)
            return
        if marker != compiled.section:
            raise _UnusualError
        assert compiled.tool_format is not None
        closer, padding, count = compiled.section_closers[marker], compiled.tool_format.padding, len(self.calls)
        opening = self._trimmed + marker + padding
        self._position = position + len(marker)
        while self.region is not _CALL:
            position, marker = self._find(compiled.section_markers, self._position)
            if self.text[self._position : position].strip(SPACES):
                raise _UnusualError
            if marker and marker == compiled.call:
                self._read_call(position, marker, opening, padding + closer)
            elif marker and marker == closer and len(self.calls) > count:
                self._position = position + len(marker)
                return
            else:
                raise _UnusualError

    def _read_call(self, start: int, marker: str, opening: str, section_closing: str = "") -> None:
        """Read a call from its marker up to the one that closes it, or to the end of the completion.

        `opening` is the byte text before the marker that belongs to the call.
        """
        compiled, text_start = self._compiled, start + len(marker)
        closer, markers = compiled.call_ends[marker]
        text_end, closing = self._find(markers, text_start)
        if start < self._completion_start or (closing and (closing != closer or closer in markers.beginnings)):
            raise _UnusualError
        byte_text, end = self.text[text_start:text_end], text_end + len(closing)
        if closing and compiled.value and ends_in_value(byte_text, (compiled.value, compiled.value_end)):
            # The marker can be text of a value.
            raise _UnusualError
        tool_format, marker_text, raw = compiled.tool_format, compiled.marker_text, self._decode(text_start, text_end)
        assert tool_format is not None
        payload = _new(Payload, (byte_text, marker_text.mark, marker_text.decode, self._schemas, raw))
        calls = [with_tool_name(tool_format.read(payload), tool_format, self._schemas)]
        if calls[0].status is not _OK or not closing:
            if closing and tool_format.json_arguments and '"' in byte_text and OpenString([(byte_text, raw)]).examine():
                # The marker can be text of a string.
                raise _UnusualError
            broken = None if closing else _UNCLOSED
            written = _new(WrittenCall, (payload, raw, opening + marker, closing, section_closing))
            calls = ended_calls(calls[0], written, compiled, self._recoveries, broken=broken)
        else:
            calls[0].raw = raw
        self._position = end
        self.region = self.region if closing else _CALL
        self.add_calls(calls, self._recoveries, (start, text_start, text_end, end))

    def _read_bare_call(self) -> bool:
        """Read a call without markers that is all of the turn from here on. Return False if there is none."""
        compiled, position = self._compiled, self._skip_spaces()
        if position - self._position >= MOST_TRIMMED or not self.text.startswith(compiled.openings, position):
            return False
        tool_format, marker_text = compiled.tool_format, compiled.marker_text
        assert tool_format is not None
        assert tool_format.find is not None
        start, (end, stop) = self._position, self._find(compiled.stop_markers, self._position)
        payload = Payload(self.text[start:end], marker_text.mark, marker_text.decode, self._schemas)
        listed = tool_format.find(payload)
        if listed is None:
            return False
        if start < self._completion_start or len(listed.spans) > 1 or listed.broken or listed.recoveries:
            raise _UnusualError
        [(first, last)] = listed.spans
        raw = self._decode(start + first, start + last)
        call_payload = _new(Payload, (payload.byte_text[first:last], payload.mark, payload.decode, self._schemas, raw))
        call = with_tool_name(
            listed.calls[0] if listed.calls else tool_format.read(call_payload), tool_format, self._schemas
        )
        if call.status is not _OK or (payload.byte_text[:first] + payload.byte_text[last:]).strip(SPACES):
            raise _UnusualError
        call.raw = raw
        self.add_calls([call], [], (start + first, start + first, start + last, start + last))
        self._end_at(end, stop)
        return True

    # ==================
    # Text and tokens
    # ==================

    def _find(self, markers: MarkerSet, start: int) -> tuple[int, str]:
        """Return the first marker of a set from `start` on and its position, or the end of the text."""
        text, (_, tokens, texts, _) = self.text, markers
        if texts:
            if self._buffer is None:
                self._buffer = InputBuffer(_new(Pieces, (text, self._starts, self._marks)))
            return self._buffer.find(markers, start) or (len(text), "")
        position = find_mark(text, self._marks, tokens, start, 0)
        return (position, text[position]) if position >= 0 else (len(text), "")

    def _read_field(self, end: int, region: Region, lead: str, left: str, edges: Edges) -> str:
        """Read a field up to a position. Return its text without padding."""
        text, start = self.text, self._position
        if text.startswith(lead, start, end):
            start += len(lead)
        elif end - start < len(lead) and lead.startswith(text[start:end]):
            start = end
        if left:
            start = end - len(text[start:end].lstrip(left))
        text_end = edges.end_in(text, start, end)
        self._leading, self._trimmed, self._position = text[self._position : start], text[text_end:end], end
        if text_end <= start:
            return ""
        decoded = self._decode(start, text_end)
        if start < self._completion_start or not decoded:
            raise _UnusualError
        self.add_field(region, start, text_end)
        return decoded

    def _decode(self, start: int, end: int) -> str:
        """Return the text between two positions."""
        byte_text = self.text[start:end]
        if len(byte_text) > _SHORT_TEXT:
            if byte_text.isascii():
                return byte_text
            marks = self._marks
            first, last = bisect_left(marks, start), bisect_left(marks, end)
            if first == last:
                return from_byte_text(byte_text)
            if 2 * (last - first) > len(byte_text):
                # Most of it is markers: replacing one after the other takes longer than all of a kind at once.
                return self._compiled.marker_text.decode(byte_text)
            return self._compiled.marker_text.decode_at(self.text, start, end, marks[first:last])
        return self._compiled.marker_text.decode(byte_text)
