"""Collect the text of a tool call between its markers, parse it, and emit it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from renderers.core.completions import (
    CalledTool,
    ParsedToolCall,
    RecoveryKind,
    Region,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallParseStatus,
)
from renderers.parsing.buffer import InputBuffer, MarkerSet
from renderers.parsing.call_progress import CallProgress, OpenString, OpenValue, ends_in_value
from renderers.parsing.compiled import CompiledGrammar
from renderers.parsing.emitter import Emitter, Field
from renderers.parsing.ended_calls import WrittenCall, add_recoveries, ended_calls, ends_with_last, with_tool_name
from renderers.parsing.lenient_json import JsonError, read_json
from renderers.parsing.schema import schemas_of
from renderers.parsing.tool_formats import Payload

# Attributes of enum classes are slow in Python 3.11.
_CALL, _OK = Region.CALL, ToolCallParseStatus.OK
_new = tuple.__new__
"""Creates a named tuple in half the time of its constructor."""


class CallReader:
    """Read the tool calls of a completion, one after the other. `calls` are the calls so far."""

    # Set by `begin`.
    _first_token: int
    _opening: str
    _captured: list[tuple[str, str]]
    _value: OpenValue
    _string: OpenString | None = None
    """The strings of the call. None before a marker in the call was examined."""
    _progress: CallProgress | None = None

    def __init__(
        self, compiled: CompiledGrammar, tools: Sequence[Any] | None, buffer: InputBuffer, emitter: Emitter
    ) -> None:
        self.calls: list[CalledTool] = []
        self.schemas = schemas_of(tools)
        self._compiled = compiled
        self._buffer = buffer
        self._emitter = emitter
        self.section: tuple[int, int] | None = None
        """The first token of the open section of calls, and the number of calls before it. None outside of sections."""
        self._section_opening = self._section_closing = ""
        self.section_text: list[tuple[str, str]] = []
        """The text of the open section beside its calls, as byte text and decoded."""
        tool_format = compiled.tool_format
        self._has_strings = tool_format is not None and tool_format.json_arguments
        self.recoveries: list[RecoveryKind] = []
        """The differences of the next call from the format, as far as they are known before it is parsed."""
        self.follows = False
        """True if events have the name and the arguments of calls that are not complete, which takes time."""

    def begin_section(self, position: int, opener: str, closer: str) -> None:
        """Begin a section of calls with a marker at a position."""
        self.section = self._buffer.token_at(position), len(self.calls)
        self._section_opening, self._section_closing = self._emitter.trimmed + opener, closer
        self.section_text.clear()

    def begin_list(self) -> None:
        """Turn the call that has begun into a section of calls, before anything in it was read."""
        self.section = self._first_token, len(self.calls)
        self._section_opening, self._section_closing = self._opening, ""

    @property
    def has_calls_in_section(self) -> bool:
        """True if a section of calls is open, and a call is in it."""
        return self.section is not None and self.section[1] < len(self.calls)

    def closes_section(self, marker: str) -> bool:
        """Return True if a marker is the one that closes the open section. Without a section, any marker is."""
        return self.section is None or marker == self._section_closing

    def end_section(self, end: int, *, closed: bool) -> None:
        """End a section of calls, if one is open. A section without calls becomes a failed call."""
        has_calls = self.has_calls_in_section
        opened, self.section = self.section, None
        if opened is not None and not has_calls:
            status = ToolCallParseStatus.MALFORMED_STRUCTURE if closed else ToolCallParseStatus.UNCLOSED_BLOCK
            decode, raw = self._compiled.marker_text.decode, "".join([text for _, text in self.section_text])
            text = decode(self._section_opening) + raw + (decode(self._section_closing) if closed else "")
            self._emit(ParsedToolCall("", status=status, text=text), opened[0], end)

    def forget(self) -> None:
        """Forget the calls of the prompt: the calls of a completion are numbered from 0."""
        if self.section:
            self.section = self.section[0], self.section[1] - len(self.calls)
        self.calls.clear()
        self.recoveries.clear()

    def begin(self, start: int, end: int, *, prefix: str = "", before: str = "") -> None:
        """Begin a call with a marker from `start` to `end`. `prefix` is byte text to parse before the call's own.

        `before` is byte text between the marker of a section and the call.
        """
        buffer, compiled, emitter = self._buffer, self._compiled, self._emitter
        tool_format = compiled.tool_format
        assert tool_format is not None
        self._first_token, self._captured = buffer.token_at(start), [(prefix, "")]
        self._string = None
        if compiled.value:
            self._value = OpenValue(self._captured, (compiled.value, compiled.value_end))
        self._opening = self._opening_to(start, end, before)
        if self.follows:
            mark, decode = compiled.marker_text.mark, compiled.marker_text.decode
            self._progress = CallProgress(self._captured, tool_format, mark=mark, decode=decode)
        emitter.read_markers_to(end)
        # A token that can end the call is not plain.
        plain = None if compiled.has_json_list else compiled.plain_in_calls
        emitter.enter_field(_new(Field, (self._make_delta, _CALL, "", "", (), self._captured, plain)))

    def _opening_to(self, start: int, end: int, before: str = "") -> str:
        """Return the byte text up to the end of the marker that opens a call. The arguments are those of `begin`."""
        opening = self._emitter.trimmed
        if self.section:
            tool_format = self._compiled.tool_format
            opening = self._section_opening + (tool_format.padding if tool_format else "")
        return opening + before + self._buffer.byte_text[start:end]

    def include(self, marker: str) -> None:
        """Parse the marker that closes the call as a part of it: a tag of a call without markers."""
        self._captured.append((marker, ""))

    def end_unless_in_string(self, end: int) -> bool:
        """Parse and emit the call that ends at a position, unless it ends within a JSON string. Return False then."""
        if self._string is not None and self._string.examine():
            return False
        return self.end(end, in_string=False)

    def end(
        self,
        end: int,
        *,
        broken: ToolCallParseStatus | None = None,
        span_end: int = 0,
        in_string: bool = True,
        call: ParsedToolCall | None = None,
        stopped: bool = False,
    ) -> bool:
        """Parse and emit the call that ends at a position, after its closing marker if it has one. Return True.

        `broken` overrides the status of a call that does not end properly, except that a complete JSON object needs no
        closing marker, and neither do complete elements before another call or the end of a section, or before a stop
        token (`stopped`). `span_end` is the end of a marker that belongs to the call but is emitted as an event of its
        own. With `in_string=False`, a broken call that ends within a JSON string is not emitted, and False is returned.
        `call` is the call if it was parsed already, without the rules for names.
        """
        tool_format = self._compiled.tool_format
        assert tool_format is not None
        payload, raw = self._captured_texts()
        call = with_tool_name(call or tool_format.read(payload), tool_format, self.schemas)
        if not in_string and call.status is not _OK and self.is_in_string:
            return False
        self._end_with(call, payload, raw, end, broken, span_end, stopped=stopped)
        return True

    def read_whole(self, start: int, end: int, closing: tuple[str, MarkerSet]) -> bool:
        """Read a call of which all is in the buffer, as `begin` and `end` do in more steps. Return True.

        Its marker is from `start` to `end`. False if nothing was read, because another marker than the one that closes
        the call is next, or the closing marker can be text of a value or a string.
        """
        buffer, emitter, compiled = self._buffer, self._emitter, self._compiled
        closer, markers = closing
        match = None if self.follows or start < buffer.completion_start else buffer.find(markers, end)
        if match is None or match[1] != closer or closer in markers.beginnings:
            return False
        text_end, byte_text = match[0], buffer.byte_text[end : match[0]]
        if compiled.value and ends_in_value(byte_text, (compiled.value, compiled.value_end)):
            return False
        marker_text = compiled.marker_text
        raw = byte_text if byte_text.isascii() else marker_text.decode(byte_text)
        payload = _new(Payload, (byte_text, marker_text.mark, marker_text.decode, self.schemas, raw))
        call = self._read(payload)
        is_ok = call.status is _OK
        if not is_ok and self._has_strings and '"' in byte_text and OpenString([(byte_text, raw)]).examine():
            return False
        self._first_token = buffer.token_at(start)
        if not is_ok:
            self._opening = self._opening_to(start, end)
        emitter.read_markers_to(end)
        if byte_text:
            emitter.events.append(_new(ToolCallDelta, (len(self.calls), raw, *emitter.advance_to(text_end), None, "")))
        emitter.trimmed = ""
        if is_ok:
            call.raw = raw
            self._emit(call, self._first_token, text_end + len(closer))
        else:
            self._end_with(call, payload, raw, text_end + len(closer))
        return True

    def _end_with(
        self,
        call: ParsedToolCall,
        payload: Payload,
        raw: str,
        end: int,
        broken: ToolCallParseStatus | None = None,
        span_end: int = 0,
        *,
        stopped: bool = False,
    ) -> None:
        """Emit a call that was parsed, or all calls of its payload. The arguments are those of `end`."""
        buffer, tool_format = self._buffer, self._compiled.tool_format
        section_closing = tool_format.padding + self._section_closing if tool_format and self.section else ""
        closing = buffer.byte_text[buffer.position : end]
        written = _new(WrittenCall, (payload, raw, self._opening, closing, section_closing))
        for ended in ended_calls(call, written, self._compiled, self.recoveries, broken=broken, stopped=stopped):
            self._emit(ended, self._first_token, end, span_end)

    def _captured_texts(self) -> tuple[Payload, str]:
        """Return all text of the call, as a payload and decoded."""
        captured, marker_text = self._captured, self._compiled.marker_text
        if len(captured) == 2 and not captured[0][0]:
            byte_text, raw = captured[1]
            return _new(Payload, (byte_text, marker_text.mark, marker_text.decode, self.schemas, raw)), raw
        byte_text = "".join([part for part, _ in captured])
        payload = Payload(byte_text, marker_text.mark, marker_text.decode, self.schemas)
        return payload, "".join([text for _, text in captured])

    @property
    def is_in_value(self) -> bool:
        """True if the call so far ends within a value, in formats with markup around values."""
        return bool(self._compiled.value) and self._value.examine()

    @property
    def is_in_string(self) -> bool:
        """True if the call so far ends within a JSON string, in formats with JSON arguments."""
        if not self._has_strings:
            return False
        # The first piece is the text before the call's own.
        self._string = self._string or OpenString(self._captured, first=1)
        return self._string.examine()

    def is_json(self, rest: str) -> bool:
        """Return True if the byte text of the call so far, and some text after it, is a JSON value."""
        try:
            read_json("".join([part for part, _ in self._captured]) + rest)
        except JsonError:
            return False
        return True

    def _read(self, payload: Payload) -> ParsedToolCall:
        tool_format = self._compiled.tool_format
        assert tool_format is not None
        return with_tool_name(tool_format.read(payload), tool_format, self.schemas)

    @property
    def ends_as_complete(self) -> bool:
        """True if the call so far ends with a text that ends a complete call, or if the format has no such text."""
        tool_format = self._compiled.tool_format
        captured = "".join([part for part, _ in self._captured])
        return tool_format is None or not tool_format.last or ends_with_last(captured, self._compiled)

    def _emit(self, call: ParsedToolCall, first_token: int, end: int, span_end: int = 0) -> None:
        start, last = self._emitter.advance_to(end)
        span_last = max(last, self._buffer.token_at(span_end)) if span_end else last
        call.token_span = first_token if first_token > 0 else 0, span_last
        add_recoveries(call, self.recoveries)
        self._emitter.events.append(_new(ToolCallEnd, (len(self.calls), call, start, last)))
        self.calls.append(_new(CalledTool, (call.id, call.name)))

    def _make_delta(self, text: str, start: int, end: int) -> ToolCallDelta:
        progress = self._progress
        if progress is None:
            name, arguments = None, ""
        elif progress.arguments is not None and "}" not in text:
            name, arguments = None, text
        else:
            name, arguments = progress.advance()
            name = None if name is None else self.schemas.resolve(name)
        # The number changes if the calls of the prompt are forgotten.
        return _new(ToolCallDelta, (len(self.calls), text, start, end, name, arguments))
