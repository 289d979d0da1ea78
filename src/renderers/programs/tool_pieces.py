"""`ToolPieces`: the pieces of the tools in an output, which most runs of a template share, as one text."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Sequence
from typing import NamedTuple

from renderers.core.spans import Span, Trace
from renderers.templating.template import TemplateRun
from renderers.templating.texts import field_text, plain, runs_of
from renderers.templating.values import FieldText, MixedText

_FEWEST = 4
"""The number of pieces from which on they are replaced. It takes time to compare them."""
_OWNER = -1, ("tools",)


class ToolPieces(NamedTuple):
    """Consecutive pieces of no message in the output of a run.

    The text in their place changes no other span. Template text of the same scope is before it, and so is a field. So
    the owner of the template text in the pieces is known from the spans that are left, and so is the message that the
    text before all messages belongs to.
    """

    start: int
    pieces: list[str]
    text: FieldText
    """The text of the pieces."""

    @classmethod
    def find(cls, trace: Trace) -> ToolPieces | None:
        """Return the longest sequence of such pieces. None if it is short, or if no template wrote the text."""
        pieces = trace.pieces if isinstance(trace, TemplateRun) else []
        longest = range(0)
        for is_free, same in itertools.groupby(enumerate(pieces), key=lambda item: _is_of_no_message(item[1])):
            places = [place for place, _ in same]
            begin = _find_start([pieces[place] for place in places]) if is_free else len(places)
            longest = max(longest, range(places[0] + begin, places[-1] + 1), key=len)
        if len(longest) < _FEWEST:
            return None
        shared = [pieces[place] for place in longest]
        return cls(longest.start, shared, field_text(plain("".join(shared)), _OWNER))

    def spans_of(self, trace: Trace) -> tuple[Span, ...] | None:
        """Return the spans of another run, with one for these pieces. None if its pieces are other objects."""
        if not isinstance(trace, TemplateRun):
            return None
        pieces, start, end = trace.pieces, self.start, self.start + len(self.pieces)
        if len(pieces) < end or not all(map(operator.is_, self.pieces, pieces[start:end])):
            return None
        return trace.settle([*pieces[:start], self.text, *pieces[end:]])


def _is_of_no_message(piece: str) -> bool:
    """Return True if a piece is template text, or a text of fields of no message. A scope is neither."""
    kind = piece.__class__
    if kind is FieldText or kind is MixedText:
        return all(owner is None or (owner.__class__ is tuple and owner[0] < 0) for _, owner in runs_of(piece))
    return kind is str


def _find_start(pieces: Sequence[str]) -> int:
    """Return how many pieces there are up to a field that follows template text."""
    has_template = False
    for place, piece in enumerate(pieces):
        for _, owner in runs_of(piece):
            if has_template and owner is not None:
                return place + 1
            has_template |= owner is None
    return len(pieces)
