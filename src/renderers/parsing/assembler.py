"""Assemble events to a `ParsedResponse`."""

from __future__ import annotations

from renderers.core.completions import (
    CompletionState,
    ContentDelta,
    MarkerToken,
    ParsedPart,
    ParsedResponse,
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

_REGIONS = {
    ReasoningDelta: Region.REASONING,
    ContentDelta: Region.CONTENT,
    ToolCallDelta: Region.CALL,
    ToolCallEnd: Region.MARKER,
    MarkerToken: Region.MARKER,
    SkippedTextEvent: Region.SKIPPED,
    StopToken: Region.MARKER,
}


class Assembler:
    """Collect the events of one completion."""

    def __init__(self) -> None:
        self._reasoning: list[str] = []
        self._content: list[str] = []
        self._calls: list[ParsedToolCall] = []
        self._skipped: list[tuple[list[str], SkippedTextEvent]] = []
        self._parts: list[ParsedPart] = []

    def add(self, events: list[ParseEvent]) -> None:
        """Add events in their order."""
        parts = self._parts
        for event in events:
            region, start, end = _REGIONS[type(event)], event.start, event.end
            if start < end:
                if parts and parts[-1][0] is region:
                    start = parts.pop()[1]
                parts.append(ParsedPart(region, start, end))
            if isinstance(event, ReasoningDelta):
                self._reasoning.append(event.text)
            elif isinstance(event, ContentDelta):
                self._content.append(event.text)
            elif isinstance(event, ToolCallEnd):
                self._calls.append(event.call)
            elif isinstance(event, SkippedTextEvent):
                self._add_skipped(event)

    def response(self, state: CompletionState) -> ParsedResponse:
        """Return the message of all events. `state` is the state at the end of the completion."""
        return ParsedResponse(
            content="".join(self._content),
            reasoning_content="".join(self._reasoning) or None,
            tool_calls=self._calls,
            reasoning_complete=state.region is not Region.REASONING,
            skipped=tuple(SkippedText("".join(texts), *last[1:]) for texts, last in self._skipped),
            parts=tuple(self._parts),
            state=state,
        )

    def _add_skipped(self, event: SkippedTextEvent) -> None:
        """Add skipped text. Adjacent text with the same reason is joined."""
        texts, last = self._skipped[-1] if self._skipped else ([], None)
        if last is not None and last.reason == event.reason and last.end == event.start:
            texts.append(event.text)
            self._skipped[-1] = texts, event._replace(start=last.start)
        else:
            self._skipped.append(([event.text], event))
