"""Control text: where it is, and which of it the template did not write itself."""

from __future__ import annotations

from collections.abc import Sequence

from renderers.core.patterns import any_of
from renderers.core.spans import Mark, Span, Trace

__all__ = ["find_injected", "find_marks", "find_own"]


def find_marks(text: str, reserved: frozenset[str]) -> list[Mark]:
    """Returns all places in a text where reserved tokens are written; where several begin, the longest one.

    >>> find_marks("Hi<|end|>", frozenset({"<|end|>"}))
    [Mark(start=2, end=9, text='<|end|>')]
    """
    pattern = any_of(reserved)
    return [] if pattern is None else [Mark(*found.span(), found[0]) for found in pattern.finditer(text)]


def find_injected(trace: Trace, marks: Sequence[Mark]) -> list[tuple[Mark, Span]]:
    """Returns those of some marks, in order, that are in a body, each with the span of the field that it came from.

    A body is what a caller gave: a message's fields, tools and documents. A mark that is only partly in one counts;
    one that a template puts together of its own text and a role does not.

    >>> trace = Trace("<a><b>", (Span(0, 3, 0, ()), Span(3, 6, 0, ("content",))))
    >>> find_injected(trace, find_marks(trace.text, frozenset({"<a>", "<b>"})))
    [(Mark(start=3, end=6, text='<b>'), Span(start=3, end=6, message=0, path=('content',)))]
    """
    found = []
    at = 0
    for mark in marks:
        while trace.spans[at].end <= mark.start:
            at += 1
        # Nearly all are within text of the template's own, and this is quickly seen.
        if trace.spans[at].path or trace.spans[at].end < mark.end:
            span = _given(trace, mark)
            if span is not None:
                found.append((mark, span))
    return found


def find_own(trace: Trace, reserved: frozenset[str]) -> list[Mark]:
    """Returns the places where a template wrote reserved tokens itself, as if those in bodies were not there."""
    pattern = any_of(reserved)
    own: list[Mark] = []
    at = 0
    while pattern is not None and (found := pattern.search(trace.text, at)) is not None:
        mark = Mark(*found.span(), found[0])
        if _given(trace, mark) is None:
            own.append(mark)
            at = mark.end
        else:
            # What begins within it may be the template's.
            at = mark.start + 1
    return own


def _given(trace: Trace, mark: Mark) -> Span | None:
    """Returns the span of what a caller gave that a mark is in; None for a mark of the template's own."""
    parts = trace.spans_in(mark.start, mark.end)
    body = next((span for span in parts if _is_body(span, mark)), None)
    return body or (parts[0] if all(span.path for span in parts) else None)


def _is_body(span: Span, mark: Mark) -> bool:
    if not span.path:
        return False
    if span.message < 0:
        return span.path[0] in ("tools", "documents")
    # A token may be made of a role, but not of a part of one.
    return span.path[0] != "role" or not mark.start <= span.start < span.end <= mark.end
