"""Assemble events into a `ParsedResponse`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from renderers.core.completions import (
    CompletionState,
    ContentDelta,
    MarkerToken,
    ParsedPart,
    ParsedResponse,
    ParsedToolCall,
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
_MARKER, _REASONING, _CONTENT, _CALL = Region.MARKER, Region.REASONING, Region.CONTENT, Region.CALL
_SKIPPED = Region.SKIPPED
_new = tuple.__new__
"""Creates a named tuple in half the time of its constructor."""


def assemble(events: Iterable[Any], state: CompletionState) -> ParsedResponse:
    """Return the message of all events of a completion, each a `ParseEvent`. `state` is the state at its end."""
    reasoning: list[str] = []
    content: list[str] = []
    calls: list[ParsedToolCall] = []
    skipped: list[list[SkippedTextEvent]] = []
    parts: list[ParsedPart] = []
    recoveries: list[Recovery] = []
    # The reason of the last skipped text, and the token after it.
    skipped_reason, skipped_end = "", -1
    region, start, end = _MARKER, 0, 0
    for event in events:
        # Tuples are unpacked, and types compared: attributes and pattern matching take several times as long.
        kind, event_region = type(event), _MARKER
        if kind is MarkerToken:
            first, last = event
        elif kind is ContentDelta:
            text, first, last = event
            content.append(text)
            event_region = _CONTENT
        elif kind is ReasoningDelta:
            text, first, last = event
            reasoning.append(text)
            event_region = _REASONING
        elif kind is ToolCallDelta:
            _, _, first, last, _, _ = event
            event_region = _CALL
        elif kind is ToolCallEnd:
            _, call, first, last = event
            if call.recoveries:
                span_start, span_end = call.token_span or (0, 0)
                recoveries += [Recovery(recovery, span_start, span_end, len(calls)) for recovery in call.recoveries]
            calls.append(call)
        elif kind is SkippedTextEvent:
            _, reason, first, last = event
            event_region = _SKIPPED
            # Adjacent text with the same reason is joined.
            if skipped_end == first and skipped_reason == reason:
                skipped[-1].append(event)
            else:
                skipped.append([event])
            skipped_reason, skipped_end = reason, last
        else:
            first, last = event.start, event.end
            if kind is RecoveryEvent:
                recoveries.append(Recovery(event.kind, first, last))
        if first < last:
            if event_region is not region:
                if start < end:
                    parts.append(_new(ParsedPart, (region, start, end)))
                region, start = event_region, first
            end = last
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
    if len(run) == 1:
        return _new(SkippedText, run[0])
    return SkippedText("".join([event.text for event in run]), run[0].reason, run[0].start, run[-1].end)
