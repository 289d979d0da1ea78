"""Assemble events into a `ParsedResponse`."""

from __future__ import annotations

from collections.abc import Iterable

from renderers.core.completions import (
    CompletionState,
    ContentDelta,
    MarkerToken,
    ParsedPart,
    ParsedResponse,
    ParsedToolCall,
    ParseEvent,
    ReasoningDelta,
    Recovery,
    RecoveryEvent,
    Region,
    SkippedText,
    SkippedTextEvent,
    ToolCallDelta,
    ToolCallEnd,
)

# Attributes of enum classes are slow in Python 3.11.
_MARKER, _REASONING = Region.MARKER, Region.REASONING
_new = tuple.__new__
"""Creates a named tuple in half the time of its constructor."""
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
    parts: list[ParsedPart] = []
    recoveries: list[Recovery] = []
    region, start, end = _MARKER, 0, 0
    for event in events:
        kind = type(event)
        if event.start < event.end:
            event_region = _REGIONS.get(kind, _MARKER)
            if event_region is not region:
                if start < end:
                    parts.append(_new(ParsedPart, (region, start, end)))
                region, start = event_region, event.start
            end = event.end
        if kind is ContentDelta:
            content.append(event.text)  # type: ignore[union-attr]
        elif kind is ReasoningDelta:
            reasoning.append(event.text)  # type: ignore[union-attr]
        elif kind is ToolCallEnd:
            call: ParsedToolCall = event.call  # type: ignore[union-attr]
            recoveries += [Recovery(recovery, *(call.token_span or (0, 0)), len(calls)) for recovery in call.recoveries]
            calls.append(call)
        elif kind is not MarkerToken and isinstance(event, SkippedTextEvent):
            # Adjacent text with the same reason is joined.
            if skipped and skipped[-1][-1].reason == event.reason and skipped[-1][-1].end == event.start:
                skipped[-1].append(event)
            else:
                skipped.append([event])
        elif kind is RecoveryEvent:
            recoveries.append(Recovery(event.kind, event.start, event.end))  # type: ignore[union-attr]
    if start < end:
        parts.append(_new(ParsedPart, (region, start, end)))
    # Arguments by position: names take as long as everything else that the constructor does.
    return ParsedResponse(
        "".join(content),
        "".join(reasoning) or None,
        calls,
        state.region is not _REASONING,
        tuple(map(_joined, skipped)) if skipped else (),
        tuple(parts),
        state,
        tuple(recoveries),
    )


def _joined(run: list[SkippedTextEvent]) -> SkippedText:
    return SkippedText("".join([event.text for event in run]), run[0].reason, run[0].start, run[-1].end)
