"""The scanner for Harmony: a turn of several messages, each with a header that says what its body is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from renderers.parse.events import ParseEvent, ReasoningDelta, TextSkipped
from renderers.parse.grammar import MOST_TRIMMED, Edges
from renderers.parse.response import Region
from renderers.parse.scanner import Scanner
from renderers.parse.syntax.harmony import CALL_END, CHANNEL, END, MESSAGE, START, channel_of_header, recipient_of
from renderers.parse.tables import Tables, Watch
from renderers.tokenizer.wire import UNKNOWN

__all__ = ["HarmonyScanner"]

HEADER_ALONE = "a header without a message"
_PLAIN = Edges()


class HarmonyScanner(Scanner):
    """Reads messages one after the other; those on the same channel are joined by a line break."""

    def __init__(self, tables: Tables, tools: Sequence[Any] | None, *, first: int = 0) -> None:
        super().__init__(tables, tools, first=first)
        mark, stops = tables.lexicon.mark, tables.lexicon.stops
        self._message, self._call_end = mark(MESSAGE), mark(CALL_END)
        self._ends_message = {mark(END), self._call_end}
        self._marks = Watch.of(*map(mark, (START, CHANNEL, MESSAGE)))
        self._header = Watch.of(self._message, *stops, UNKNOWN)
        self._body = Watch.of(mark(START), mark(CHANNEL), *self._ends_message, *stops, UNKNOWN)
        self._said: set[Region] = set()

    def _in_start(self, final: bool) -> bool:
        """Reads a header, up to its message. A turn that begins with text and has none is content."""
        window = self._window
        limit = window.at + MOST_TRIMMED
        found = window.find(self._header)
        if found is not None and found[0] + len(found[1]) > limit:
            found = None
        if found is not None and found[1] == self._message:
            self._begin_message(found[0], found[0] + len(found[1]))
            return True
        if found is None and len(window.wire) < limit and not final:
            return False
        end = found[0] if found else min(limit, len(window.wire))
        text = window.wire[window.at : end]
        if text.strip() and self._region is Region.START and not self._marks.within(text):
            self._begin_content("", "")
            return True
        if text.strip():
            shown = self._tables.lexicon.text(text)
            self._events.append(TextSkipped(shown, HEADER_ALONE, *self._read_to(end)))
        self._mark_to(end)
        if found is not None:
            self._end_at(found[1], end, _PLAIN)
        return found is not None or bool(text)

    def _begin_message(self, start: int, end: int) -> None:
        """Begins the message whose header ends with a marker from `start` to `end`."""
        header = self._window.wire[self._window.at : start]
        text = self._tables.lexicon.text(header)
        if recipient_of(text) is not None:
            self._begin_call(self._window.at, end)
            self._payload = [header, self._message]
            return
        self._mark_to(end)
        if channel_of_header(text) == "analysis":
            self._begin_reasoning()
        else:
            self._begin_content("", "")

    def _begin_reasoning(self) -> None:
        self._enter(self._in_reasoning, Region.REASONING, ReasoningDelta)

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
        if region in self._said and self._stop is None and region is not Region.CALL:
            tell = _Joined(tell)
        self._said.add(region)
        super()._enter(read, region, tell, lead=lead, left=left, ends=ends)

    def _in_reasoning(self, final: bool) -> bool:
        return self._in_body(final)

    def _in_content(self, final: bool) -> bool:
        return self._in_body(final)

    def _in_call(self, final: bool) -> bool:
        return self._in_body(final)

    def _in_body(self, final: bool) -> bool:
        """Reads a message's body, up to what ends it or begins another message."""
        window, stops = self._window, self._tables.lexicon.stops
        in_call = self._region is Region.CALL
        found = window.find(self._body)
        if found is None:
            self._text_of_chunk(self._body, final, _PLAIN)
            if final and in_call:
                self._end_call(window.at, closed=False)
            return False
        at, mark = found
        if mark == UNKNOWN or (mark in stops and not in_call and mark not in self._ends_message):
            self._end_at(mark, at, _PLAIN)
            return True
        self._text_to(at, closed=_PLAIN)
        if in_call:
            self._end_call(at, closed=True)
        self._region, self._read = Region.CALLS, self._in_start
        if mark in stops:
            self._end_at(mark, at, _PLAIN)
        elif mark in self._ends_message:
            self._mark_to(at + len(mark))
        return True


class _Joined:
    """Tells text with a line break before the first of it."""

    def __init__(self, tell: Callable[[str, int, int], ParseEvent]) -> None:
        self._tell = tell
        self._before = "\n"

    def __call__(self, text: str, start: int, end: int) -> ParseEvent:
        before, self._before = self._before, ""
        return self._tell(before + text, start, end)
