"""The shapes that say where rendered text came from."""

from __future__ import annotations

import bisect
import enum
import operator
from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["Channel", "LabelledSpan", "Path", "Span", "TokenMatch", "Trace"]

Path = tuple[str | int, ...]
"""Where in a message a text stands: `("content",)`, `("tool_calls", 0, "function", "name")`; empty for no field."""


class Channel(enum.StrEnum):
    """What a token is. A marker that the model samples is scaffold, and sampled.

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
    """A run of characters with one owner: a message's number and a field in it.

    Message -1 is nobody's; an empty path is text of the template's own.
    """

    start: int
    end: int
    message: int
    path: Path


class TokenMatch(NamedTuple):
    """A place in a text where a token that has a text of its own is written."""

    start: int
    end: int
    text: str


class LabelledSpan(NamedTuple):
    """A run of characters with one owner, its channel, and whether a model samples it.

    `content` is what `RenderedTokens.is_content` says of its tokens.
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
    """A rendered text and the owners of all its characters.

    Spans are in order and leave no gap. Neighbours have different owners, and a span may be empty: a field
    that was rendered to nothing still has its place.
    """

    text: str
    spans: tuple[Span, ...]

    def spans_in(self, start: int, end: int) -> list[Span]:
        """Returns the spans that characters from `start` up to `end` are in.

        >>> Trace("<Hi>", (Span(0, 1, 0, ()), Span(1, 3, 0, ("content",)), Span(3, 4, 0, ()))).spans_in(2, 4)
        [Span(start=1, end=3, message=0, path=('content',)), Span(start=3, end=4, message=0, path=())]
        """
        first = bisect.bisect_right(self.spans, start, key=_END)
        last = bisect.bisect_left(self.spans, end, lo=first, key=_START)
        return [span for span in self.spans[first:last] if span.start < span.end]

    def truncate(self, end: int) -> Trace:
        """Returns the trace of the text up to a character.

        >>> Trace("<Hello>", (Span(0, 1, 0, ()), Span(1, 6, 0, ("content",)), Span(6, 7, 0, ()))).truncate(4).spans[1:]
        (Span(start=1, end=4, message=0, path=('content',)),)
        """
        kept = [span for span in self.spans if span.start < end or span.end <= end]
        if kept:
            last = kept[-1]
            kept[-1] = Span(last.start, min(last.end, end), last.message, last.path)
        return Trace(self.text[:end], tuple(kept))
