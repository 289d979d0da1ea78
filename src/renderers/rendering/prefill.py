"""Reasoning that the generation prompt opens and closes at once, kept in the turns that it was written for."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from renderers.core.messages import REASONING_NAMES
from renderers.core.spans import Trace
from renderers.probing.turn_format import Ways, heads, think_markers
from renderers.programs.input_formats import Data

__all__ = ["EmptyReasoning", "empty_reasoning", "keep_prefill"]


def keep_prefill(trace: Trace, messages: Sequence[Data], ways: Ways) -> Trace:
    """Returns a trace in which every turn of the assistant has the empty reasoning that its prompt wrote for it.

    Where thinking is switched off, a prompt may write an empty pair of markers, and the template leave it out of the
    history: the model saw it when it wrote that turn, and sees it no more. A turn that has reasoning of its own, or
    the pair already, stays as it is.
    """
    places = list(_places(trace, messages, ways))
    return _with_texts(trace, places) if places else trace


class EmptyReasoning(NamedTuple):
    """What a prompt writes where thinking is off: the turn's beginning, the marker that opens reasoning, and the rest.

    The rest closes it.
    """

    before: str
    opened: str
    rest: str


def empty_reasoning(ways: Ways, role: str) -> EmptyReasoning | None:
    """Returns the empty reasoning that the prompt after a message of a role writes; None where it writes none."""
    markers, head = think_markers(ways), next(iter(heads(ways, role)), None)
    if markers is None or head is None or not head.chosen:
        return None
    found = EmptyReasoning(*head.prompt.partition(markers[0]))
    return found if found.before and markers[1] in found.rest else None


def _places(trace: Trace, messages: Sequence[Data], ways: Ways) -> Iterator[tuple[int, str]]:
    """Yields where empty reasoning is missing, and its text."""
    for at, message in enumerate(messages):
        if message["role"] != "assistant" or _reasons(message, ways):
            continue
        empty = empty_reasoning(ways, messages[at - 1]["role"] if at else "")
        own = [span for span in trace.spans if span.message == at]
        if empty is None or not own:
            continue
        found = trace.text.find(empty.before, own[0].start, own[-1].end)
        place = found + len(empty.before)
        if found >= 0 and not trace.text.startswith(empty.opened, place):
            yield place, empty.opened + empty.rest


def _reasons(message: Data, ways: Ways) -> bool:
    """Says whether a message has reasoning, which the template may leave out: in a field, or in its content."""
    markers, content = think_markers(ways), message.get("content")
    parts = content if isinstance(content, list) else [content]
    texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
    inline = markers is not None and any(isinstance(text, str) and markers[1] in text for text in texts)
    return inline or any(message.get(name) for name in REASONING_NAMES)


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
