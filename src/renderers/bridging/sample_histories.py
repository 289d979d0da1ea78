"""Small conversations that stand for the history of a rollout, of which nothing but the tokens is known."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from renderers.parse.response import StateCall, Thought
from renderers.programs.input_formats import Data

__all__ = ["EARLIER_THOUGHT", "SAID", "THOUGHT", "Feature", "Skeleton", "Turn", "skeletons", "stand_in", "stand_ins"]

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
    """Returns the first of the messages that may stand for a completion which new messages follow."""
    return next(stand_ins(turn, new))


def stand_ins(turn: Turn, new: Sequence[Data]) -> Iterator[Data]:
    """Yields messages that may stand for a completion which new messages follow: two where its calls are not all known.

    Calls have the names and ids that the model gave them, else those of their results. A result is that of the call
    with its id, or with its name if no other has it, or of the only one that is left. What is not known after that the
    second message has otherwise: other names, other ids, the results the other way round, a call more.

    >>> turn = Turn(Thought.NONE, said=SAID, calls=(StateCall(None, "get"),))
    >>> result = {"role": "tool", "tool_call_id": "c7", "content": "x"}
    >>> [one["tool_calls"][0]["id"] for one in stand_ins(turn, [result])]
    ['c7']
    """
    said = _said("assistant", turn.said)
    if turn.thought is not Thought.NONE:
        said |= _thinking(THOUGHT if turn.thought is Thought.SOME else "")
    results = [one for one in new if one["role"] == _RESULT_ROLE]
    made = [*turn.calls, *[StateCall(None, None)] * (len(results) - len(turn.calls))]
    certain = _certain(made, results)
    open_calls = [at for at in range(len(made)) if at not in certain]
    left = [result for at, result in enumerate(results) if at not in certain.values()]
    first: list[Data] | None = None
    for name, number, order in (("f", "call", 1), ("g", "made", -1)):
        of_call = {at: results[result] for at, result in certain.items()}
        of_call |= zip(open_calls[::order], left, strict=False)
        calls = [
            _call(
                call.name or of_call.get(at, {}).get("name") or name,
                call.id or of_call.get(at, {}).get("tool_call_id") or f"{number}{at:05}",
            )
            for at, call in enumerate(made)
        ]
        if first is not None and results and not turn.calls:
            # There may have been more of them.
            calls.insert(0, _call(name, f"{number}{len(made):05}"))
        if calls != first:
            yield {**said, "tool_calls": calls} if calls else said
        first = calls


def _certain(calls: Sequence[StateCall], results: Sequence[Data]) -> dict[int, int]:
    """Returns the results of calls that are known, both by their places."""
    found: dict[int, int] = {}
    for key, values in (("tool_call_id", [call.id for call in calls]), ("name", [call.name for call in calls])):
        given = [result.get(key) for result in results]
        for at, value in enumerate(values):
            if value and at not in found and values.count(value) == given.count(value) == 1:
                result = given.index(value)
                if result not in found.values():
                    found[at] = result
    left = [at for at in range(len(calls)) if at not in found]
    others = [at for at in range(len(results)) if at not in found.values()]
    return found | dict(zip(left, others, strict=True)) if len(left) == len(others) == 1 else found


def _said(role: str, content: str) -> Data:
    return {"role": role, "content": content}


def _thinking(text: str) -> Data:
    return {"reasoning_content": text, "thinking": text}


def _call(name: str, number: str) -> Data:
    return {"id": number, "type": "function", "function": {"name": name, "arguments": {"x": "y"}}}
