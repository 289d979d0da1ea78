"""Reasoning that the generation prompt opens and closes at once, kept in the turns that it was written for."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterable, Iterator, Sequence

from renderers.forms import Data
from renderers.probing import Ways, heads, think_markers
from renderers.spans import Trace

__all__ = ["keep_prefill"]


def keep_prefill(trace: Trace, messages: Sequence[Data], ways: Ways) -> Trace:
    """Returns a trace in which every turn of the assistant has the empty reasoning that its prompt wrote for it.

    Where thinking is switched off, a prompt may write an empty pair of markers, and the template leave it out of the
    history: the model saw it when it wrote that turn, and sees it no more. A turn that has reasoning of its own, or
    the pair already, stays as it is.
    """
    places = list(_places(trace, messages, ways))
    return _with_texts(trace, places) if places else trace


def _places(trace: Trace, messages: Sequence[Data], ways: Ways) -> Iterator[tuple[int, str]]:
    """Yields where an empty pair is missing, and its text."""
    markers = think_markers(ways)
    if markers is None:
        return
    for at, message in enumerate(messages):
        if message["role"] != "assistant":
            continue
        for head in heads(ways, messages[at - 1]["role"] if at else "")[:1]:
            before, opened, rest = head.prompt.partition(markers[0])
            if not head.chosen or not before or markers[1] not in rest:
                continue
            own = [span for span in trace.spans if span.message == at]
            found = trace.text.find(before, own[0].start, own[-1].end) if own else -1
            place = found + len(before)
            if found >= 0 and not trace.text.startswith(markers[0], place):
                yield place, opened + rest


def _with_texts(trace: Trace, places: Iterable[tuple[int, str]]) -> Trace:
    """Returns a trace with texts put in; each belongs to the span that ends at its place, or goes on there."""
    cuts = sorted(places)
    ends = [place for place, _ in cuts]
    moved = [0, *itertools.accumulate(len(added) for _, added in cuts)]

    def shifted(at: int) -> int:
        return at + moved[bisect.bisect_right(ends, at)]

    borders = itertools.pairwise([0, *ends, len(trace.text)])
    texts = itertools.zip_longest(borders, (added for _, added in cuts), fillvalue="")
    text = "".join(trace.text[slice(*border)] + added for border, added in texts)
    return Trace(text, tuple(one._replace(start=shifted(one.start), end=shifted(one.end)) for one in trace.spans))
