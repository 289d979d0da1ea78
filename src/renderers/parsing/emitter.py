"""Turn the text and the markers of a completion into events, independent of the scanner's state.

Text is emitted at once, except for a suffix that the next chunk can change: the beginning of a
marker that is not a token, an incomplete character, padding before the end of a field.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from renderers.core.completions import (
    ContentDelta,
    MarkerToken,
    ParseEvent,
    ReasoningDelta,
    RecoveryEvent,
    RecoveryKind,
    Region,
    SkippedTextEvent,
)
from renderers.core.lazy import lazy_pattern
from renderers.parsing.buffer import InputBuffer
from renderers.parsing.grammar import Edges
from renderers.parsing.markers import MarkerText
from renderers.parsing.plain import PlainTokens
from renderers.tokenizer.encoding.byte_text import from_byte_text

MakeEvent = Callable[[str, int, int], ParseEvent]
"""Make an event from a text, its first token, and the token after its last one."""

# Attributes of enum classes are slow in Python 3.11.
_START, _REASONING, _CONTENT_REGION = Region.START, Region.REASONING, Region.CONTENT
_new = tuple.__new__
"""Creates a named tuple in half the time of its constructor."""


class Field(NamedTuple):
    """A field of a turn: its kind of event, its region, and the characters to remove at its ends."""

    make_event: MakeEvent
    region: Region | None = None
    """None for text in the region of the field before it."""
    lead: str = ""
    """Padding before the field, as in `Edges`."""
    left: str = ""
    """Characters to trim from the beginning of the field, as in `Edges`."""
    ends: tuple[Edges, ...] = ()
    """The edges that the end of the field can have."""
    captured: list[tuple[str, str]] | None = None
    """A list to which all text of the field is appended, as byte text and decoded."""
    plain: PlainTokens | None = None
    """The tokens to emit at once if they arrive one by one."""


_CONTENT = Field(ContentDelta)
_INCOMPLETE = lazy_pattern(r"(?:[\xc2-\xdf]|[\xe0-\xef][\x80-\xbf]?|[\xf0-\xf4][\x80-\xbf]{0,2})\Z")
"""The first bytes of a UTF-8 character at the end of byte text."""


class Emitter:
    """Collect events. Hold the current field and the token up to which events were emitted.

    Tokens with a number below 0 belong to the prompt, and events do not include them.
    """

    def __init__(self, marker_text: MarkerText, buffer: InputBuffer) -> None:
        self.region = _START
        self.has_reasoning = False
        """True if the completion has reasoning text."""
        self.has_content = False
        """True if text was emitted in the region of the content."""
        self.leading = ""
        """The byte text that was trimmed from the beginning of the field."""
        self.events: list[ParseEvent] = []
        self.trimmed = ""
        """The byte text between the field that was closed last and its closing marker."""
        self._decode = marker_text.decode
        self._buffer = buffer
        self._emitted_to = buffer.token_at(0)
        self._markers_pending = False
        self._field = _CONTENT
        # Emptied when the beginning of the field was read.
        self._lead = self._left = ""

    def enter_field(self, field: Field) -> None:
        self._field, self.leading = field, ""
        _, region, self._lead, self._left, _, _, _ = field
        if region is not None:
            self.region = region

    def take_events(self) -> list[ParseEvent]:
        events, self.events = self.events, []
        return events

    def close(self) -> list[ParseEvent]:
        """Emit tokens without text at the end of the completion. Return the last events."""
        self.emit_markers()
        end = self._buffer.token_at(len(self._buffer.byte_text) + 1)
        if end > self._emitted_to:
            self.events.append(MarkerToken(max(self._emitted_to, 0), end))
        # A field can refer to the scanner: without this the scanner lives until garbage is collected.
        self._field = _CONTENT
        return self.take_events()

    @property
    def plain(self) -> PlainTokens | None:
        """The tokens that can be emitted at once, if everything before them was emitted. None if there are none."""
        is_first = not self.has_reasoning if self.region is _REASONING else not self.has_content
        return None if self._lead or self._left or is_first else self._field.plain

    def emit_plain(self, texts: tuple[str, str]) -> ParseEvent:
        """Emit a plain token that is not in the buffer, which must be empty. Return its event."""
        field, number = self._field, self._emitted_to
        self._emitted_to = number + 1
        self._buffer.skip_token()
        if field.captured is not None:
            field.captured.append(texts)
        return field.make_event(texts[1], number, number + 1)

    def advance_to(self, position: int) -> tuple[int, int]:
        """Read up to a position. Return the span of its tokens. Emit pending markers first."""
        buffer, start = self._buffer, self._emitted_to
        if self._markers_pending:
            self._markers_pending = False
            end = buffer.token_at(buffer.position)
            if end > start:
                if end > 0:
                    self.events.append(_new(MarkerToken, (start if start > 0 else 0, end)))
                start = end
        self._emitted_to = end = buffer.token_at(position)
        buffer.position = position
        return (start, end) if start >= 0 else (0, end if end > 0 else 0)

    def emit_markers(self) -> None:
        if self._markers_pending:
            self.advance_to(self._buffer.position)

    def read_markers_to(self, position: int) -> None:
        """Read markers and padding up to a position. They are emitted with the text that follows."""
        self._buffer.position = position
        self._markers_pending = True

    def emit_text_to(self, end: int, *, closed: Edges | None, flush: bool = False, marker: str = "") -> None:
        """Emit the text up to a position.

        `closed` are the edges of a field that ends there; its padding is removed. A field that goes
        on keeps back a suffix that the next chunk can change, except with `flush`. `marker` is a
        marker at that position, to be read as well.
        """
        buffer = self._buffer
        start = buffer.position
        if closed is not None and end == start:
            self.trimmed = ""
            buffer.position = end + len(marker)
            self._markers_pending = True
            return
        byte_text = buffer.byte_text
        if self._lead or self._left:
            if not self._read_padding(end, is_decided=flush or closed is not None):
                return
            start = buffer.position
        # Unpacking takes less time than attributes of a named tuple.
        make_event, _, _, _, ends, captured, _ = self._field
        text_end = end
        if closed is not None:
            if ends:
                text_end = closed.end_in(byte_text, start, end)
            self.trimmed = byte_text[text_end:end] if text_end < end else ""
        elif not flush:
            for edges in ends:
                text_end = min(text_end, edges.sure_in(byte_text, start, end))
            if not byte_text.isascii():
                text_end = complete_characters_end(byte_text, start, text_end)
        if text_end > start:
            text = part = byte_text[start:text_end]
            if not part.isascii():
                text = self._decode(part) if buffer.has_marker(start, text_end) else from_byte_text(part)
            region = self.region
            if region is _REASONING:
                self.has_reasoning = True
            elif region is _CONTENT_REGION:
                self.has_content = True
            if captured is not None:
                captured.append((part, text))
            if start < buffer.completion_start:
                # All of the text is captured, but the event has only the completion's part.
                text = self._decode(part[buffer.completion_start - start :])
            first, last = self.advance_to(text_end)
            if last:
                if make_event is ContentDelta or make_event is ReasoningDelta:
                    self.events.append(_new(make_event, (text, first, last)))  # type: ignore[arg-type]
                else:
                    self.events.append(make_event(text, first, last))
        if marker or closed is not None:
            buffer.position = end + len(marker)
            self._markers_pending = True

    def _read_padding(self, end: int, *, is_decided: bool) -> bool:
        """Read the padding at the beginning of the field, up to a position.

        Return False if the next chunk decides about the padding. With `is_decided`, no later chunk changes the text.
        """
        buffer, lead = self._buffer, self._lead
        byte_text, start = buffer.byte_text, buffer.position
        if lead:
            if byte_text.startswith(lead, start, end):
                start += len(lead)
            elif end - start < len(lead) and lead.startswith(byte_text[start:end]):
                if not is_decided:
                    return False
                start = end
            self._lead = ""
        if self._left:
            if byte_text[start : start + 1] in self._left:
                start = end - len(byte_text[start:end].lstrip(self._left))
            if start < end:
                self._left = ""
        if start > buffer.position:
            self.leading += byte_text[buffer.position : start]
            self.read_markers_to(start)
        return True

    def emit_skipped(self, position: int, text: str, reason: str) -> None:
        """Emit everything up to a position as skipped text."""
        self.events.append(SkippedTextEvent(text, reason, *self.advance_to(position)))

    def emit_recovery(self, kind: RecoveryKind, *, end: int | None = None) -> None:
        """Emit a difference from the format at the position that was read last, unless it is in the prompt.

        `end` is the end of the text that differs. None if it follows.
        """
        buffer = self._buffer
        if buffer.position < buffer.completion_start or (end is not None and end <= buffer.completion_start):
            return
        token = max(self.advance_to(buffer.position)[1], 0)
        self.events.append(RecoveryEvent(kind, token, token))


def skipped_because(reason: str) -> MakeEvent:
    return lambda text, start, end: _new(SkippedTextEvent, (text, reason, start, end))


def complete_characters_end(byte_text: str, start: int, end: int) -> int:
    """Return `end`, or the start of the UTF-8 character that is incomplete there.

    >>> complete_characters_end("aÃ", 0, 2), complete_characters_end("aÃ©", 0, 3)
    (1, 3)
    """
    if byte_text.isascii():
        return end
    incomplete = _INCOMPLETE.search(byte_text, max(start, end - 3), end)
    return incomplete.start() if incomplete else end
