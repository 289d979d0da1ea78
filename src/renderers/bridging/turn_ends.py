"""`TurnEnds`: the special tokens that a template ends answers and calls with."""

from __future__ import annotations

from typing import NamedTuple

from renderers.bridging.context import BridgeContext
from renderers.bridging.sample_histories import Turn, sample_histories, substitute_turn
from renderers.core.completions import ReasoningState
from renderers.core.jsontypes import JsonObject
from renderers.core.probe_words import PROBE_CONTENT, PROBE_EARLIER_ID, PROBE_FOLLOW_UP, PROBE_RESULT
from renderers.core.probes import chat_message
from renderers.programs.base import REJECTIONS


class TurnEnds(NamedTuple):
    """The special tokens that end turns. The sets differ if a format ends calls with a token of their own."""

    answers: frozenset[str] = frozenset()
    """The tokens that end a turn without calls."""
    calls: frozenset[str] = frozenset()
    """The tokens that end a turn with a call, and that the model is known to stop with."""

    def has(self, token: str) -> bool:
        """Return True if a token ends some turn."""
        return token in self.answers or token in self.calls


def turn_ends(context: BridgeContext) -> TurnEnds:
    """Return the tokens that end a turn, with a message after it and without one."""
    user, result = chat_message("user", PROBE_FOLLOW_UP), chat_message("tool", PROBE_RESULT)
    result |= {"tool_call_id": PROBE_EARLIER_ID, "name": "f"}
    answers = _stops(context, Turn(ReasoningState.NONE, PROBE_CONTENT, ()), user)
    calls = _stops(context, Turn(ReasoningState.NONE, "", ()), result)
    return TurnEnds(answers, calls & context.pipeline.settings.stop_texts)


def _stops(context: BridgeContext, turn: Turn, after: JsonObject) -> frozenset[str]:
    """Return the special tokens that end a turn if a message follows it, and if none does."""
    question, message = sample_histories()[0].messages, substitute_turn(turn, [after])
    stops = set()
    for new in ([], [after]):
        try:
            stops.add(context.render([*question, message, *new], turn=len(question), prompt=bool(new)).stop)
        except REJECTIONS:
            continue
    return frozenset(stops - {""})
