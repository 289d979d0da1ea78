"""`Scanner`: the base of all scanners, which read byte text and emit events in one pass, in chunks of any size.

A scanner runs states: functions that read on in the buffer. Each state searches only for the markers
that have a meaning in it, so markers within another field are text.
"""

from __future__ import annotations

import abc
import re
from collections.abc import Callable, Sequence
from typing import Any

from renderers.core.completions import CompletionState, ParseEvent, ReasoningState, StopToken
from renderers.core.lazy import lazy_pattern
from renderers.parsing.buffer import InputBuffer, MarkerSet
from renderers.parsing.call_progress import STRING_TEXT, StringEnd
from renderers.parsing.calls import CallReader
from renderers.parsing.compiled import CompiledGrammar
from renderers.parsing.emitter import Emitter, Field, skipped_because
from renderers.parsing.grammar import NO_EDGES, Edges
from renderers.parsing.pieces import NO_PIECES, Pieces
from renderers.parsing.plain import PlainTokens
from renderers.tokenizer.encoding.byte_text import UNKNOWN

_new = tuple.__new__
"""Creates a named tuple in half the time of its constructor."""
_REST_OF_STRING = lazy_pattern(rf'({STRING_TEXT}")[ \t\n\r]*+([,:}}\]])?', re.DOTALL)
"""The rest of a JSON string, and the punctuation after it."""
_TEXT_AFTER_STOP = Field(skipped_because("after the stop token"))

State = Callable[[bool], bool]
"""Read on in the buffer. The argument is True if no tokens follow. Return True if there may be more to read."""


class Scanner(abc.ABC):
    """Scan one completion. Subclasses have the states of a turn."""

    def __init__(self, compiled: CompiledGrammar, tools: Sequence[Any] | None, *, prefill: Pieces = NO_PIECES) -> None:
        self.compiled = compiled
        self.buffer = InputBuffer(prefill)
        self.emitter = Emitter(compiled.marker_text, self.buffer)
        self.calls = CallReader(compiled, tools, self.buffer, self.emitter)
        self.current: State = self.in_start
        self.opened_reasoning = False
        """True if a marker opened reasoning, even if no reasoning follows it."""
        self.stop_token_id: int | None = None
        self._plain: PlainTokens | None = None

    @abc.abstractmethod
    def in_start(self, final: bool) -> bool:
        """Read the beginning of a turn. This is the first state."""

    @property
    def state(self) -> CompletionState:
        emitter = self.emitter
        if emitter.has_reasoning:
            reasoning = ReasoningState.SOME
        else:
            reasoning = ReasoningState.EMPTY if self.opened_reasoning else ReasoningState.NONE
        return CompletionState(emitter.region, self.stop_token_id, tuple(self.calls.calls), reasoning)

    def feed(self, pieces: Pieces) -> list[ParseEvent]:
        """Scan more tokens. Return their events."""
        if self.buffer.add(pieces):
            while self.current(False):
                pass
            if not self.buffer.deferred:
                self.emitter.emit_markers()
                self.buffer.discard_read()
        self._plain = self.emitter.plain if self.buffer.is_empty else None
        return self.emitter.take_events()

    def feed_plain(self, token_id: int) -> ParseEvent | None:
        """Scan a single token if it is plain text in the current field. Return its event; None if it is not."""
        if self._plain is None:
            return None
        texts = self._plain[token_id]
        return None if texts is None else self.emitter.emit_plain(texts)

    def close(self, pieces: Pieces = NO_PIECES) -> list[ParseEvent]:
        """Scan the last tokens and everything that was kept back. Return the last events."""
        self.buffer.add(pieces)
        self.buffer.resume()
        while self.current(True):
            pass
        # The state refers to this scanner, as fields can.
        self.current, self._plain = _finished, None
        return self.emitter.close()

    def begin(self, state: State, field: Field) -> None:
        self.current = state
        self.emitter.enter_field(field)

    def next_marker(self, markers: MarkerSet, final: bool, edges: Edges = NO_EDGES) -> tuple[int, str]:
        """Return the position of the next marker and the marker. Skip ids that are not tokens.

        If there is none, emit the rest of the buffer and return an empty marker. `edges` are the edges
        of a field at the end of a completion.
        """
        buffer = self.buffer
        while (match := buffer.find(markers)) is not None:
            position, marker = match
            if marker != UNKNOWN:
                if not final and marker in markers.beginnings and buffer.byte_text[position:] in markers.beginnings:
                    # The next chunk can make it a longer marker.
                    break
                return match
            self.skip_unknown_token(position)
        partial = 0 if final else markers.partial_suffix_length(buffer.byte_text, buffer.position)
        self.emitter.emit_text_to(len(buffer.byte_text) - partial, closed=edges if final else None)
        return buffer.position, ""

    def skip_unknown_token(self, position: int) -> None:
        """Emit the text before an id that is not a token, and skip the id."""
        self.emitter.emit_text_to(position, closed=None, flush=True)
        self.emitter.emit_skipped(position + 1, "", "not a token of the vocabulary")

    def find_string_end(self, start: int, final: bool) -> int | None:
        """Return the end of the JSON string that a marker of calls before `start` is in, if the marker is text of it.

        It is 0 if the marker ends the call: no quote follows in the turn, or one without a comma, a colon or a closing
        bracket after it. None if more text decides.
        """
        buffer, stops = self.buffer, self.compiled.stop_markers
        stop = buffer.find(stops, start)
        limit = stop[0] if stop else len(buffer.byte_text)
        string = _REST_OF_STRING.match(buffer.byte_text, start, limit)
        if string is not None and string[2]:
            return string.end(1)
        if final or stop is not None or (string is not None and string.end() < limit):
            return 0
        string_end = StringEnd(stops)
        string_end.has_arrived(buffer.byte_text[start:])
        buffer.defer_until(string_end.has_arrived)
        return None

    def read_string_to(self, end: int) -> None:
        """Read text of a call up to the end of a string with markers in it."""
        while (unknown := self.buffer.byte_text.find(UNKNOWN, self.buffer.position, end)) >= 0:
            self.skip_unknown_token(unknown)
        self.emitter.emit_text_to(end, closed=None, flush=True)

    def stop_at(self, marker: str, position: int, edges: Edges = NO_EDGES) -> None:
        """Read a stop token, which ends the field and the turn."""
        emitter = self.emitter
        emitter.emit_text_to(position, closed=edges)
        self.stop_token_id = token_id = self.compiled.marker_text.id_of(marker)
        emitter.events.append(_new(StopToken, (token_id, *emitter.advance_to(position + 1))))
        self.begin(self._after_stop, _TEXT_AFTER_STOP)

    def _after_stop(self, final: bool) -> bool:
        if self.buffer.position < len(self.buffer.byte_text):
            self.emitter.emit_text_to(len(self.buffer.byte_text), closed=NO_EDGES if final else None)
        return False


def _finished(final: bool) -> bool:  # noqa: ARG001
    return False
