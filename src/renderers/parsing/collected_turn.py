"""Collect the fields of a turn that is read as a whole, and make the message of them."""

from __future__ import annotations

from array import array
from typing import Any, TypeVar

from renderers.core.completions import (
    CalledTool,
    CompletionState,
    ParsedPart,
    ParsedResponse,
    ParsedToolCall,
    ReasoningState,
    Recovery,
    RecoveryKind,
    Region,
    SkippedText,
)
from renderers.core.native import native
from renderers.parsing.buffer import find_starts
from renderers.parsing.compiled import BESIDE_CALLS
from renderers.parsing.ended_calls import add_recoveries

Part = TypeVar("Part", bound=tuple[Any, ...])

# Attributes of enum classes are slow in Python 3.11.
_START, _REASONING, _CALL = Region.START, Region.REASONING, Region.CALL
_MARKER, _SKIPPED = Region.MARKER, Region.SKIPPED
_CALL_REGIONS = (_MARKER, _MARKER, _CALL, _MARKER)
"""The regions up to a call, of its opening marker, of its text, and of its closing marker."""
_new = tuple.__new__
"""Creates a named tuple in half the time of its constructor."""


def join_regions_in_python(regions: list[Any], tokens: list[int], first: Any, kind: type[Part], /) -> tuple[Part, ...]:
    """Return the parts of a completion, each with its region and its tokens. Adjacent parts of one region are joined.

    `tokens` are the tokens after the regions. Regions without tokens are left out. `first` is the region before all.

    >>> join_regions_in_python(["a", "b", "b", "c"], [1, 3, 4, 4], "a", tuple)
    (('a', 0, 1), ('b', 1, 4))
    """
    parts: list[Part] = []
    part, start, end = first, 0, 0
    for region, token in zip(regions, tokens, strict=True):
        if token > end:
            if region is not part:
                if start < end:
                    parts.append(tuple.__new__(kind, (part, start, end)))
                part, start = region, end
            end = token
    if start < end:
        parts.append(tuple.__new__(kind, (part, start, end)))
    return tuple(parts)


join_regions = join_regions_in_python if native is None else native.join_regions


class CollectedTurn:
    """The fields of a turn so far, by their positions in its text. The tokens of all of them are found at the end."""

    def __init__(self, text: str, starts: array[int]) -> None:
        """`text` is the byte text of the turn. `starts` are the positions of the completion's tokens in it."""
        self.text = text
        self._starts = starts
        self.region = _START
        self.opened_reasoning = False
        """True if a marker opened reasoning, even if no reasoning follows it."""
        self.reasoning: list[str] = []
        self.content: list[str] = []
        self.calls: list[ParsedToolCall] = []
        self.stop_token_id: int | None = None
        self._skipped: list[str] = []
        # The regions of the text, and the position at the end of each. Text between them belongs to markers.
        self._regions: list[Region] = []
        self._ends: list[int] = []
        # For each call the index of the first one of its regions, and for each skipped text the index of its region.
        self._call_places: list[int] = []
        self._skipped_places: list[int] = []

    def add_field(self, region: Region, start: int, end: int) -> None:
        """Add the place of a field, after all others."""
        self._ends += (start, end)
        self._regions += (_MARKER, region)

    def add_skipped(self, text: str, start: int, end: int) -> None:
        """Add text beside calls."""
        self._skipped.append(text)
        self._ends += (start, end)
        self._regions += (_MARKER, _SKIPPED)
        self._skipped_places.append(len(self._ends) - 1)

    def add_calls(
        self, calls: list[ParsedToolCall], recoveries: list[RecoveryKind], places: tuple[int, int, int, int]
    ) -> None:
        """Add the calls in a text. `recoveries` are the differences of the first one from the format.

        The places are the start of the text with its markers, the start and the end of the text, and the end of all.
        """
        self._call_places += [len(self._ends)] * len(calls)
        self._ends += places
        self._regions += _CALL_REGIONS
        if recoveries:
            add_recoveries(calls[0], recoveries)
        self.calls += calls

    def response(self) -> ParsedResponse:
        """Return the message of a turn that was read."""
        tokens, parts = self._number_tokens()
        if any(self.reasoning):
            reasoning = ReasoningState.SOME
        else:
            reasoning = ReasoningState.EMPTY if self.opened_reasoning else ReasoningState.NONE
        calls, recoveries = self.calls, self._number_calls(tokens)
        called = tuple([_new(CalledTool, (call.id, call.name)) for call in calls])
        region = self.region
        # Arguments by position: names take as long as everything else that the constructor does.
        return ParsedResponse(
            "".join(self.content),
            "".join(self.reasoning) or None,
            calls,
            region is not _REASONING,
            self._number_skipped(tokens) if self._skipped else (),
            parts,
            CompletionState(region, self.stop_token_id, called, reasoning),
            recoveries,
        )

    def _number_tokens(self) -> tuple[list[int], tuple[ParsedPart, ...]]:
        """Return the token after each region, and the parts of the completion."""
        self._regions.append(_MARKER)
        self._ends.append(len(self.text) + 1)
        tokens = find_starts(self._starts, self._ends)
        return tokens, join_regions(self._regions, tokens, _MARKER, ParsedPart)

    def _number_calls(self, tokens: list[int]) -> tuple[Recovery, ...]:
        """Set the tokens of all calls. Return their differences from the format."""
        recoveries: list[Recovery] = []
        for number, call in enumerate(self.calls):
            place = self._call_places[number]
            start, end = call.token_span = tokens[place], tokens[place + 3]
            if call.recoveries:
                recoveries += [Recovery(kind, start, end, number) for kind in call.recoveries]
        return tuple(recoveries)

    def _number_skipped(self, tokens: list[int]) -> tuple[SkippedText, ...]:
        """Return the skipped texts with their tokens. Adjacent ones are joined."""
        skipped: list[SkippedText] = []
        for text, place in zip(self._skipped, self._skipped_places, strict=True):
            start, end = tokens[place - 1], tokens[place]
            if skipped and skipped[-1].end == start:
                before = skipped.pop()
                text, start = before.text + text, before.start
            skipped.append(_new(SkippedText, (text, BESIDE_CALLS, start, end)))
        return tuple(skipped)
