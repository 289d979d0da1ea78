"""Types that attribute rendered text to messages and fields."""

from __future__ import annotations

import bisect
import enum
import operator
from dataclasses import dataclass
from typing import NamedTuple

Path = tuple[str | int, ...]
"""The path of a field in a message: `("content",)`, `("tool_calls", 0, "function", "name")`. Empty for no field."""


class Channel(enum.StrEnum):
    """The kind of text that a token belongs to. Markers are scaffold, sampled or not.

    >>> Channel.REASONING == "reasoning"
    True
    """

    SCAFFOLD = "scaffold"
    CONTENT = "content"
    REASONING = "reasoning"
    TOOL_NAME = "tool_name"
    TOOL_ARGUMENTS = "tool_arguments"
    TOOL_CALL_ID = "tool_call_id"
    TOOL_RESULT = "tool_result"
    TOOL_DEFINITION = "tool_definition"
    MEDIA = "media"


class Span(NamedTuple):
    """Consecutive characters of one field of one message.

    `message` is -1 for text of no message. An empty path means text of the template itself.
    """

    start: int
    end: int
    message: int
    path: Path


class TokenMatch(NamedTuple):
    """An occurrence of a special token in a text."""

    start: int
    end: int
    text: str


class LabelledSpan(NamedTuple):
    """A span with its channel, and whether a model samples it.

    `content` becomes `RenderedTokens.is_content` of its tokens.
    """

    start: int
    end: int
    message: int
    path: Path
    channel: Channel
    sampled: bool
    content: bool


_START, _END = operator.attrgetter("start"), operator.attrgetter("end")


@dataclass(frozen=True, slots=True)
class Trace:
    """A rendered text with the span of every character.

    Spans are in order and leave no gap. Adjacent spans differ in message or path. A field that rendered to nothing
    has an empty span at its place.
    """

    text: str
    spans: tuple[Span, ...]

    def spans_in(self, start: int, end: int) -> list[Span]:
        """Return the spans that overlap the characters from `start` up to `end`.

        >>> Trace("<Hi>", (Span(0, 1, 0, ()), Span(1, 3, 0, ("content",)), Span(3, 4, 0, ()))).spans_in(2, 4)
        [Span(start=1, end=3, message=0, path=('content',)), Span(start=3, end=4, message=0, path=())]
        """
        first = bisect.bisect_right(self.spans, start, key=_END)
        last = bisect.bisect_left(self.spans, end, lo=first, key=_START)
        return [span for span in self.spans[first:last] if span.start < span.end]

    def truncate(self, end: int) -> Trace:
        """Return the trace of the text up to `end`.

        >>> Trace("<Hello>", (Span(0, 1, 0, ()), Span(1, 6, 0, ("content",)), Span(6, 7, 0, ()))).truncate(4).spans[1:]
        (Span(start=1, end=4, message=0, path=('content',)),)
        """
        kept = [span for span in self.spans if span.start < end or span.end <= end]
        kept[-1:] = [last._replace(end=min(last.end, end)) for last in kept[-1:]]
        return Trace(self.text[:end], tuple(kept))


def written_fields(trace: Trace) -> set[tuple[int, Path]]:
    """Return the fields with text in a trace, as messages and paths.

    >>> written_fields(Trace("<Hi>", (Span(0, 1, 0, ()), Span(1, 3, 0, ("content",)), Span(3, 4, 0, ()))))
    {(0, ('content',))}
    """
    return {(message, path) for start, end, message, path in trace.spans if path and start < end}
