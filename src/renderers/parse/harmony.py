"""The scanner for Harmony: a turn of several messages, each with a header that says what its body is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from renderers.parse.events import ContentDelta, ParseEvent, ReasoningDelta, TextSkipped
from renderers.parse.grammar import Edges
from renderers.parse.response import Region, ToolCallParseStatus
from renderers.parse.scanner import Scanner
from renderers.parse.syntax.harmony import START, channel_of_header, recipient_of
from renderers.parse.tables import Tables
from renderers.parse.telling import Tell, skipped_as, whole_characters
from renderers.tokenizer.wire import UNKNOWN

__all__ = ["HarmonyScanner"]

HEADER_ALONE = "a header without a message"
BETWEEN_MESSAGES = "between messages"
ANOTHER_ROLE = "a message of another role"
LONGEST_HEADER = 1024
_PLAIN = Edges()
_ROLE = re.compile(re.escape(START) + r"(\w+)")
_HEADER_BEGUN = re.compile(r"\s*(?:assistant)?\s*(?:to=\S+)?\s*")


class HarmonyScanner(Scanner):
    """Reads messages one after the other; those of the same kind are joined by a line break."""

    def __init__(self, tables: Tables, tools: Sequence[Any] | None, *, first: int = 0) -> None:
        super().__init__(tables, tools, first=first)
        assert tables.messages is not None
        self._marks = tables.messages
        self._begun = False
        self._said: set[Region] = set()

    def _in_start(self, final: bool) -> bool:
        """Reads a header, up to its message. A turn that begins with text and has none is content."""
        window = self._window
        limit = window.at + LONGEST_HEADER
        found = window.find(self._marks.header)
        if found is not None and found[0] + len(found[1]) > limit:
            found = None
        if found is not None and found[1] == self._marks.message:
            self._begin_message(found[0], found[0] + len(found[1]))
            return True
        if found is None and len(window.wire) < limit and not final:
            return False
        end = found[0] if found else whole_characters(window.wire, window.at, min(limit, len(window.wire)))
        text = window.wire[window.at : end]
        if text.strip() and not self._begun and not self._marks.all.within(text):
            self._begin_content("", "")
            return True
        self._skip_to(end, HEADER_ALONE)
        if found is not None:
            self._end_at(found[1], end, _PLAIN)
        return found is not None or bool(text)

    def _begin_message(self, start: int, end: int) -> None:
        """Begins the message whose header ends with a marker from `start` to `end`."""
        begins = self._window.find(self._marks.begins)
        opened = min(begins[0], start) if begins else start
        before = self._tables.lexicon.text(self._window.wire[self._window.at : opened])
        # The first header goes on with what the prompt has begun.
        if self._begun or not _HEADER_BEGUN.fullmatch(before):
            self._skip_to(opened, BETWEEN_MESSAGES)
        self._begun = True
        header = self._window.wire[self._window.at : start]
        text = self._tables.lexicon.text(header)
        role = _ROLE.match(text)
        if role is not None and role[1] != "assistant":
            self._mark_to(end)
            self._enter(self._in_content, Region.CONTENT, skipped_as(ANOTHER_ROLE))
        elif recipient_of(text) is not None:
            self._begin_call(self._window.at, end)
            self._payload = [header, self._marks.message]
        else:
            self._mark_to(end)
            self._begin_reasoning() if channel_of_header(text) == "analysis" else self._begin_content("", "")

    def _skip_to(self, end: int, reason: str) -> None:
        """Skips text up to a character; space is nothing to speak of."""
        text = self._tables.lexicon.text(self._window.wire[max(self._window.at, self._window.own) : end])
        if text.strip():
            self._events.append(TextSkipped(text, reason, *self._read_to(end)))
        self._mark_to(end)

    def _begin_reasoning(self) -> None:
        self._opened = True
        self._enter(self._in_reasoning, Region.REASONING, self._joined(Region.REASONING, ReasoningDelta))

    def _begin_content(self, lead: str, left: str) -> None:
        self._begun = True
        self._enter(self._in_content, Region.CONTENT, self._joined(Region.CONTENT, ContentDelta), lead=lead, left=left)

    def _joined(self, region: Region, tell: Tell) -> Tell:
        """Returns what tells text, with a line break before the first of it where there was such text before."""
        between = ["\n"] if region in self._said else []

        def told(text: str, start: int, end: int) -> ParseEvent:
            self._said.add(region)
            return tell(between.pop() + text if between else text, start, end)

        return told

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
        found = window.find(self._marks.body)
        if found is None:
            self._text_of_chunk(self._marks.body, final, _PLAIN)
            if final and in_call:
                self._end_call(window.at, broken=ToolCallParseStatus.UNCLOSED_BLOCK)
            return False
        at, mark = found
        if mark == UNKNOWN or (mark in stops and not in_call and mark not in self._marks.ends):
            self._end_at(mark, at, _PLAIN)
            return True
        self._text_to(at, closed=_PLAIN)
        if in_call:
            self._end_call_at(mark, at)
        self._region, self._read = Region.START, self._in_start
        if mark in stops:
            self._end_at(mark, at, _PLAIN)
        elif mark in self._marks.ends:
            self._mark_to(at + len(mark))
        return True

    def _end_call_at(self, mark: str, at: int) -> None:
        """Ends a call at what closes it, or at what begins another message."""
        if mark in self._tables.lexicon.stops:
            # A stop token is told of as one, and is the call's where it is the marker that closes it.
            self._end_call(at, through=at + len(mark) if mark in self._marks.ends else 0)
        elif mark in self._marks.ends:
            self._end_call(at + len(mark))
        else:
            self._end_call(at, broken=ToolCallParseStatus.MALFORMED_STRUCTURE)
