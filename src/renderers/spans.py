"""The shapes that say where rendered text came from."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Path", "Span", "Trace"]

Path = tuple[str | int, ...]
"""Where in a message a text stands: `("content",)`, `("tool_calls", 0, "function", "name")`; empty for no field."""


@dataclass(frozen=True, slots=True)
class Span:
    """A run of characters with one owner: a message's number and a field in it.

    Message -1 is nobody's; an empty path is text of the template's own.
    """

    start: int
    end: int
    message: int
    path: Path


@dataclass(frozen=True, slots=True)
class Trace:
    """A rendered text and the owners of all its characters.

    Spans are in order and leave no gap. Neighbours have different owners, and a span may be empty: a field
    that was rendered to nothing still has its place.
    """

    text: str
    spans: tuple[Span, ...]

    def until(self, end: int) -> Trace:
        """Returns the trace of the text up to a character.

        >>> Trace("<Hello>", (Span(0, 1, 0, ()), Span(1, 6, 0, ("content",)), Span(6, 7, 0, ()))).until(4).spans[1:]
        (Span(start=1, end=4, message=0, path=('content',)),)
        """
        kept = [span for span in self.spans if span.start < end or span.end <= end]
        if kept:
            last = kept[-1]
            kept[-1] = Span(last.start, min(last.end, end), last.message, last.path)
        return Trace(self.text[:end], tuple(kept))
