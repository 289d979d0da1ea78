"""`CallDelimiters`: the texts around the calls of a turn, to tell whether an unparsable turn contains only calls."""

from __future__ import annotations

import functools
from typing import NamedTuple

from renderers.bridging.context import BridgeContext
from renderers.bridging.sample_histories import Turn, sample_histories, substitute_turn
from renderers.core.completions import CalledTool, ReasoningState
from renderers.core.jsontypes import JsonObject
from renderers.core.text import common_prefix_length
from renderers.programs.base import REJECTIONS


class CallDelimiters(NamedTuple):
    """The text that a turn of calls alone begins with, and the texts that it may end with."""

    before: str = ""
    after: tuple[str, ...] = ()

    def encloses(self, content: str) -> bool:
        """Return True if a turn with this content consists of calls alone."""
        return bool(self.before) and content.startswith(self.before) and content.endswith(self.after)


def call_delimiters(context: BridgeContext) -> CallDelimiters:
    """Return the delimiters of a turn that consists of a call; empty if the template writes no calls."""
    shapes = [delimiters for arguments in _ARGUMENTS if (delimiters := _delimiters_with(context, arguments))]
    if not shapes:
        return CallDelimiters()
    # The text before the end of a call depends on the type of its last argument.
    ends = [functools.reduce(_common_end, texts) for texts in zip(*(shape.after for shape in shapes), strict=True)]
    return CallDelimiters(shapes[0].before, tuple(ends) if all(ends) else shapes[0].after)


_ARGUMENTS: tuple[JsonObject, ...] = ({"x": "y"}, {"x": 1}, {})


def _common_end(text: str, other: str) -> str:
    return text[len(text) - common_prefix_length(text[::-1], other[::-1]) :]


def _delimiters_with(context: BridgeContext, arguments: JsonObject) -> CallDelimiters | None:
    """Return the delimiters of a call with some arguments; None if the template does not write it."""
    question = sample_histories()[0].messages
    call = substitute_turn(Turn(ReasoningState.NONE, "", (CalledTool(None, None),)), ())
    call["tool_calls"][0]["function"] |= {"arguments": arguments}
    try:
        turn = context.render([*question, call], turn=1, prompt=False)
    except REJECTIONS:
        return None
    calls = [span for span in turn.trace.spans if span.message == 1 and span.path[:1] == ("tool_calls",)]
    if not turn.end or not calls:
        return None
    start = min(label.start for label in turn.own_labels if label.sampled)
    before, after = turn.trace.text[start : calls[0].start], turn.trace.text[calls[-1].end : turn.end]
    markers = context.turn_format.think_markers
    # The template may write markers around empty reasoning.
    before = before.rpartition(markers[1])[2] if markers else before
    # The stop token is part of the content if the model is not known to stop with it.
    return CallDelimiters(before.strip(), (after.strip(), after.removesuffix(turn.stop).strip()))
