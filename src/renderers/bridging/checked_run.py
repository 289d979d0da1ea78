"""`CheckedRun`: a run that was checked against a proof, to compare later runs with."""

from __future__ import annotations

import bisect
import functools
from collections.abc import Iterator
from typing import NamedTuple

from renderers.core.spans import Path, Span, Trace

_LONGEST_RUN = 2**16
"""The number of characters up to the end of a turn from which a run is not kept."""


class _LaterSpan(NamedTuple):
    """A span after the end of a turn."""

    message: int
    path: Path
    text: str | None
    """Its text after the end of the turn. None for a field of a new message with any text that is not empty."""


class CheckedRun(NamedTuple):
    """The parts of a run that a check of its suffix depends on.

    The end of a turn, the faults of its suffix and its scaffold depend on the spans and the text of a run, but not on
    the texts of new messages: only on which of them are empty. So a run that differs only in these texts passes the
    check as well, and its turn ends at the same place.
    """

    before: str
    """The text up to the end of the turn."""
    spans: tuple[Span, ...]
    """The spans of this text, apart from one that extends beyond it."""
    later: tuple[_LaterSpan, ...]

    @classmethod
    def of(cls, trace: Trace, *, turn: int, end: int, special_tokens: frozenset[str]) -> CheckedRun | None:
        """Return the parts of a run that was checked. None if a run that differs may end its turn at another place.

        `turn` is the message that ends at `end`.
        """
        if end > _LONGEST_RUN or _may_continue(_fixed_text(trace, end, turn), special_tokens):
            return None
        count = sum(span.end <= end for span in trace.spans)
        later = tuple(_later_spans(trace, trace.spans[count:], end, turn))
        return cls(trace.text[:end], trace.spans[:count], later)

    def is_like(self, trace: Trace) -> bool:
        """Return True if a run differs only in texts of new messages."""
        before, known_spans, known_later = self
        text, spans, count, end = trace.text, trace.spans, len(known_spans), len(before)
        if len(spans) != count + len(known_later) or not text.startswith(before) or spans[:count] != known_spans:
            return False
        for (start, stop, message, path), known in zip(spans[count:], known_later, strict=True):
            known_message, known_path, known_text = known
            if message != known_message or path != known_path:
                return False
            if start == stop if known_text is None else text[max(start, end) : stop] != known_text:
                return False
        return True


def _later_spans(trace: Trace, spans: tuple[Span, ...], end: int, turn: int) -> Iterator[_LaterSpan]:
    for start, stop, message, path in spans:
        is_free = path and message > turn and start < stop
        yield _LaterSpan(message, path, None if is_free else trace.text[max(start, end) : stop])


def _fixed_text(trace: Trace, end: int, turn: int) -> str:
    """Return the text up to the first text of a new message, from the end of a turn or of its own text on."""
    own_end, free = 0, len(trace.text)
    for span in trace.spans:
        if span.message == turn:
            own_end = span.end
        elif own_end and span.message > turn:
            break
    for span in trace.spans:
        if span.path and span.message > turn and end <= span.start < span.end:
            free = span.start
            break
    return trace.text[min(own_end, end) : free]


def _may_continue(text: str, tokens: frozenset[str]) -> bool:
    """Return True if a special token may begin in a text and end after it.

    >>> _may_continue("<end> <us", frozenset({"<user>", "<end>"})), _may_continue("<end> ", frozenset({"<end>"}))
    (True, False)
    """
    firsts, in_order = _sorted_tokens(tokens)
    for start, character in enumerate(text):
        if character in firsts:
            end = text[start:]
            # The tokens that begin with a text and are longer come right after it.
            place = bisect.bisect_right(in_order, end)
            if place < len(in_order) and in_order[place].startswith(end):
                return True
    return False


@functools.lru_cache(maxsize=64)
def _sorted_tokens(tokens: frozenset[str]) -> tuple[frozenset[str], list[str]]:
    """Return the first characters of tokens, and the tokens in order."""
    return frozenset(token[:1] for token in tokens), sorted(tokens)
