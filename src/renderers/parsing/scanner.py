"""Scan byte text for the markers of a turn and emit events: one pass, in chunks of any size.

`Scanner` runs states. A state is a function that reads on in the buffer and returns True if it made
progress. The states of a turn belong to a class of their own, chosen by the tool format: `MarkerTurn`
for turns with markers around their fields. Each state searches only for the markers that have a
meaning in it, so markers within another field are text.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from renderers.core.completions import (
    CompletionState,
    ContentDelta,
    ParseEvent,
    ReasoningDelta,
    ReasoningState,
    Region,
    StopToken,
    ToolCallParseStatus,
)
from renderers.parsing.buffer import InputBuffer
from renderers.parsing.calls import CallReader
from renderers.parsing.compiled import CompiledGrammar
from renderers.parsing.emitter import Emitter, skipped_because
from renderers.parsing.grammar import MOST_TRIMMED, NO_EDGES, SPACES, Edges
from renderers.parsing.pieces import NO_PIECES, Pieces
from renderers.tokenizer.encoding.byte_text import UNKNOWN

AFTER_STOP = "after the stop token"
BESIDE_CALLS = "beside tool calls"
NO_TOKEN = "not a token of the vocabulary"

_SKIPPED_BESIDE_CALLS = skipped_because(BESIDE_CALLS)
_SKIPPED_AFTER_STOP = skipped_because(AFTER_STOP)

State = Callable[[bool], bool]
"""Read on in the buffer. The argument is True if no tokens follow. Return True if there may be more to read."""


class Scanner:
    """Scan one completion. `begin` returns the first state of its turn.

    The parts are public for the states: the buffer, the emitter, the reader of calls, and `current`,
    the current state.
    """

    __slots__ = ("_stop_token_id", "buffer", "calls", "compiled", "current", "emitter", "opened_reasoning")

    def __init__(
        self,
        compiled: CompiledGrammar,
        tools: Sequence[Any] | None,
        *,
        begin: Callable[[Scanner], State],
        first_token: int = 0,
    ) -> None:
        self.compiled = compiled
        self.buffer = InputBuffer(first_token=first_token)
        self.emitter = Emitter(compiled.marker_text, self.buffer, first_token=first_token)
        self.calls = CallReader(compiled, tools, self.buffer, self.emitter)
        self.opened_reasoning = False
        """True if a marker opened reasoning, even if no reasoning follows it."""
        self._stop_token_id: int | None = None
        self.current = begin(self)

    @property
    def state(self) -> CompletionState:
        """The state at the end of the tokens so far."""
        if self.emitter.has_reasoning:
            reasoning = ReasoningState.SOME
        else:
            reasoning = ReasoningState.EMPTY if self.opened_reasoning else ReasoningState.NONE
        return CompletionState(self.emitter.region, self._stop_token_id, tuple(self.calls.calls), reasoning)

    def forget_calls(self) -> None:
        """Forget the calls so far, so that the next call has number 0."""
        self.calls.calls.clear()

    def feed(self, pieces: Pieces) -> list[ParseEvent]:
        """Scan more tokens. Return their events."""
        if self.buffer.add(pieces):
            self._run(final=False)
        return self.emitter.take_events()

    def close(self, pieces: Pieces = NO_PIECES) -> list[ParseEvent]:
        """Scan the last tokens and everything that was kept back. Return the last events."""
        self.buffer.add(pieces)
        self.buffer.resume()
        self._run(final=True)
        self.emitter.close(_SKIPPED_AFTER_STOP)
        # The state refers to this scanner: without this the scanner lives until garbage is collected.
        self.current = _finished
        return self.emitter.take_events()

    def _run(self, *, final: bool) -> None:
        while self.current(final):
            pass
        if not self.buffer.deferred:
            self.emitter.emit_markers()
            if not final:
                self.buffer.discard_read()

    def end_at(self, marker: str, position: int, edges: Edges) -> None:
        """Read a stop token, which ends the field and the turn, or an id that is not a token."""
        emitter = self.emitter
        if marker == UNKNOWN:
            emitter.emit_text_to(position, closed=None, flush=True)
            self.skip_unknown_token(position)
            return
        emitter.emit_text_to(position, closed=edges)
        self._stop_token_id = self.compiled.marker_text.id_of(marker)
        emitter.events.append(StopToken(self._stop_token_id, *emitter.advance_to(position + 1)))
        emitter.enter_field(emitter.region, _SKIPPED_AFTER_STOP)
        self.current = functools.partial(_after_stop, self.buffer, emitter)

    def skip_unknown_token(self, position: int) -> None:
        """Skip an id that is not a token."""
        self.emitter.emit_skipped(position + 1, "", NO_TOKEN)


def _after_stop(buffer: InputBuffer, emitter: Emitter, final: bool) -> bool:
    """Skip the text after a stop token."""
    if buffer.position < len(buffer.byte_text):
        emitter.emit_text_to(len(buffer.byte_text), closed=NO_EDGES if final else None)
    return False


def _finished(final: bool) -> bool:  # noqa: ARG001
    """Read nothing."""
    return False


class MarkerTurn:
    """The states of a turn with markers around its reasoning and its calls.

    `openings` are texts that a turn of a certain format can begin with. The state `open_state` reads
    such a turn. It takes this object and the flag that every state takes.
    """

    __slots__ = (
        "_buffer",
        "_calls",
        "_emitter",
        "_open_state",
        "_openings",
        "_reasoning_closes",
        "compiled",
        "scanner",
    )

    def __init__(
        self,
        scanner: Scanner,
        *,
        openings: tuple[str, ...] = (),
        open_state: Callable[[MarkerTurn, bool], bool] | None = None,
    ) -> None:
        self.scanner = scanner
        self.compiled = scanner.compiled
        self._buffer = scanner.buffer
        self._emitter = scanner.emitter
        self._calls = scanner.calls
        self._openings = openings
        self._open_state = open_state
        # True if the marker that closes the reasoning is known to follow, so that no call can end it.
        self._reasoning_closes = False

    def in_start(self, final: bool) -> bool:
        """Read whitespace, a header, and the marker that opens reasoning, if the turn begins with these."""
        buffer, compiled = self._buffer, self.compiled
        byte_text, position = buffer.byte_text, buffer.skip_spaces(MOST_TRIMMED)
        # More whitespace than this is text, whatever follows.
        if position - buffer.position < MOST_TRIMMED:
            for marker in compiled.starts:
                if byte_text.startswith(marker, position):
                    self._emitter.read_markers_to(position + len(marker))
                    if marker == compiled.think:
                        self._begin_reasoning()
                    elif marker == compiled.think_end:
                        # The prompt opened the reasoning, and it is empty.
                        self.scanner.opened_reasoning = True
                        self._begin_answer()
                    return True
            if self._open_state is not None and byte_text.startswith(self._openings, position):
                self.scanner.current = functools.partial(self._open_state, self)
                return True
            candidates = (*compiled.starts, *self._openings)
            begun = byte_text[position : position + max(map(len, candidates), default=0) + 1]
            if not final and (not begun or any(marker.startswith(begun) for marker in candidates)):
                return False
        if buffer.position == len(byte_text):
            return False
        self.begin_first_content()
        return True

    def _in_reasoning(self, final: bool) -> bool:
        buffer, emitter, compiled = self._buffer, self._emitter, self.compiled
        reasoning = compiled.grammar.reasoning
        assert reasoning is not None
        markers = compiled.reasoning_markers if self._reasoning_closes else compiled.open_reasoning_markers
        match = buffer.find(markers)
        if match is None:
            return emitter.emit_chunk(markers, final, NO_EDGES)
        position, marker = match
        if marker == compiled.think_end:
            emitter.emit_text_to(position, closed=reasoning.edges, marker=marker)
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
                emitter.emit_text_to(position, closed=reasoning.edges)
                self._begin_content()
        else:
            self.scanner.end_at(marker, position, NO_EDGES)
        return True

    def _in_content(self, final: bool) -> bool:
        emitter, compiled = self._emitter, self.compiled
        match = self._buffer.find(compiled.content_markers)
        if match is None:
            return emitter.emit_chunk(compiled.content_markers, final, compiled.grammar.content)
        position, marker = match
        if marker not in compiled.call_openers:
            self.scanner.end_at(marker, position, compiled.grammar.content)
            return True
        emitter.emit_text_to(position, closed=compiled.grammar.content_before_calls)
        if marker == compiled.section:
            self._calls.begin_section(position)
            emitter.read_markers_to(position + len(marker))
            self._begin_section()
        else:
            self._begin_call(position, position + len(marker))
        return True

    def _in_section(self, final: bool) -> bool:
        buffer, emitter, compiled = self._buffer, self._emitter, self.compiled
        match = buffer.find(compiled.section_markers)
        if match is None:
            emitter.emit_chunk(compiled.section_markers, final, NO_EDGES)
            if final:
                self._calls.end_section(buffer.position, closed=False)
            return False
        position, marker = match
        if marker == compiled.call:
            emitter.emit_text_to(position, closed=NO_EDGES)
            self._begin_call(position, position + len(marker))
        elif marker == compiled.section_end:
            emitter.emit_text_to(position, closed=NO_EDGES)
            self._calls.end_section(position + len(marker), closed=True)
            emitter.read_markers_to(position + len(marker))
            self.begin_after_calls()
        else:
            if marker != UNKNOWN:
                emitter.emit_text_to(position, closed=NO_EDGES)
                self._calls.end_section(position, closed=False)
            self.scanner.end_at(marker, position, NO_EDGES)
        return True

    def _in_call(self, final: bool) -> bool:
        buffer, emitter, compiled = self._buffer, self._emitter, self.compiled
        match = buffer.find(compiled.call_markers)
        if match is None:
            emitter.emit_chunk(compiled.call_markers, final, NO_EDGES)
            if final:
                self._calls.end(buffer.position, broken=ToolCallParseStatus.UNCLOSED_BLOCK)
            return False
        position, marker = match
        if marker == UNKNOWN:
            self.scanner.end_at(marker, position, NO_EDGES)
            return True
        emitter.emit_text_to(position, closed=NO_EDGES)
        if marker == compiled.call_end:
            self._calls.end(position + len(marker))
            self._begin_section() if self._calls.in_section else self.begin_after_calls()
        elif marker == compiled.section_end:
            self._calls.end(position, broken=ToolCallParseStatus.MALFORMED_STRUCTURE)
            self._begin_section()
        else:
            self._calls.end(position, broken=ToolCallParseStatus.UNCLOSED_BLOCK)
            self.scanner.end_at(marker, position, NO_EDGES)
        return True

    def _begin_reasoning(self) -> None:
        assert self.compiled.grammar.reasoning is not None
        self.scanner.opened_reasoning = True
        edges = self.compiled.grammar.reasoning.edges
        self.scanner.current = self._in_reasoning
        self._emitter.enter_field(Region.REASONING, ReasoningDelta, lead=edges.lead, left=edges.left, ends=(edges,))

    def _begin_answer(self) -> None:
        """Begin the content after reasoning."""
        reasoning = self.compiled.grammar.reasoning
        assert reasoning is not None
        lead = reasoning.after if self._emitter.has_reasoning else reasoning.after_empty
        self._begin_content(lead=lead, left=self.compiled.grammar.content.left)

    def begin_first_content(self) -> None:
        """Begin the content of a turn that has no reasoning."""
        self._begin_content(lead=self.compiled.grammar.lead, left=self.compiled.grammar.content.left)

    def begin_after_calls(self) -> None:
        """Begin the text after calls, which is content in some formats and skipped in others."""
        tool_format = self.compiled.tool_format
        if tool_format is not None and tool_format.keeps_text:
            self._begin_content(left=SPACES)
        else:
            self.scanner.current = self._in_content
            self._emitter.enter_field(Region.CONTENT, _SKIPPED_BESIDE_CALLS, left=SPACES)

    def _begin_content(self, *, lead: str = "", left: str = "") -> None:
        grammar = self.compiled.grammar
        ends = (grammar.content, grammar.content_before_calls)
        self.scanner.current = self._in_content
        self._emitter.enter_field(Region.CONTENT, ContentDelta, lead=lead, left=left, ends=ends)

    def _begin_section(self) -> None:
        self.scanner.current = self._in_section
        self._emitter.enter_field(Region.CALLS, _SKIPPED_BESIDE_CALLS, left=SPACES)

    def _begin_call(self, start: int, end: int) -> None:
        """Begin a call with a marker from `start` to `end`."""
        self._calls.begin(start, end)
        self.scanner.current = self._in_call
