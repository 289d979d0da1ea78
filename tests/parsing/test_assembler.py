"""Events are assembled to a message."""

from __future__ import annotations

from renderers.core.completions import (
    CompletionState,
    ContentDelta,
    MarkerToken,
    ParsedPart,
    ParsedToolCall,
    ParseEvent,
    ReasoningDelta,
    Region,
    SkippedText,
    SkippedTextEvent,
    StopToken,
    ToolCallDelta,
    ToolCallEnd,
)
from renderers.parsing.assembler import assemble

DONE = CompletionState(Region.CONTENT, 7)


def test_deltas_are_joined_and_adjacent_parts_of_one_region_are_merged() -> None:
    call = ParsedToolCall("{}", "f", {}, (5, 8))
    reasoning: list[ParseEvent] = [MarkerToken(0, 1), ReasoningDelta("a", 1, 2), ReasoningDelta("b", 2, 3)]
    content: list[ParseEvent] = [ContentDelta("c", 3, 4), ContentDelta("d", 4, 5), MarkerToken(5, 6)]
    ends: list[ParseEvent] = [ToolCallDelta(0, "{}", 6, 7), ToolCallEnd(0, call, 7, 8), StopToken(7, 8, 9)]
    response = assemble([*reasoning, *content, *ends], DONE)
    assert (response.reasoning_content, response.content, response.tool_calls) == ("ab", "cd", [call])
    assert response.parts == (
        ParsedPart(Region.MARKER, 0, 1),
        ParsedPart(Region.REASONING, 1, 3),
        ParsedPart(Region.CONTENT, 3, 5),
        ParsedPart(Region.MARKER, 5, 6),
        ParsedPart(Region.CALL, 6, 7),
        ParsedPart(Region.MARKER, 7, 9),
    )
    assert response.reasoning_complete


def test_an_event_without_tokens_adds_no_part() -> None:
    response = assemble([ContentDelta("a", 0, 1), ContentDelta("b", 1, 1)], DONE)
    assert (response.content, len(response.parts)) == ("ab", 1)


def test_adjacent_skipped_text_with_the_same_reason_is_joined() -> None:
    events = [
        SkippedTextEvent("a", "x", 0, 1),
        SkippedTextEvent("b", "x", 1, 2),
        SkippedTextEvent("c", "y", 2, 3),
        SkippedTextEvent("d", "y", 4, 5),
    ]
    assert assemble(events, DONE).skipped == (
        SkippedText("ab", "x", 0, 2),
        SkippedText("c", "y", 2, 3),
        SkippedText("d", "y", 4, 5),
    )


def test_reasoning_without_an_end_is_not_complete() -> None:
    assert not assemble([], CompletionState(Region.REASONING, None)).reasoning_complete
