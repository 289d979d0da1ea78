"""`MessageScanner`: the base of scanners for turns of several messages, each with a header."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import Any

from renderers.core.completions import ContentDelta, ParseEvent, ReasoningDelta, Region
from renderers.parsing.base_scanner import Scanner
from renderers.parsing.buffer import MarkerSet
from renderers.parsing.compiled import CompiledGrammar
from renderers.parsing.emitter import Field, MakeEvent
from renderers.parsing.pieces import NO_PIECES, Pieces

LONGEST_HEADER = 1024
"""The number of bytes in which the end of a header is searched for."""
HEADER = Field(ContentDelta, Region.START)
"""The place of a header."""
_EVENTS: dict[Region, MakeEvent] = {Region.REASONING: ReasoningDelta, Region.CONTENT: ContentDelta}


class MessageScanner(Scanner):
    """Scan a turn of several messages. The texts of messages for the same field are joined by a separator."""

    def __init__(
        self,
        compiled: CompiledGrammar,
        tools: Sequence[Any] | None,
        *,
        prefill: Pieces = NO_PIECES,
        separator: str = "\n",
    ) -> None:
        super().__init__(compiled, tools, prefill=prefill)
        self.decode, self.stops = compiled.marker_text.decode, compiled.marker_text.stops
        self._separator = separator
        self.nonempty_regions: set[Region] = set()
        """The regions that have text so far."""

    @abc.abstractmethod
    def in_body(self, final: bool) -> bool:
        """Read the body of a message."""

    def await_header(self, markers: MarkerSet) -> None:
        """Defer all tokens until a marker after a header arrives, or more text than a header has.

        Searching the header again with each token would take quadratic time.
        """
        buffer = self.buffer
        self.emitter.emit_markers()
        buffer.defer(markers, limit=buffer.position + LONGEST_HEADER - len(buffer.byte_text))

    def read_string_with(self, marker: str, end: int, final: bool) -> bool | None:
        """Read on to the end of the JSON string that a marker before `end` is text of. Return True.

        False if the marker is not text of a string, None if more text decides.
        """
        if marker in self.stops or not self.calls.is_in_string:
            return False
        string_end = self.find_string_end(end, final)
        if string_end:
            self.read_string_to(string_end)
        return None if string_end is None else bool(string_end)

    def begin_body(self, region: Region) -> None:
        """Begin a body. The separator comes before its first text if an earlier message has such text."""
        make_event = _EVENTS[region]
        separator = [self._separator] if region in self.nonempty_regions else []

        def make_joined_event(text: str, start: int, end: int) -> ParseEvent:
            self.nonempty_regions.add(region)
            return make_event(separator.pop() + text if separator else text, start, end)

        self.begin(self.in_body, Field(make_joined_event, region, plain=self.compiled.plain_in_messages))
