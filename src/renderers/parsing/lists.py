"""Scan turns with several calls between two markers, or with calls without markers.

A JSON list between two markers is read call by call. The tokens of all others are deferred until they are complete:
only then it is known where each call ends, and whether a text without markers is a call at all.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Any

from renderers.core.completions import RecoveryKind, ToolCallParseStatus
from renderers.core.lazy import lazy_pattern
from renderers.parsing.buffer import MarkerSet
from renderers.parsing.call_progress import ArgumentsEnd, ObjectCursor
from renderers.parsing.compiled import TEXT_IN_SECTION, CompiledGrammar
from renderers.parsing.emitter import Field
from renderers.parsing.grammar import NO_EDGES, SPACES
from renderers.parsing.lenient_json import JsonError, read_json, read_json_prefix
from renderers.parsing.list_ends import end_of_list
from renderers.parsing.pieces import MARKER_CHARACTERS, NO_PIECES, Pieces
from renderers.parsing.scanner import LONGEST_TAG, MarkerScanner
from renderers.parsing.tool_formats import FoundCalls, Payload
from renderers.parsing.tool_formats.base import Finder
from renderers.parsing.tool_formats.json_calls import has_arguments, name_of
from renderers.tokenizer.encoding.byte_text import UNKNOWN

_BETWEEN_CALLS = rf"```(?:json)?|[{re.escape(SPACES + '[],;')}]"
"""The punctuation of a list, and the code fences around it."""

_BEFORE_LIST = lazy_pattern(rf"(?:```(?:json)?|[{re.escape(SPACES)}])*+[\[{{]")
"""The text after the marker of calls, up to the beginning of a list or of a single object."""
_S = r"[ \t\r\n]*"
_LIST_START = rf"(?:\[{_S})?"
# Neither a name nor a key contains markers.
_TEXT = rf'(?:[^"\\\n{MARKER_CHARACTERS.pattern[1:-1]}]|\\["\\/bfnrtu])*'
_CALL_START = lazy_pattern(rf'(?:```(?:json)?{_S})?{_LIST_START}\{{{_S}("{_TEXT}"){_S}:{_S}("{_TEXT}")')
"""The beginning of calls within content: the key and the name of the first one."""
_PARTIAL_START = lazy_pattern(
    rf'`{{1,2}}|(?:```(?:j|js|jso|json)?{_S})?{_LIST_START}(?:\{{{_S}(?:"{_TEXT}(?:"{_S}(?::{_S}(?:"{_TEXT}\\?)?)?)?)?)?'
)
"""A text that more text can make such a beginning."""
_NEXT_CALL = lazy_pattern(r"[ \t\r\n,;]*(?=\{)")
_ENDS = ("[", lazy_pattern(r"[ \t\r\n,]*\]")), ("```", lazy_pattern(r"[ \t\r\n]*```"))
"""The texts around calls within content."""


@functools.lru_cache(maxsize=64)
def _padding_of(markers: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern for text beside calls that is not text: markers and the punctuation of a list."""
    return re.compile(f"(?:{'|'.join([*map(re.escape, markers), _BETWEEN_CALLS])})*")


class ListScanner(MarkerScanner):
    """Scan a turn in which the text between two markers can hold several calls, or calls can have no markers."""

    _content: Field
    """The field of a text without markers, if it turns out not to be calls."""
    # Set by `begin_call`.
    _list_markers: MarkerSet
    """The markers to search for between the calls of a JSON list."""
    _head_markers: MarkerSet
    """The markers that decide between a list and a call with a name."""
    _list_recoveries: tuple[RecoveryKind, ...] = ()
    """The differences of all calls of a list from the format."""
    _begins_with_bracket = False
    """True if a JSON list has its opening bracket."""
    _object: ObjectCursor | None = None
    """The object of a call in a JSON list. None if it has ended."""
    _reads_after_markers = True
    """True if calls that are not JSON can follow a marker within content."""
    _arguments_end: ArgumentsEnd
    """The end of a call with a name before its arguments."""

    def __init__(self, compiled: CompiledGrammar, tools: Sequence[Any] | None, *, prefill: Pieces = NO_PIECES) -> None:
        super().__init__(compiled, tools, prefill=prefill)
        self._match_padding = _padding_of(compiled.markers).match

    def begin_call(self, position: int, marker: str) -> None:
        """Begin a list of calls after the marker that opens it, or a call with a name if the format has these."""
        self.open_call(marker)
        if self.compiled.names_calls:
            self._list_markers = self.compiled.list_markers[marker]
            self._head_markers = self.compiled.head_markers[marker]
            self.calls.begin(position, position + len(marker))
            self.current = self._in_call_or_list
            return
        self.calls.begin_section(position, marker, self.closing[0])
        self.emitter.read_markers_to(position + len(marker))
        self._list_markers = self.compiled.list_markers[marker]
        self.begin(self._in_json_list if self.compiled.has_json_list else self._in_list, TEXT_IN_SECTION)

    def _in_call_or_list(self, final: bool) -> bool:
        """Read on after the marker of calls. The text up to the first brace decides between a list and a name."""
        buffer = self.buffer
        match = buffer.find(self._head_markers)
        if match is None and not final:
            buffer.defer(self._head_markers)
            return False
        end, marker = match or (len(buffer.byte_text), "")
        before = buffer.byte_text[buffer.position : end].replace(UNKNOWN, "").rstrip(SPACES)
        begins_list = _BEFORE_LIST.match(before + marker if marker == "{" else before) is not None
        if begins_list or (marker == "{" and before.endswith("[")):
            self.calls.begin_list()
            self.begin(self._in_json_list, TEXT_IN_SECTION)
        else:
            marker_text, tool_format = self.compiled.marker_text, self.compiled.tool_format
            assert tool_format is not None
            mark, decode = marker_text.mark, marker_text.decode
            self._arguments_end = ArgumentsEnd(buffer, tool_format, mark=mark, decode=decode)
            self.current = self._in_named_call
        return True

    def _in_named_call(self, final: bool) -> bool:
        """Read a call with a name before its arguments, which end it. Without these, it ends as any other call."""
        buffer, markers = self.buffer, self.closing[1]
        match = buffer.find(markers)
        limit = match[0] if match else len(buffer.byte_text)
        if match is None and not final:
            limit -= markers.partial_suffix_length(buffer.byte_text, buffer.position)
        unknown = buffer.byte_text.find(UNKNOWN, buffer.position, limit)
        end = self._arguments_end.find(unknown if unknown >= 0 else limit)
        if end is not None:
            self.emitter.emit_text_to(end, closed=NO_EDGES)
            self.calls.end(end)
            self.begin_later_content(self.compiled.fields.after_calls)
            return True
        if unknown >= 0:
            self.skip_unknown_token(unknown)
            return True
        return self.in_call(final)

    def read_string_to(self, end: int) -> None:
        """Read text of a call up to the end of a string with markers in it."""
        if self.current == self._in_named_call:
            self._arguments_end.find(end)
        super().read_string_to(end)

    def begin_bare_calls(self, content: Field) -> None:
        self._content = content
        self.current = self._in_bare_calls

    def _find_end(self, final: bool) -> tuple[int, str] | None:
        """Return the place and the marker that end a list, the end of the input if it is final. None if unknown."""
        buffer, markers = self.buffer, self.closing[1]
        match = buffer.find(markers)
        if match is None and not final:
            buffer.defer(markers)
            return None
        return match or (len(buffer.byte_text), "")

    def _in_list(self, final: bool) -> bool:
        """Read all calls between two markers."""
        closing = self._find_end(final)
        if closing is None:
            return False
        buffer, (end, marker), compiled = self.buffer, closing, self.compiled
        listed = self._find(buffer.position, end)
        find_strictly = compiled.tool_format.find_strictly if compiled.tool_format else None
        is_broken = listed is None or listed.broken
        if is_broken and find_strictly and marker and marker not in compiled.marker_text.stops:
            list_end = end_of_list(
                buffer.byte_text,
                buffer.position,
                end,
                markers=self.closing[1].markers,
                stops=compiled.marker_text.stops,
                find=functools.partial(self._find, find=find_strictly),
                final=final,
            )
            if list_end is True:
                # Waiting for as much text again keeps the time linear.
                buffer.defer(compiled.stop_markers, limit=len(buffer.byte_text) - buffer.position)
                return False
            end, marker, listed = list_end or (end, marker, listed)
        if listed is None:
            return self._end_list_without_calls(end, marker)
        self._read_calls(listed, end, cut_off=None if self._closes(marker) else ToolCallParseStatus.UNCLOSED_BLOCK)
        return self._end_list(end, marker, broken=listed.broken)

    def _in_json_list(self, final: bool) -> bool:
        """Read the text between the calls of a JSON list, up to the next call or the end of the list."""
        buffer, calls = self.buffer, self.calls
        match = buffer.find(self._list_markers)
        if match is None and not final:
            buffer.defer(self._list_markers)
            return False
        end, marker = match or (len(buffer.byte_text), "")
        if marker != "{":
            if not calls.has_calls_in_section:
                return self._end_list_without_calls(end, marker)
            is_open = self._begins_with_bracket and "]" not in buffer.byte_text[buffer.position : end]
            self._skip_to(end)
            return self._end_list(end, marker, broken=False, complete=not is_open)
        before = buffer.byte_text[buffer.position : end].replace(UNKNOWN, "")
        if not calls.has_calls_in_section:
            self._begins_with_bracket = "[" in before
            is_own = self.compiled.list_opening == ("[" if self._begins_with_bracket else "")
            self._list_recoveries = () if is_own else (RecoveryKind.OTHER_SYNTAX,)
        elif self._ends_list(before):
            self.current = self._after_list
            return True
        self._skip_to(end)
        self._begin_list_call(end, before=before if not calls.has_calls_in_section else "", beside=before)
        self._object = ObjectCursor(buffer)
        self.current = self._in_list_call
        return True

    def _ends_list(self, before: str) -> bool:
        """Return True if text after a call, up to a brace, shows that the brace does not begin another call."""
        padding = self._match_padding(before)
        assert padding is not None
        # A single object has no bracket after it.
        is_single = self.compiled.list_opening == "" and not self._list_recoveries
        return padding.end() < len(before) and (is_single or "]" in padding[0])

    def _after_list(self, final: bool) -> bool:
        """Skip the text after a list, up to the marker that ends it."""
        closing = self._find_end(final)
        if closing is None:
            return False
        end, marker = closing
        self._skip_to(end)
        return self._end_list(end, marker, broken=False)

    def _in_list_call(self, final: bool) -> bool:
        """Read a call of a JSON list. An object that is not JSON goes on to the end of the list."""
        buffer, calls, markers = self.buffer, self.calls, self.closing[1]
        match = buffer.find(markers)
        limit = match[0] if match else len(buffer.byte_text)
        if match is None and not final:
            limit -= markers.partial_suffix_length(buffer.byte_text, buffer.position)
        unknown = buffer.byte_text.find(UNKNOWN, buffer.position, limit)
        end = self._object.find(unknown if unknown >= 0 else limit) if self._object else None
        if end is not None:
            self._object = None
            if calls.is_json(buffer.byte_text[buffer.position : end]):
                self.emitter.emit_text_to(end, closed=NO_EDGES)
                calls.end(end)
                self.begin(self._in_json_list, TEXT_IN_SECTION)
            return True
        if unknown >= 0:
            self.skip_unknown_token(unknown)
            return True
        if match is None and not final:
            self.emitter.emit_text_to(limit, closed=None)
            return False
        marker = match[1] if match else ""
        self.emitter.emit_text_to(limit, closed=NO_EDGES)
        if marker and marker not in self.compiled.marker_text.stops and self._object and calls.is_in_string:
            string_end = self.find_string_end(limit + len(marker), final)
            if string_end is None:
                return False
            if string_end:
                self._object.find(string_end)
                self.read_string_to(string_end)
                return True
        calls.end(limit, broken=None if self._closes(marker) else ToolCallParseStatus.UNCLOSED_BLOCK)
        return self._end_list(limit, marker, broken=True)

    def _closes(self, marker: str) -> bool:
        """Return True if a marker closes the list. Without a closing marker, any other marker does."""
        return marker == self.closing[0] if self.closing[0] else bool(marker)

    def _end_list_without_calls(self, end: int, marker: str) -> bool:
        """End a list without a call. Its text is a call that failed."""
        listed = FoundCalls([(0, end - self.buffer.position)], broken=True)
        self._read_calls(listed, end, cut_off=None if self._closes(marker) else ToolCallParseStatus.UNCLOSED_BLOCK)
        return self._end_list(end, marker, broken=True)

    def _end_list(self, end: int, marker: str, *, broken: bool, complete: bool = True) -> bool:
        """End a list at a marker, or at the end of the completion. `broken` is True if its last call is broken.

        `complete` is False if its closing bracket is missing.
        """
        if broken and not marker:
            return False
        closer, closed = self.closing[0], self._closes(marker)
        if not complete or (closer and not closed and not broken):
            self.emitter.emit_recovery(RecoveryKind.MISSING_CLOSING_MARKER)
        closing_end = end + len(closer) if closed else end
        self.calls.end_section(closing_end, closed=closed)
        self.emitter.read_markers_to(closing_end)
        if marker or not closer:
            self.begin_later_content(self.compiled.fields.after_calls)
        return bool(marker)

    def _in_bare_calls(self, final: bool) -> bool:
        """Read calls without markers, which are all of the turn from here on."""
        buffer, compiled = self.buffer, self.compiled
        stop = buffer.find(compiled.stop_markers)
        if stop is None and not final:
            buffer.defer(compiled.stop_markers)
            return False
        end = stop[0] if stop else len(buffer.byte_text)
        listed = self._find(buffer.position, end)
        if listed is None:
            self.begin_content(self._content)
            return True
        self._read_calls(listed, end, cut_off=None if stop else ToolCallParseStatus.UNCLOSED_BLOCK)
        if listed.broken and not stop:
            return False
        self.begin_later_content(compiled.fields.after_calls)
        return True

    def begin_unmarked_call(self, position: int, tag: str, final: bool) -> bool:
        """Read calls within content, if the first one names a tool of the prompt. Otherwise `tag` is content.

        The text from the name on is deferred until the end of the turn.
        """
        buffer, compiled = self.buffer, self.compiled
        text = buffer.byte_text[position : position + LONGEST_TAG]
        # A marker before the call is not text.
        call = text.removeprefix(tag).lstrip(SPACES) if tag in compiled.inner else text
        if tag in compiled.inner and call and call[0] not in "{[`" and self._reads_after_markers:
            return self._begin_calls_after_marker(position, final)
        if final and buffer.find(compiled.in_unmarked_calls, position) is None:
            # No call can follow.
            self.finds_unmarked_calls = False
            return True
        start = _CALL_START.match(call)
        if start is None and not final and len(text) < LONGEST_TAG and _PARTIAL_START.fullmatch(call):
            self.emitter.emit_text_to(position, closed=None)
            return False
        if start is None or start[1] not in compiled.name_keys or not self._is_tool(start[2]):
            self.emitter.emit_text_to(position + len(tag), closed=None, flush=True)
            return True
        stop = buffer.find(compiled.stop_markers)
        if stop is None and not final:
            self.emitter.emit_text_to(position, closed=None)
            buffer.defer(compiled.stop_markers)
            return False
        listed, end = self._find_within(position, stop[0] if stop else len(buffer.byte_text))
        if not listed.spans:
            # Looking for more calls in text like this could take quadratic time.
            self.finds_unmarked_calls = False
            return True
        self.emitter.emit_text_to(position, closed=compiled.grammar.content_before_calls)
        self._read_calls(listed, end, cut_off=None)
        self.begin_content(compiled.fields.content)
        return True

    def _begin_calls_after_marker(self, position: int, final: bool) -> bool:
        """Read calls after a marker within content, if these are all of the turn from there on."""
        buffer, compiled = self.buffer, self.compiled
        stop = buffer.find(compiled.stop_markers)
        if stop is None and not final:
            self.emitter.emit_text_to(position, closed=None)
            buffer.defer(compiled.stop_markers)
            return False
        end = stop[0] if stop else len(buffer.byte_text)
        listed = self._find(position, end)
        if listed is None:
            # Looking for calls after more markers could take quadratic time.
            self._reads_after_markers = False
            return True
        self.emitter.emit_text_to(position, closed=compiled.grammar.content_before_calls)
        self._read_calls(listed, end, cut_off=None if stop else ToolCallParseStatus.UNCLOSED_BLOCK)
        if listed.broken and not stop:
            return False
        self.begin_later_content(compiled.fields.after_calls)
        return True

    def _is_tool(self, quoted: str) -> bool:
        """Return True if a JSON string is the name of a tool of the prompt."""
        try:
            name = read_json(self.compiled.marker_text.decode(quoted))
        except JsonError:
            return False
        return self.calls.schemas.resolve(name) in self.calls.schemas

    def _find_within(self, position: int, end: int) -> tuple[FoundCalls, int]:
        """Find the calls of tools of the prompt from a position on. Return them, and the position after all of them."""
        text = self.buffer.byte_text[position:end].replace(UNKNOWN, " ")
        decode, tool_format = self.compiled.marker_text.decode, self.compiled.tool_format
        assert tool_format is not None
        assert tool_format.keys is not None
        spans: list[tuple[int, int]] = []
        next_start, after = text.index("{"), 0
        opening = text[:next_start]
        while next_start >= 0:
            try:
                _, call_end = read_json_prefix(text, next_start)
                value = read_json(decode(text[next_start:call_end]))
            except JsonError:
                break
            name = name_of(value, tool_format.keys) if has_arguments(value, tool_format.keys) else None
            if name is None or self.calls.schemas.resolve(name) not in self.calls.schemas:
                break
            spans.append((next_start, call_end))
            following, after = _NEXT_CALL.match(text, call_end), call_end
            next_start = following.end() if following else -1
        for opener, closing in _ENDS:
            closed = closing.match(text, after) if opener in opening else None
            after = closed.end() if closed else after
        return FoundCalls(spans, recoveries=(RecoveryKind.CALL_IN_CONTENT,)), position + after

    def _find(self, start: int, end: int, *, find: Finder | None = None) -> FoundCalls | None:
        """Find the calls between two positions, with a function of the format, or else with that for all texts."""
        tool_format, marker_text = self.compiled.tool_format, self.compiled.marker_text
        assert tool_format is not None
        find = find or tool_format.find
        assert find is not None
        # An id that is not a token can be anywhere, and is not part of the text.
        text = self.buffer.byte_text[start:end].replace(UNKNOWN, " ")
        return find(Payload(text, marker_text.mark, marker_text.decode, self.calls.schemas))

    def _read_calls(self, listed: FoundCalls, end: int, *, cut_off: ToolCallParseStatus | None) -> None:
        """Read the calls that were found, and the text between them up to `end`.

        `cut_off` is the status of a last call that is broken. None keeps the status of its own.
        """
        buffer, calls = self.buffer, self.calls
        start = buffer.position
        self._list_recoveries = listed.recoveries
        for number, (first, last) in enumerate(listed.spans, 1):
            before = buffer.byte_text[buffer.position : start + first].replace(UNKNOWN, "")
            self._skip_to(start + first)
            self._begin_list_call(start + first, before=before if number == 1 else "", beside=before)
            # An id that is not a token was whitespace in the text in which the calls were found.
            call = listed.calls[number - 1] if number <= len(listed.calls) else None
            while (unknown := buffer.byte_text.find(UNKNOWN, buffer.position, start + last)) >= 0:
                self.skip_unknown_token(unknown)
                call = None
            self.emitter.emit_text_to(start + last, closed=NO_EDGES)
            broken = listed.broken and number == len(listed.spans)
            calls.end(start + last, broken=cut_off if broken else None, call=call)
        if not listed.broken or cut_off is None:
            self._skip_to(end)

    def _begin_list_call(self, position: int, *, before: str, beside: str) -> None:
        """Begin a call of a list. `before` is text that belongs to it, `beside` all text since the call before it."""
        self.calls.recoveries += self._list_recoveries
        if "```" in beside:
            self.calls.recoveries.append(RecoveryKind.CODE_FENCE)
        self.calls.begin(position, position, before=before)

    def _skip_to(self, end: int) -> None:
        """Skip the text beside calls up to a position. The punctuation of a list is not text."""
        buffer = self.buffer
        while (unknown := buffer.byte_text.find(UNKNOWN, buffer.position, end)) >= 0:
            self._skip_text(unknown)
            self.skip_unknown_token(unknown)
        self._skip_text(end)

    def _skip_text(self, end: int) -> None:
        buffer = self.buffer
        padding = self._match_padding(buffer.byte_text, buffer.position, end)
        assert padding is not None
        self.emitter.read_markers_to(padding.end())
        if padding.end() < end:
            self.emitter.enter_field(TEXT_IN_SECTION)
            self.emitter.emit_text_to(end, closed=NO_EDGES)
