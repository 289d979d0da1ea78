"""What a template writes around calls: a turn whose calls are not read is told by that from one that says more."""

from __future__ import annotations

from typing import NamedTuple

from renderers.bridging.proofs import Write, end_of_turn, stop_at
from renderers.bridging.sample_histories import Turn, skeletons, stand_in
from renderers.parse.response import StateCall, Thought
from renderers.programs.input_formats import NOT_TAKEN

__all__ = ["CallEdges", "edges_of_calls"]


class CallEdges(NamedTuple):
    """What a turn that is but a call begins with, and what it may end with."""

    before: str = ""
    after: tuple[str, ...] = ()

    def around(self, said: str) -> bool:
        """Says whether what is said is but a call."""
        return bool(self.before) and said.startswith(self.before) and said.endswith(self.after)


def edges_of_calls(write: Write, *, markers: tuple[str, str] | None, control: frozenset[str]) -> CallEdges:
    """Returns what the template begins and ends a turn with that is but a call; empty where that is not known."""
    ask, turn = next(skeletons()).messages, stand_in(Turn(Thought.NONE, "", (StateCall(None, None),)), ())
    try:
        written = write([*ask, turn], False)
    except NOT_TAKEN:
        return CallEdges()
    start = min((one.start for one in written.labels if one.message == 1 and one.sampled), default=0)
    end = end_of_turn(written, 1)
    calls = [span for span in written.trace.spans if span.message == 1 and span.path[:1] == ("tool_calls",)]
    if end is None or not calls:
        return CallEdges()
    before, after = written.trace.text[start : calls[0].start], written.trace.text[calls[-1].end : end]
    # The template may write of reasoning that there is none.
    before = before.rpartition(markers[1])[2] if markers else before
    # The stop token is in what is said where the model is not known to stop with it.
    return CallEdges(before.strip(), (after.strip(), after.removesuffix(stop_at(written, end, control)).strip()))
