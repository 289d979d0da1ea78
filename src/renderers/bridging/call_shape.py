"""`CallDelimiters`: the texts that a template writes around the tool calls of a turn.

If the calls of a turn cannot be parsed, they show whether it consists of calls alone.
"""

from __future__ import annotations

from typing import NamedTuple

from renderers.bridging.proofs import RenderHistory, end_of_turn, stop_at
from renderers.bridging.sample_histories import Turn, sample_histories, substitute_turn
from renderers.core.completions import StateCall, Thought
from renderers.programs.base import REJECTIONS

__all__ = ["CallDelimiters", "probe_call_delimiters"]


class CallDelimiters(NamedTuple):
    """The text that a turn of calls alone begins with, and the texts that it may end with."""

    before: str = ""
    after: tuple[str, ...] = ()

    def encloses(self, content: str) -> bool:
        """Return True if a turn with this content consists of calls alone."""
        return bool(self.before) and content.startswith(self.before) and content.endswith(self.after)


def probe_call_delimiters(
    render: RenderHistory, *, markers: tuple[str, str] | None, control: frozenset[str]
) -> CallDelimiters:
    """Return the delimiters of a turn that consists of a call; empty if the template writes no calls.

    `markers` enclose reasoning, `control` are the texts of special tokens.
    """
    question = next(sample_histories()).messages
    turn = substitute_turn(Turn(Thought.NONE, "", (StateCall(None, None),)), ())
    try:
        rendered = render([*question, turn], False)
    except REJECTIONS:
        return CallDelimiters()
    start = min((label.start for label in rendered.labels if label.message == 1 and label.sampled), default=0)
    end = end_of_turn(rendered, 1)
    calls = [span for span in rendered.trace.spans if span.message == 1 and span.path[:1] == ("tool_calls",)]
    if end is None or not calls:
        return CallDelimiters()
    before, after = rendered.trace.text[start : calls[0].start], rendered.trace.text[calls[-1].end : end]
    # The template may write markers around empty reasoning.
    before = before.rpartition(markers[1])[2] if markers else before
    # The stop token is part of the content if the model is not known to stop with it.
    return CallDelimiters(before.strip(), (after.strip(), after.removesuffix(stop_at(rendered, end, control)).strip()))
