"""Token ids to events: one pass, in any chunks, over all that a turn is written in.

What has been fed and not yet been told is the window: its tokens, and their wire text. A pattern for the state that the
scanner is in finds the next mark that means something there, so nothing is looked for within what another marker
opened. Text before it is told at once, but for what the next chunk may change: the beginning of a marker that is not a
token, half a character, padding before the end of a field.
"""

from __future__ import annotations

from collections.abc import Callable

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
from renderers.parse.response import CompletionState, ParsedToolCall, Region, StateCall, ToolCallParseStatus
from renderers.parse.schema import ToolSchemas
from renderers.parse.syntax import Payload
from renderers.parse.syntax.llama import find_calls
from renderers.parse.tables import Tables, Watch
from renderers.parse.window import Window
from renderers.tokenizer.wire import UNKNOWN

__all__ = ["Scanner"]

AFTER_STOP = "after the stop token"
BESIDE_CALLS = "beside tool calls"
NO_TOKEN = "not a token of the vocabulary"

_PLAIN = Edges()


class Scanner:
    """Reads one completion. `feed` takes what its tokens are as wire text, and returns what that tells.

    Tokens are numbered from `first` on; those before 0 are of the prompt, and are told of as number 0.
    A state is a method that reads on in the window: it returns whether it got any further.
    """

    def __init__(self, tables: Tables, schemas: ToolSchemas, *, first: int = 0) -> None:
        self._tables = tables
        self._schemas = schemas
        self._window = Window(first=first)
        self._read: Callable[[bool], bool] = self._in_start
        self._region = Region.START
        self._stop: int | None = None
        self._events: list[ParseEvent] = []
        self._told = first
        self._calls: list[StateCall] = []
        # The field that text goes to: what makes an event of it, and what is taken off its ends.
        self._tell: Callable[[str, int, int], ParseEvent] = ContentDelta
        self._lead = self._left = ""
        self._ends: tuple[Edges, ...] = ()
        # The call that is being read.
        self._payload: list[str] = []
        self._called = 0
        self._in_calls = False
        self._reasoned = False
        # Whether a marker that closes the reasoning is known to follow, so that no call can end it.
        self._closes = False

    @property
    def state(self) -> CompletionState:
        """Where what has been read ends."""
        return CompletionState(self._region, self._stop, tuple(self._calls))

    def forget_calls(self) -> None:
        """Counts calls from here on."""
        self._calls.clear()

    def feed(self, pieces: list[str]) -> list[ParseEvent]:
        """Reads on."""
        if self._window.add(pieces):
            self._run(final=False)
        return self._taken()

    def close(self) -> list[ParseEvent]:
        """Reads what was held back, as nothing follows."""
        self._window.release()
        self._run(final=True)
        self._mark_to(len(self._window.wire))
        return self._taken()

    def _run(self, *, final: bool) -> None:
        while self._read(final):
            pass
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
        first = [mark for mark in (tables.header, tables.think) if mark]
        for mark in first:
            if window.wire.startswith(mark, at):
                self._mark_to(at + len(mark))
                if mark == tables.think:
                    self._begin_reasoning()
                return True
        rest = window.wire[at : at + MOST_TRIMMED]
        if not final and at - window.at < MOST_TRIMMED and any(mark.startswith(rest) for mark in first):
            return False
        if not rest and (window.at == at or (not final and at - window.at < MOST_TRIMMED)):
            return False
        if tables.code and window.wire.startswith(("{", tables.code), at):
            self._read = self._in_bare_calls
            return True
        self._begin_content(tables.grammar.lead, tables.grammar.content.left)
        return True

    def _in_reasoning(self, final: bool) -> bool:
        window, tables = self._window, self._tables
        assert tables.grammar.reasoning is not None
        edges = tables.grammar.reasoning.edges
        found = (tables.reasoning if self._closes else tables.doubtful).pattern.search(window.wire, window.at)
        if found is None:
            return self._text_of_chunk(tables.reasoning if self._closes else tables.doubtful, final, _PLAIN)
        if found[0] == tables.think_end:
            self._text_to(found.start(), closed=edges)
            self._mark_to(found.end())
            reasoning = tables.grammar.reasoning
            after = reasoning.after if self._reasoned else reasoning.after_empty
            self._begin_content(after, tables.grammar.content.left)
        elif found[0] == tables.think:
            # A second one is no text of the reasoning.
            self._text_to(found.start(), closed=None, whole=True)
            self._mark_to(found.end())
        elif found[0] in tables.openers:
            decides = tables.decides.pattern.search(window.wire, found.end())
            if decides is None and not final:
                self._text_to(found.start(), closed=None)
                window.hold(tables.decides)
                return False
            if decides is not None and decides[0] == tables.think_end:
                self._closes = True
            else:
                self._text_to(found.start(), closed=edges)
                self._begin_content("", "")
        else:
            self._end_at(found[0], found.start(), _PLAIN)
        return True

    def _in_content(self, final: bool) -> bool:
        window, tables = self._window, self._tables
        found = tables.content.pattern.search(window.wire, window.at)
        if found is None:
            return self._text_of_chunk(tables.content, final, tables.grammar.content)
        if found[0] in tables.openers:
            self._text_to(found.start(), closed=tables.grammar.content_before_calls)
            if found[0] == tables.section:
                self._mark_to(found.end())
                self._begin_calls()
            else:
                self._begin_call(found.start(), found.end())
        else:
            self._end_at(found[0], found.start(), tables.grammar.content)
        return True

    def _in_section(self, final: bool) -> bool:
        window, tables = self._window, self._tables
        found = tables.calls.pattern.search(window.wire, window.at)
        if found is None:
            return self._text_of_chunk(tables.calls, final, _PLAIN)
        if found[0] == tables.call:
            self._text_to(found.start(), closed=_PLAIN)
            self._begin_call(found.start(), found.end())
        elif found[0] == tables.section_end:
            self._text_to(found.start(), closed=_PLAIN)
            self._mark_to(found.end())
            self._in_calls = False
            self._begin_after_calls()
        else:
            self._end_at(found[0], found.start(), _PLAIN)
        return True

    def _in_call(self, final: bool) -> bool:
        window, tables = self._window, self._tables
        found = tables.within_call.pattern.search(window.wire, window.at)
        if found is None:
            self._text_of_chunk(tables.within_call, final, _PLAIN)
            if final:
                self._end_call(window.at, closed=False)
            return False
        if found[0] == UNKNOWN:
            self._end_at(found[0], found.start(), _PLAIN)
            return True
        self._text_to(found.start(), closed=_PLAIN)
        if found[0] == tables.call_end:
            self._end_call(found.end(), closed=True)
            self._begin_calls() if self._in_calls else self._begin_after_calls()
        elif found[0] == tables.section_end:
            self._end_call(found.start(), closed=False)
            self._begin_calls()
        else:
            self._end_call(found.start(), closed=False)
            self._end_at(found[0], found.start(), _PLAIN)
        return True

    def _in_bare_calls(self, final: bool) -> bool:
        """Reads a turn that may be nothing but calls, once all of it is there."""
        window, tables = self._window, self._tables
        found = tables.stops.pattern.search(window.wire, window.at)
        if found is None and not final:
            window.hold(tables.stops)
            return False
        start = window.skip_spaces(len(window.wire))
        start += len(tables.code) if tables.code and window.wire.startswith(tables.code, start) else 0
        end = found.start() if found else len(window.wire)
        places = find_calls(window.wire[start:end])
        if places is None:
            self._begin_content(tables.grammar.lead, tables.grammar.content.left)
            return True
        for first, last in places:
            self._begin_call(start + first, start + first)
            self._text_to(start + last, closed=_PLAIN)
            self._end_call(start + last, closed=True)
        self._mark_to(end)
        self._begin_after_calls()
        return True

    def _in_rest(self, final: bool) -> bool:
        """Reads what comes after a stop token."""
        self._text_to(len(self._window.wire), closed=_PLAIN if final else None)
        return False

    # ==================
    # Between states
    # ==================

    def _begin_reasoning(self) -> None:
        assert self._tables.grammar.reasoning is not None
        edges = self._tables.grammar.reasoning.edges
        self._enter(
            self._in_reasoning, Region.REASONING, ReasoningDelta, lead=edges.lead, left=edges.left, ends=(edges,)
        )

    def _begin_content(self, lead: str, left: str) -> None:
        grammar = self._tables.grammar
        ends = (grammar.content, grammar.content_before_calls)
        self._enter(self._in_content, Region.CONTENT, ContentDelta, lead=lead, left=left, ends=ends)

    def _begin_calls(self) -> None:
        self._in_calls = True
        self._enter(self._in_section, Region.CALLS, _skipped(BESIDE_CALLS), left=SPACES)

    def _begin_after_calls(self) -> None:
        syntax = self._tables.syntax
        if syntax is not None and syntax.keeps_text:
            self._begin_content("", SPACES)
        else:
            self._enter(self._in_content, Region.CONTENT, _skipped(BESIDE_CALLS), left=SPACES)

    def _begin_call(self, start: int, end: int) -> None:
        """Begins a call whose marker is from `start` to `end`."""
        number = len(self._calls)
        self._called = self._window.token(start)
        self._mark_to(end)
        self._payload = []
        self._enter(self._in_call, Region.CALL, lambda text, first, last: ToolCallDelta(number, text, first, last))

    def _end_call(self, end: int, *, closed: bool) -> None:
        """Reads the call that ends at `end`, with its marker where it is closed."""
        tables = self._tables
        assert tables.syntax is not None
        lexicon = tables.lexicon
        payload = Payload("".join(self._payload), lexicon.mark, lexicon.text)
        attempt = tables.syntax.read(payload, self._schemas)
        status = attempt.status
        if not closed:
            status = ToolCallParseStatus.UNCLOSED_BLOCK
        elif (
            attempt.name
            and tables.syntax.knows_tools
            and self._schemas.names
            and attempt.name not in self._schemas.names
        ):
            status = ToolCallParseStatus.UNKNOWN_TOOL
        span = max(self._called, 0), max(self._window.token(end), 0)
        call = ParsedToolCall(payload.text(), attempt.name, attempt.arguments, span, status, attempt.id)
        number = len(self._calls)
        self._calls.append(StateCall(attempt.id, attempt.name))
        self._tell_to(end, lambda first, last: ToolCallRead(number, call, first, last))

    def _end_at(self, mark: str, at: int, edges: Edges) -> None:
        """Reads a stop token, or an id that is no token."""
        if mark == UNKNOWN:
            self._text_to(at, closed=None, whole=True)
            self._tell_to(at + 1, lambda first, last: TextSkipped("", NO_TOKEN, first, last))
            return
        self._text_to(at, closed=edges)
        self._stop = self._tables.lexicon.id_of(mark)
        token = self._stop
        self._tell_to(at + 1, lambda first, last: StopRead(token, first, last))
        self._enter(self._in_rest, self._region, _skipped(AFTER_STOP))

    def _enter(
        self,
        read: Callable[[bool], bool],
        region: Region,
        tell: Callable[[str, int, int], ParseEvent],
        *,
        lead: str = "",
        left: str = "",
        ends: tuple[Edges, ...] = (),
    ) -> None:
        self._read, self._region, self._tell = read, region, tell
        self._lead, self._left, self._ends = lead, left, ends

    # ==================
    # Telling
    # ==================

    def _tell_to(self, at: int, make: Callable[[int, int], ParseEvent]) -> None:
        """Tells of all tokens up to a character, which are read then."""
        end = max(self._window.token(at), self._told)
        self._events.append(make(max(self._told, 0), max(end, 0)))
        self._told = end
        self._window.at = at

    def _mark_to(self, at: int) -> None:
        if at > self._window.at or self._window.token(at) > self._told:
            self._tell_to(at, MarkerRead)

    def _text_of_chunk(self, watch: Watch, final: bool, edges: Edges) -> bool:
        """Reads text that no mark is in; false, as there is nothing more."""
        wire = self._window.wire
        end = len(wire) - (0 if final else watch.begun(wire, self._window.at))
        self._text_to(end, closed=edges if final else None)
        return False

    def _text_to(self, end: int, *, closed: Edges | None, whole: bool = False) -> None:
        """Reads text up to a character: the end of its field if `closed`; else all of it only if `whole`."""
        window = self._window
        wire = window.wire
        if self._lead:
            text = wire[window.at : end]
            if text.startswith(self._lead):
                self._mark_to(window.at + len(self._lead))
            elif self._lead.startswith(text):
                if closed is None and not whole:
                    return
                self._mark_to(end)
            self._lead = ""
        if self._left:
            text = wire[window.at : end]
            trimmed = len(text) - len(text.lstrip(self._left))
            if trimmed:
                self._mark_to(window.at + trimmed)
            if trimmed < len(text):
                self._left = ""
        text = wire[window.at : end]
        if closed is not None:
            # A field that nothing is taken off is told as it comes.
            kept = len(closed.cut_end(text)) if self._ends else len(text)
            # The end of a field is often a mark, which is quickly found; what is cut off is near it.
            window.token(end)
        elif whole:
            kept = len(text)
        else:
            kept = _whole_characters(text, len(text) - max((edges.may_be_cut(text) for edges in self._ends), default=0))
        if kept:
            part = text[:kept]
            self._reasoned = self._reasoned or self._region is Region.REASONING
            if self._region is Region.CALL and self._stop is None:
                self._payload.append(part)
            decoded = self._tables.lexicon.text(part)
            self._tell_to(window.at + kept, lambda first, last: self._tell(decoded, first, last))
        if closed is not None:
            self._mark_to(end)


def _skipped(reason: str) -> Callable[[str, int, int], ParseEvent]:
    return lambda text, start, end: TextSkipped(text, reason, start, end)


def _whole_characters(wire: str, size: int) -> int:
    """Returns how much of the first `size` characters of wire text does not end within a character of text.

    >>> _whole_characters("aÃ", 2), _whole_characters("aÃ©", 3)
    (1, 3)
    """
    for back in range(1, min(3, size) + 1):
        byte = ord(wire[size - back])
        if byte < 0x80 or byte > 0xFF:
            break
        if byte >= 0xC0:
            wanted = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return size if back >= wanted else size - back
    return size
