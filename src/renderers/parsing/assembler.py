"""Assemble events to a `ParsedResponse`."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from renderers.core.completions import (
    CompletionState,
    ContentDelta,
    ParsedPart,
    ParsedResponse,
    ParsedToolCall,
    ParseEvent,
    ReasoningDelta,
    Region,
    SkippedText,
    SkippedTextEvent,
    ToolCallDelta,
    ToolCallEnd,
)

# Attributes of enum classes are slow in Python 3.11.
_MARKER, _REASONING = Region.MARKER, Region.REASONING
_REGIONS = {
    ReasoningDelta: Region.REASONING,
    ContentDelta: Region.CONTENT,
    ToolCallDelta: Region.CALL,
    SkippedTextEvent: Region.SKIPPED,
}
"""The regions of events. All other events are `Region.MARKER`."""


def assemble(events: Iterable[ParseEvent], state: CompletionState) -> ParsedResponse:
    """Return the message of all events of a completion. `state` is the state at its end."""
    reasoning: list[str] = []
    content: list[str] = []
    calls: list[ParsedToolCall] = []
    skipped: list[list[SkippedTextEvent]] = []
    parts: list[tuple[Region, int, int]] = []
    for event in events:
        region, start, end = _REGIONS.get(type(event), _MARKER), event.start, event.end
        if start < end:
            if parts and parts[-1][0] is region:
                start = parts.pop()[1]
            parts.append((region, start, end))
        if isinstance(event, ContentDelta):
            content.append(event.text)
        elif isinstance(event, ReasoningDelta):
            reasoning.append(event.text)
        elif isinstance(event, ToolCallEnd):
            calls.append(event.call)
        elif isinstance(event, SkippedTextEvent):
            # Adjacent text with the same reason is joined.
            if skipped and skipped[-1][-1].reason == event.reason and skipped[-1][-1].end == event.start:
                skipped[-1].append(event)
            else:
                skipped.append([event])
    return ParsedResponse(
        content="".join(content),
        reasoning_content="".join(reasoning) or None,
        tool_calls=calls,
        reasoning_complete=state.region is not _REASONING,
        skipped=tuple(map(_joined, skipped)),
        parts=tuple(itertools.starmap(ParsedPart, parts)),
        state=state,
    )


def _joined(run: list[SkippedTextEvent]) -> SkippedText:
    return SkippedText("".join([event.text for event in run]), run[0].reason, run[0].start, run[-1].end)
