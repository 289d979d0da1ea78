"""Token ids to events: one pass, in any chunks, over all that a turn is written in.

What has been fed and not yet been told is the window: its tokens, and their wire text. In each state only the marks are
looked for that mean something there, so nothing is found within what another marker opened.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from renderers.parse.events import (
    ContentDelta,
    MarkerRead,
    ParseEvent,
    ReasoningDelta,
    StopRead,
    TextSkipped,
    ToolCallDelta,
    ToolCallRead,
)
from renderers.parse.grammar import MOST_TRIMMED, SPACES, Edges
from renderers.parse.pieces import NO_PIECES, Pieces
from renderers.parse.response import CompletionState, ParsedToolCall, Region, StateCall, Thought, ToolCallParseStatus
from renderers.parse.schema import ToolSchemas
from renderers.parse.syntax import Payload
from renderers.parse.syntax.llama import find_calls
from renderers.parse.tables import Tables
from renderers.parse.telling import Teller, skipped_as
from renderers.tokenizer.wire import UNKNOWN

__all__ = ["Scanner"]

AFTER_STOP = "after the stop token"
BESIDE_CALLS = "beside tool calls"
NO_TOKEN = "not a token of the vocabulary"

_UNCLOSED, _MALFORMED, _INVALID = (
    ToolCallParseStatus.UNCLOSED_BLOCK,
    ToolCallParseStatus.MALFORMED_STRUCTURE,
    ToolCallParseStatus.INVALID_JSON,
)
_PLAIN = Edges()
_BESIDE_CALLS = skipped_as(BESIDE_CALLS)
_AFTER_STOP = skipped_as(AFTER_STOP)


def _over(final: bool) -> bool:  # noqa: ARG001
    """Reads nothing more."""
    return False


class Scanner(Teller):
    """Reads one completion. `feed` takes what its tokens are as wire text, and returns what that tells.

    A state is a method that reads on in the window: it returns whether it got any further.
    """

    def __init__(self, tables: Tables, tools: Sequence[Any] | None, *, first: int = 0) -> None:
        super().__init__(tables, first=first)
        self._schemas = ToolSchemas(tools)
        self._calls: list[StateCall] = []
        self._called = 0
        # The section of calls that is open: its first token, and how many calls there were before it.
        self._section: tuple[int, int] | None = None
        # Whether a marker that closes the reasoning is known to follow, so that no call can end it.
        self._closes = False
        # Whether a marker has opened reasoning, and there may be none of it.
        self._opened = False

    @property
    def state(self) -> CompletionState:
        """Where what has been read ends."""
        thought = Thought.SOME if self._reasoned else Thought.EMPTY if self._opened else Thought.NONE
        return CompletionState(self._region, self._stop, tuple(self._calls), thought)

    def forget_calls(self) -> None:
        """Counts calls from here on."""
        self._calls.clear()

    def feed(self, pieces: Pieces) -> list[ParseEvent]:
        """Reads on."""
        if self._window.add(pieces):
            self._run(final=False)
        return self._taken()

    def close(self, pieces: Pieces = NO_PIECES) -> list[ParseEvent]:
        """Reads the last tokens and what was held back, as nothing follows."""
        self._window.add(pieces)
        self._window.release()
        self._run(final=True)
        if self._window.end > self._told:
            # Tokens without any text.
            self._events.append(MarkerRead(max(self._told, 0), self._window.end))
        # A scanner that refers to its own methods would be kept until garbage is collected.
        self._read, self._tell = _over, _AFTER_STOP
        return self._taken()

    def _run(self, *, final: bool) -> None:
        while self._read(final):
            pass
        if not self._window.holds:
            if self._marked:
                self._tell_markers()
            if not final:
                self._window.shrink()

    def _taken(self) -> list[ParseEvent]:
        events, self._events = self._events, []
        return events

    # ==================
    # States
    # ==================

    def _in_start(self, final: bool) -> bool:
        """Reads space, a header, and the marker that opens reasoning, if that is what the turn begins with."""
        window, tables = self._window, self._tables
        at = window.skip_spaces(MOST_TRIMMED)
        # So many spaces are text, whatever comes after them.
        if at - window.at < MOST_TRIMMED:
            for mark in tables.starts:
                if window.wire.startswith(mark, at):
                    self._mark_to(at + len(mark))
                    if mark == tables.think:
                        self._begin_reasoning()
                    elif mark == tables.think_end:
                        # Reasoning that the prompt has opened, and that there is none of.
                        self._opened = True
                        self._begin_answer()
                    return True
            if tables.code and window.wire.startswith(("{", tables.code), at):
                self._read = self._in_bare_calls
                return True
            begun = window.wire[at : at + tables.longest_start + 1]
            if not final and any(mark.startswith(begun) for mark in (*tables.starts, tables.code)):
                return False
        if window.at == len(window.wire):
            return False
        self._begin_content(tables.grammar.lead, tables.grammar.content.left)
        return True

    def _in_reasoning(self, final: bool) -> bool:
        window, tables = self._window, self._tables
        reasoning = tables.grammar.reasoning
        assert reasoning is not None
        watch = tables.reasoning if self._closes else tables.doubtful
        found = window.find(watch)
        if found is None:
            return self._text_of_chunk(watch, final, _PLAIN)
        at, mark = found
        if mark == tables.think_end:
            self._text_to(at, closed=reasoning.edges, mark=mark)
            self._begin_answer()
        elif mark == tables.think:
            # A second one is no text of the reasoning.
            self._text_to(at, closed=None, whole=True, mark=mark)
        elif mark in tables.openers:
            decides = window.find(tables.decides, at + len(mark))
            if decides is None and not final:
                self._text_to(at, closed=None)
                window.hold(tables.decides)
                return False
            if decides is not None and decides[1] == tables.think_end:
                self._closes = True
            else:
                self._text_to(at, closed=reasoning.edges)
                self._begin_content("", "")
        else:
            self._end_at(mark, at, _PLAIN)
        return True

    def _in_content(self, final: bool) -> bool:
        window, tables = self._window, self._tables
        found = window.find(tables.content)
        if found is None:
            return self._text_of_chunk(tables.content, final, tables.grammar.content)
        at, mark = found
        if mark in tables.openers:
            self._text_to(at, closed=tables.grammar.content_before_calls)
            if mark == tables.section:
                self._section = window.token(at), len(self._calls)
                self._mark_to(at + len(mark))
                self._begin_calls()
            else:
                self._begin_call(at, at + len(mark))
        else:
            self._end_at(mark, at, tables.grammar.content)
        return True

    def _in_section(self, final: bool) -> bool:
        window, tables = self._window, self._tables
        found = window.find(tables.calls)
        if found is None:
            self._text_of_chunk(tables.calls, final, _PLAIN)
            if final:
                self._end_section(window.at, closed=False)
            return False
        at, mark = found
        if mark == tables.call:
            self._text_to(at, closed=_PLAIN)
            self._begin_call(at, at + len(mark))
        elif mark == tables.section_end:
            self._text_to(at, closed=_PLAIN)
            self._end_section(at + len(mark), closed=True)
            self._mark_to(at + len(mark))
            self._begin_after_calls()
        else:
            if mark != UNKNOWN:
                self._text_to(at, closed=_PLAIN)
                self._end_section(at, closed=False)
            self._end_at(mark, at, _PLAIN)
        return True

    def _in_call(self, final: bool) -> bool:
        window, tables = self._window, self._tables
        found = window.find(tables.within_call)
        if found is None:
            self._text_of_chunk(tables.within_call, final, _PLAIN)
            if final:
                self._end_call(window.at, broken=_UNCLOSED)
            return False
        at, mark = found
        if mark == UNKNOWN:
            self._end_at(mark, at, _PLAIN)
            return True
        self._text_to(at, closed=_PLAIN)
        if mark == tables.call_end:
            self._end_call(at + len(mark))
            self._begin_calls() if self._section else self._begin_after_calls()
        elif mark == tables.section_end:
            self._end_call(at, broken=_MALFORMED)
            self._begin_calls()
        else:
            self._end_call(at, broken=_UNCLOSED)
            self._end_at(mark, at, _PLAIN)
        return True

    def _in_bare_calls(self, final: bool) -> bool:
        """Reads a turn that may be nothing but calls, once all of it is there."""
        window, tables = self._window, self._tables
        found = window.find(tables.stops)
        if found is None and not final:
            window.hold(tables.stops)
            return False
        start = window.skip_spaces(len(window.wire))
        start += len(tables.code) if tables.code and window.wire.startswith(tables.code, start) else 0
        end = found[0] if found else len(window.wire)
        # What is no token is between any others, not a part of what is written.
        text = window.wire[start:end].replace(UNKNOWN, " ")
        calls = find_calls(text, self._schemas.names or (), decode=tables.lexicon.text)
        if calls is None:
            self._begin_content(tables.grammar.lead, tables.grammar.content.left)
            return True
        wrong = _INVALID if found else _UNCLOSED
        for number, (first, last) in enumerate(calls.places, 1):
            self._skip_unknown(start + first)
            self._begin_call(start + first, start + first)
            while (unknown := window.wire.find(UNKNOWN, window.at, start + last)) >= 0:
                self._end_at(UNKNOWN, unknown, _PLAIN)
            self._text_to(start + last, closed=_PLAIN)
            broken = calls.broken and number == len(calls.places)
            self._end_call(start + last, broken=wrong if broken else None)
        if calls.broken and not found:
            return False
        self._skip_unknown(end)
        self._mark_to(end)
        self._begin_after_calls()
        return True

    def _skip_unknown(self, end: int) -> None:
        """Tells of what is no token up to a character, among markers."""
        while (at := self._window.wire.find(UNKNOWN, self._window.at, end)) >= 0:
            self._mark_to(at)
            self._skip_token(at)

    def _skip_token(self, at: int) -> None:
        """Tells of an id that is no token."""
        self._events.append(TextSkipped("", NO_TOKEN, *self._read_to(at + 1)))

    def _in_rest(self, final: bool) -> bool:
        """Reads what comes after a stop token."""
        if self._window.at < len(self._window.wire):
            self._text_to(len(self._window.wire), closed=_PLAIN if final else None)
        return False

    # ==================
    # Between states
    # ==================

    def _begin_reasoning(self) -> None:
        assert self._tables.grammar.reasoning is not None
        self._opened = True
        edges = self._tables.grammar.reasoning.edges
        self._enter(
            self._in_reasoning, Region.REASONING, ReasoningDelta, lead=edges.lead, left=edges.left, ends=(edges,)
        )

    def _begin_answer(self) -> None:
        """Begins the content after reasoning."""
        reasoning = self._tables.grammar.reasoning
        assert reasoning is not None
        after = reasoning.after if self._reasoned else reasoning.after_empty
        self._begin_content(after, self._tables.grammar.content.left)

    def _begin_content(self, lead: str, left: str) -> None:
        grammar = self._tables.grammar
        ends = (grammar.content, grammar.content_before_calls)
        self._enter(self._in_content, Region.CONTENT, ContentDelta, lead=lead, left=left, ends=ends)

    def _begin_calls(self) -> None:
        self._enter(self._in_section, Region.CALLS, _BESIDE_CALLS, left=SPACES)

    def _begin_after_calls(self) -> None:
        syntax = self._tables.syntax
        if syntax is not None and syntax.keeps_text:
            self._begin_content("", SPACES)
        else:
            self._enter(self._in_content, Region.CONTENT, _BESIDE_CALLS, left=SPACES)

    def _begin_call(self, start: int, end: int) -> None:
        """Begins a call whose marker is from `start` to `end`."""
        self._called = self._window.token(start)
        self._mark_to(end)
        self._payload, self._raw = [], []
        self._enter(self._in_call, Region.CALL, self._tell_call)

    def _tell_call(self, text: str, start: int, end: int) -> ToolCallDelta:
        return ToolCallDelta(len(self._calls), text, start, end)

    def _end_call(self, end: int, *, broken: ToolCallParseStatus | None = None, through: int = 0) -> None:
        """Reads the call that ends at `end`, with its marker where it has one; `broken` is what is wrong with its end.

        `through` is where a marker ends that is the call's and is told of as something else.
        """
        tables = self._tables
        assert tables.syntax is not None
        lexicon = tables.lexicon
        payload = Payload("".join(self._payload), lexicon.mark, lexicon.text)
        attempt = tables.syntax.read(payload, self._schemas)
        status = attempt.status
        if broken is not None:
            status = broken
        elif (
            attempt.name
            and tables.syntax.knows_tools
            and self._schemas.names
            and attempt.name not in self._schemas.names
        ):
            status = ToolCallParseStatus.UNKNOWN_TOOL
        first, last = self._read_to(end)
        span = (max(self._called, 0), max(last, self._window.token(through)) if through else last)
        call = ParsedToolCall("".join(self._raw), attempt.name, attempt.arguments, span, status, attempt.id)
        number = len(self._calls)
        self._calls.append(StateCall(attempt.id, attempt.name))
        self._events.append(ToolCallRead(number, call, first, last))

    def _end_section(self, end: int, *, closed: bool) -> None:
        """Ends a section of calls. One without any call is an attempt that came to nothing."""
        opened, self._section = self._section, None
        if opened is None or opened[1] < len(self._calls):
            return
        status = _MALFORMED if closed else _UNCLOSED
        span = max(opened[0], 0), max(self._window.token(end), 0)
        call = ParsedToolCall("", token_span=span, status=status)
        self._calls.append(StateCall(None, None))
        self._events.append(ToolCallRead(len(self._calls) - 1, call, *self._read_to(end)))

    def _end_at(self, mark: str, at: int, edges: Edges) -> None:
        """Reads a stop token, or an id that is no token."""
        if mark == UNKNOWN:
            self._text_to(at, closed=None, whole=True)
            self._skip_token(at)
            return
        self._text_to(at, closed=edges)
        self._stop = self._tables.lexicon.id_of(mark)
        self._events.append(StopRead(self._stop, *self._read_to(at + 1)))
        self._enter(self._in_rest, self._region, _AFTER_STOP)
