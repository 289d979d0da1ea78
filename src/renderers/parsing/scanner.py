"""Scan turns with markers around their reasoning and their calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from renderers.core.completions import ContentDelta, ParseEvent, ReasoningDelta, RecoveryKind, ToolCallParseStatus
from renderers.core.lazy import lazy_pattern
from renderers.parsing.base_scanner import Scanner
from renderers.parsing.buffer import MarkerSet
from renderers.parsing.compiled import TEXT_IN_SECTION, CompiledGrammar
from renderers.parsing.emitter import Field
from renderers.parsing.grammar import MOST_TRIMMED, NO_EDGES, Edges
from renderers.parsing.pieces import NO_PIECES, Pieces
from renderers.parsing.tool_formats.base import Payload
from renderers.parsing.tool_formats.tags import TAG_TEXT

_new = tuple.__new__
"""Creates a named tuple in half the time of its constructor."""
LONGEST_TAG = 256
"""The number of bytes in which the name of a call without markers is searched for."""
_FOLLOWING, _AFTER_VALUE = lazy_pattern(r"[ \t\n\r]*+[^ \t\n\r]"), ",:}]"
"""The next character, and those that can follow a value in quotes."""


def _has_text(piece: str) -> bool:
    return bool(piece.strip(" \t\n\r"))


class MarkerScanner(Scanner):
    """Scan a turn with markers around its reasoning and its calls."""

    _reasoning_closes = False
    """True if the marker that closes the reasoning is known to follow, so that no call can end it."""
    _answers_later = False
    """True if reasoning follows content, so that the content after it is not the beginning of the answer."""
    _padding = ""
    """The byte text that was trimmed from the end of the content, and that is content if more content follows."""
    _in_response = False
    """True if a marker opened the content, so that its closing marker is a marker even if it is not a token."""
    # Set by `begin_call`.
    closing: tuple[str, MarkerSet]
    """The marker that closes the call, and the markers to search for in it."""

    def __init__(self, compiled: CompiledGrammar, tools: Sequence[Any] | None, *, prefill: Pieces = NO_PIECES) -> None:
        super().__init__(compiled, tools, prefill=prefill)
        self.finds_unmarked_calls = bool(compiled.unmarked_openers and self.calls.schemas.names)

    def in_start(self, final: bool) -> bool:
        """Read whitespace, a header, and the marker that opens reasoning, if the turn begins with these."""
        buffer, compiled = self.buffer, self.compiled
        byte_text, position = buffer.byte_text, buffer.skip_spaces(MOST_TRIMMED)
        # More whitespace than this is text, whatever follows.
        if position - buffer.position < MOST_TRIMMED:
            for marker in compiled.starts:
                if byte_text.startswith(marker, position):
                    self.emitter.read_markers_to(position + len(marker))
                    if marker == compiled.think:
                        self.opened_reasoning = True
                        self.begin(self._in_reasoning, compiled.fields.reasoning)
                    elif marker == compiled.think_end:
                        # The prompt opened the reasoning, and it is empty.
                        self.opened_reasoning = True
                        self._begin_answer()
                    elif marker == compiled.response:
                        self._begin_response()
                    return True
            if byte_text.startswith(compiled.openings, position):
                self.begin_bare_calls(compiled.fields.first)
                return True
            if not final:
                rest = byte_text[position:]
                if not rest or any(text.startswith(rest) for text in (*compiled.starts, *compiled.openings)):
                    return False
        if buffer.position == len(byte_text):
            return False
        self.begin_content(compiled.fields.first)
        return True

    def in_answer_start(self, final: bool) -> bool:
        """Read whitespace after reasoning, and the marker that opens content or the beginning of bare calls."""
        buffer, compiled = self.buffer, self.compiled
        byte_text, position = buffer.byte_text, buffer.skip_spaces(MOST_TRIMMED)
        if position - buffer.position < MOST_TRIMMED:
            if compiled.response and byte_text.startswith(compiled.response, position):
                self.emitter.read_markers_to(position + len(compiled.response))
                self._begin_response()
                return True
            if byte_text.startswith(compiled.openings, position):
                self.begin_bare_calls(self._answer)
                return True
            rest = byte_text[position:]
            if not final and any(text.startswith(rest) for text in compiled.answer_starts):
                return False
        self.begin_content(self._answer)
        return True

    @property
    def _answer(self) -> Field:
        """The field of content after reasoning."""
        fields = self.compiled.fields
        return fields.answer if self.emitter.has_reasoning else fields.answer_after_empty

    def begin_bare_calls(self, content: Field) -> None:
        """Begin calls without markers. If these turn out not to be calls, they are content of a field."""
        raise NotImplementedError

    def _in_reasoning(self, final: bool) -> bool:
        buffer, emitter, compiled = self.buffer, self.emitter, self.compiled
        edges = compiled.reasoning.edges
        markers = compiled.reasoning_markers if self._reasoning_closes else compiled.open_reasoning_markers
        position, marker = self.next_marker(markers, final)
        if not marker:
            return False
        if marker == compiled.think_end:
            emitter.emit_text_to(position, closed=edges, marker=marker)
            self._begin_answer()
        elif marker == compiled.think:
            # A second opening marker is not text of the reasoning.
            emitter.emit_text_to(position, closed=None, flush=True, marker=marker)
        elif marker in compiled.call_openers:
            deciding = buffer.find(compiled.reasoning_end_markers, position + len(marker))
            if deciding is None and not final:
                emitter.emit_text_to(position, closed=None)
                buffer.defer(compiled.reasoning_end_markers)
                return False
            if deciding is not None and deciding[1] == compiled.think_end:
                self._reasoning_closes = True
            else:
                emitter.emit_text_to(position, closed=edges)
                self.calls.recoveries.append(RecoveryKind.CALL_IN_REASONING)
                self.begin_content(compiled.fields.content)
        else:
            self.stop_at(marker, position)
        return True

    def _in_content(self, final: bool) -> bool:
        compiled, grammar = self.compiled, self.compiled.grammar
        if self._in_response:
            markers = compiled.response_markers
        else:
            markers = compiled.unmarked_markers if self.finds_unmarked_calls else compiled.content_markers
        position, marker = self.next_marker(markers, final, grammar.content)
        if not marker:
            return False
        if marker in compiled.unmarked_openers:
            return self.begin_unmarked_call(position, marker, final)
        if marker == compiled.think:
            self._begin_later_reasoning(position, marker)
            return True
        if marker not in compiled.call_openers:
            if marker in (compiled.response, compiled.response_end, compiled.turn_end):
                self._end_content(position, grammar.content, marker)
                if marker == compiled.response:
                    self._begin_response()
                else:
                    self._in_response = False
                    self.begin_later_content(compiled.fields.after_response)
            else:
                self.stop_at(marker, position, grammar.content)
            return True
        self._end_content(position, grammar.content_before_calls)
        if marker in compiled.section_closers:
            self.calls.begin_section(position, marker, compiled.section_closers[marker])
            if marker != compiled.section:
                self.calls.recoveries.append(RecoveryKind.OTHER_SYNTAX)
            self.emitter.read_markers_to(position + len(marker))
            self._begin_section()
        else:
            if compiled.section:
                self.calls.recoveries.append(RecoveryKind.MISSING_OPENING_MARKER)
            self.begin_call(position, marker)
        return True

    def _in_section(self, final: bool) -> bool:
        compiled, calls = self.compiled, self.calls
        position, marker = self.next_marker(compiled.section_markers, final)
        if not marker:
            if final:
                calls.end_section(position, closed=False)
            return False
        self.emitter.emit_text_to(position, closed=NO_EDGES)
        if marker == compiled.call:
            self.begin_call(position, marker)
        elif marker in compiled.section_ends:
            if not calls.closes_section(marker):
                self.emitter.emit_recovery(RecoveryKind.OTHER_SYNTAX)
            calls.end_section(position + len(marker), closed=True)
            self.emitter.read_markers_to(position + len(marker))
            self.begin_later_content(compiled.fields.after_calls)
        else:
            if calls.has_calls_in_section:
                self.emitter.emit_recovery(RecoveryKind.MISSING_CLOSING_MARKER)
            calls.end_section(position, closed=False)
            self.stop_at(marker, position)
        return True

    def in_call(self, final: bool) -> bool:
        """Read a call up to the marker that ends it."""
        compiled, calls = self.compiled, self.calls
        closer, markers = self.closing
        position, marker = self.next_marker(markers, final)
        if not marker:
            if final:
                calls.end(position, broken=ToolCallParseStatus.UNCLOSED_BLOCK)
            return False
        if marker == compiled.quote:
            self.emitter.emit_text_to(position + len(marker), closed=None, flush=True)
            self.current = self._in_quoted
            return True
        self.emitter.emit_text_to(position, closed=NO_EDGES)
        if calls.is_in_value and marker not in compiled.marker_text.stops:
            is_text = self._is_value_closed(position + len(marker), final)
            if is_text is None:
                return False
            if is_text:
                self.current = self._in_value
                return True
        if marker == closer and compiled.unmarked and compiled.unmarked != compiled.call and self._is_unmarked:
            calls.include(marker)
        has_ended = marker == closer and calls.end_unless_in_string(position + len(marker))
        if not has_ended and marker not in compiled.marker_text.stops and calls.is_in_string:
            string_end = self.find_string_end(position + len(marker), final)
            if string_end is None:
                return False
            if string_end:
                self.read_string_to(string_end)
                return True
        if marker == closer:
            if not has_ended:
                calls.end(position + len(marker))
            self._begin_after_call()
        elif marker in compiled.section_ends or (closer and marker in compiled.call_ends):
            calls.end(position, broken=ToolCallParseStatus.MALFORMED_STRUCTURE)
            # The marker belongs to the section: it ends it, or begins another call.
            self._begin_section()
        elif closer:
            calls.end(position, broken=ToolCallParseStatus.UNCLOSED_BLOCK, stopped=True)
            self.stop_at(marker, position)
        else:
            # The next call or the stop token ends the call.
            calls.end(position)
            self.begin_later_content(compiled.fields.after_calls)
        return True

    def _begin_after_call(self) -> None:
        """Begin the text after a call that its marker closed."""
        if self.calls.section:
            self._begin_section()
        elif self._is_unmarked:
            self.begin(self._after_unmarked_call, self.compiled.fields.after_unmarked_call)
        else:
            self.begin_later_content(self.compiled.fields.after_calls)

    @property
    def _is_unmarked(self) -> bool:
        """True if the call has no opening marker, or no section around it."""
        return self.closing is self.compiled.call_ends.get(self.compiled.unmarked)

    def _is_value_closed(self, start: int, final: bool) -> bool | None:
        """Return True if the value around a marker of calls before `start` is closed. None if more text decides."""
        buffer, compiled = self.buffer, self.compiled
        deciding = buffer.find(compiled.value_markers, start)
        if deciding is None:
            if not final:
                buffer.defer(compiled.value_markers)
            return False if final else None
        position, marker = deciding
        if marker != compiled.value_end or compiled.value != compiled.value_end:
            return marker == compiled.value_end
        following = _FOLLOWING.match(buffer.byte_text, position + len(marker))
        if following is not None or final:
            return following is not None and following[0][-1] in _AFTER_VALUE
        buffer.defer_until(_has_text)
        return None

    def begin_unmarked_call(self, position: int, tag: str, final: bool) -> bool:
        """Begin a call without markers, if its first tag names a tool of the prompt. Otherwise the tag is content."""
        buffer, marker_text, tool_format = self.buffer, self.compiled.marker_text, self.compiled.tool_format
        assert tool_format is not None
        # Without a section, the tag is the marker of a call.
        prefix = "" if tag == self.compiled.call else tag
        start = position + len(tag) - len(prefix)
        text = buffer.byte_text[start : start + LONGEST_TAG]
        head = tool_format.read_head(Payload(text, marker_text.mark, marker_text.decode, self.calls.schemas))
        if head.name is None and not final and len(text) < LONGEST_TAG and TAG_TEXT.fullmatch(text, len(prefix)):
            self.emitter.emit_text_to(position, closed=None)
            return False
        if head.name not in self.calls.schemas:
            self.emitter.emit_text_to(position + len(tag), closed=None, flush=True)
            return True
        self._end_content(position, self.compiled.grammar.content_before_calls)
        self.closing = self.compiled.call_ends[tag]
        self.calls.recoveries.append(RecoveryKind.MISSING_OPENING_MARKER)
        self.calls.begin(position, position + len(tag), prefix=prefix)
        self.current = self.in_call
        return True

    def _after_unmarked_call(self, final: bool) -> bool:
        """Read the closing marker of a call or a section without an opening marker, if there is one."""
        buffer, compiled = self.buffer, self.compiled
        closers = compiled.section_ends or compiled.call_closers
        position = buffer.skip_spaces(MOST_TRIMMED)
        for closer in closers:
            if buffer.byte_text.startswith(closer, position):
                self.emitter.read_markers_to(position + len(closer))
                self.begin_later_content(compiled.fields.after_calls)
                return True
        rest = buffer.byte_text[position:]
        if not final and len(rest) < MOST_TRIMMED and any(closer.startswith(rest) for closer in closers):
            return False
        self.begin_later_content(compiled.fields.after_calls)
        return True

    def _in_quoted(self, final: bool) -> bool:
        """Read a value of a call within quotes."""
        return self._read_value(self.compiled.quoted_markers, self.compiled.quote_end, final)

    def _in_value(self, final: bool) -> bool:
        """Read the rest of a value that contains a marker of calls."""
        return self._read_value(self.compiled.in_value_markers, self.compiled.value_end, final)

    def _read_value(self, markers: MarkerSet, closer: str, final: bool) -> bool:
        """Read a value of a call up to the markup that closes it."""
        position, marker = self.next_marker(markers, final)
        if not marker:
            if final:
                self.calls.end(position, broken=ToolCallParseStatus.UNCLOSED_BLOCK)
            return False
        if marker == closer:
            self.emitter.emit_text_to(position + len(marker), closed=None, flush=True)
            self.current = self.in_call
        else:
            self.emitter.emit_text_to(position, closed=NO_EDGES)
            self.calls.end(position, broken=ToolCallParseStatus.UNCLOSED_BLOCK)
            self.stop_at(marker, position)
        return True

    def begin_content(self, field: Field) -> None:
        self.begin(self._in_content, field)

    def _end_content(self, position: int, edges: Edges, marker: str = "") -> None:
        """End content at a marker after which more content can follow."""
        self.emitter.emit_text_to(position, closed=edges, marker=marker)
        self._padding += self.emitter.trimmed if self.emitter.has_content else ""

    def begin_later_content(self, field: Field) -> None:
        """Begin the text after calls or after a marker. The whitespace between it and earlier content is kept."""
        if self.emitter.has_content and field.make_event is ContentDelta:
            field = _new(Field, (self._make_later_content, *field[1:]))
        self.current = self._in_content
        self.emitter.enter_field(field)

    def _make_later_content(self, text: str, start: int, end: int) -> ParseEvent:
        emitter = self.emitter
        if self._padding or emitter.leading:
            text = self.compiled.marker_text.decode(self._padding + emitter.leading) + text
            self._padding = emitter.leading = ""
        return _new(ContentDelta, (text, start, end))

    def _begin_later_reasoning(self, position: int, marker: str) -> None:
        """Begin reasoning after content. A line break separates it from earlier reasoning."""
        self.emitter.emit_text_to(position, closed=NO_EDGES, marker=marker)
        self.opened_reasoning, self._reasoning_closes, self._answers_later = True, False, True
        separator = ["\n"] if self.emitter.has_reasoning else []

        def make_event(text: str, start: int, end: int) -> ParseEvent:
            return ReasoningDelta(separator.pop() + text if separator else text, start, end)

        self.begin(self._in_reasoning, self.compiled.fields.reasoning._replace(make_event=make_event))

    def _begin_answer(self) -> None:
        """Begin the content after reasoning."""
        compiled = self.compiled
        if self._answers_later:
            self.begin_content(compiled.fields.content)
        elif compiled.answer_starts:
            self.begin(self.in_answer_start, compiled.fields.answer_start)
        else:
            self.begin_content(self._answer)

    def _begin_response(self) -> None:
        """Begin content after the marker that opens it."""
        self._in_response = True
        self.begin_content(self.compiled.fields.in_response)

    def _begin_section(self) -> None:
        make_event, region, lead, left, ends, _, plain = TEXT_IN_SECTION
        captured = self.calls.section_text
        self.begin(self._in_section, _new(Field, (make_event, region, lead, left, ends, captured, plain)))

    def begin_call(self, position: int, marker: str) -> None:
        """Begin a call, or several, after the marker that opens them."""
        self.open_call(marker)
        end = position + len(marker)
        if self.calls.read_whole(position, end, self.closing):
            self._begin_after_call()
            return
        self.calls.begin(position, end)
        self.current = self.in_call

    def open_call(self, marker: str) -> None:
        """Set the marker that closes the call, by the marker that opens it."""
        self.closing = self.compiled.call_ends[marker]
        if marker != self.compiled.call:
            self.calls.recoveries.append(RecoveryKind.OTHER_SYNTAX)
