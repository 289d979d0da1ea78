"""Small conversations that stand for the history of a rollout, of which nothing but the tokens is known."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from renderers.forms import Data
from renderers.parse.response import StateCall, Thought

__all__ = ["EARLIER_THOUGHT", "SAID", "THOUGHT", "Feature", "Skeleton", "Turn", "skeletons", "stand_in"]

SAID, THOUGHT = "Fluss", "Gipfel"
"""What a turn that stands for another says, and what it thinks."""
EARLIER_THOUGHT = "Tanne"
"""What an earlier turn thinks."""
_RESULT_ROLE = "tool"
_ID = "x7k2m9q4w"
"""The id of a call: of a form that all templates take, and that nobody's has."""


class Turn(NamedTuple):
    """What kind of turn a completion is."""

    thought: Thought
    said: str
    """What it says beside reasoning and calls, or what stands for it."""
    calls: tuple[StateCall, ...]


class Feature(enum.StrEnum):
    """What a history may have in it."""

    SYSTEM = "a system message"
    TURN = "an earlier turn"
    THOUGHT = "an earlier turn with reasoning"
    TOOLS = "an earlier tool cycle"
    RESULT = "a tool's result"
    PLAN = "a tool's result that was called for with reasoning"
    OWN = "a turn just before"


class Skeleton(NamedTuple):
    """A history, and what it has in it beside a question."""

    features: frozenset[Feature]
    messages: tuple[Data, ...]

    def __str__(self) -> str:
        return ", ".join(sorted(self.features)) or "a question"


def skeletons() -> Iterator[Skeleton]:
    """Yields histories before a turn, those first that have the least in them."""
    ask, again, system = _said("user", "Kiesel"), _said("user", "Ahorn"), _said("system", "Wolke")
    answer = _said("assistant", "Birke")
    thoughtful = {**answer, **_thinking(EARLIER_THOUGHT)}
    called = {**_said("assistant", ""), "tool_calls": [_call("f", _ID)]}
    planned = {**called, **_thinking("Moos")}
    result = {"role": _RESULT_ROLE, "tool_call_id": _ID, "name": "f", "content": "Regen"}
    led, turn, thought, tools, last, plan, own = Feature
    histories: dict[tuple[Feature, ...], tuple[Data, ...]] = {
        (): (ask,),
        (led,): (system, ask),
        (turn,): (ask, answer, again),
        (led, turn, thought): (system, ask, thoughtful, again),
        (last,): (ask, called, result),
        (led, last): (system, ask, called, result),
        (last, plan): (ask, planned, result),
        (turn, tools): (ask, called, result, answer, again),
        (led, turn, thought, tools): (system, ask, planned, result, thoughtful, again),
        (own,): (ask, answer),
        (own, thought): (ask, thoughtful),
    }
    for features, messages in histories.items():
        yield Skeleton(frozenset(features), messages)


def stand_in(turn: Turn, new: Sequence[Data]) -> Data:
    """Returns a message that stands for a completion which new messages follow.

    Its calls have the names and ids that are known: the model's own, else those of the results among the new messages.

    >>> turn = Turn(Thought.NONE, said=SAID, calls=(StateCall(None, "get"),))
    >>> stand_in(turn, [{"role": "tool", "tool_call_id": "c7", "content": "x"}])["tool_calls"][0]["id"]
    'c7'
    """
    message = _said("assistant", turn.said)
    if turn.thought is not Thought.NONE:
        message |= _thinking(THOUGHT if turn.thought is Thought.SOME else "")
    results = [one for one in new if one["role"] == _RESULT_ROLE]
    calls = []
    for at in range(max(len(turn.calls), len(results))):
        made = turn.calls[at] if at < len(turn.calls) else StateCall(None, None)
        result = _result_of(made, at, results)
        name, number = made.name or result.get("name"), made.id or result.get("tool_call_id")
        calls.append(_call(name or "f", number or f"call{at:05}"))
    return {**message, "tool_calls": calls} if calls else message


def _result_of(call: StateCall, at: int, results: Sequence[Data]) -> Data:
    """Returns the result of a call: the one with its id, else the only one with its name, else the one in its place."""
    for key, value in (("tool_call_id", call.id), ("name", call.name)):
        found = [one for one in results if value is not None and one.get(key) == value]
        if len(found) == 1:
            return found[0]
    return results[at] if at < len(results) else {}


def _said(role: str, content: str) -> Data:
    return {"role": role, "content": content}


def _thinking(text: str) -> Data:
    return {"reasoning_content": text, "thinking": text}


def _call(name: str, number: str) -> Data:
    return {"id": number, "type": "function", "function": {"name": name, "arguments": {"x": "y"}}}
