"""Small conversations stand for histories and turns."""

from __future__ import annotations

import itertools
from typing import Any

from renderers.bridging.sample_histories import SAID, THOUGHT, Feature, Turn, skeletons, stand_in
from renderers.parse.response import StateCall, Thought


def turn(*calls: StateCall, thought: Thought = Thought.NONE, said: str = "") -> Turn:
    return Turn(thought, said, calls)


def result(number: str | None, **other: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": number, "content": "R", **other}


def called(message: dict[str, Any]) -> list[tuple[str, str]]:
    return [(call["id"], call["function"]["name"]) for call in message.get("tool_calls", [])]


def test_every_feature_is_in_a_history_and_the_first_has_none() -> None:
    found = list(skeletons())
    assert not found[0].features
    assert frozenset(itertools.chain.from_iterable(one.features for one in found)) == set(Feature)
    assert len({one.features for one in found}) == len(found)
    for one in found:
        assert (one.messages[-1]["role"] == "assistant") is (Feature.OWN in one.features)


def test_a_turn_says_and_thinks_what_the_completion_does() -> None:
    assert stand_in(turn(said=SAID), ()) == {"role": "assistant", "content": SAID}
    assert stand_in(turn(thought=Thought.SOME), ())["reasoning_content"] == THOUGHT
    assert stand_in(turn(thought=Thought.EMPTY), ())["reasoning_content"] == ""


def test_calls_have_the_ids_that_the_model_gave_them() -> None:
    assert called(stand_in(turn(StateCall("a", "f"), StateCall("b", "g")), [result("x"), result("y")])) == [
        ("a", "f"),
        ("b", "g"),
    ]


def test_ids_are_those_of_the_results_where_the_model_gave_none() -> None:
    calls = turn(StateCall(None, "f"), StateCall(None, "g"))
    assert called(stand_in(calls, [result("x"), result("y")])) == [("x", "f"), ("y", "g")]
    # In another order, which the names tell.
    assert called(stand_in(calls, [result("y", name="g"), result("x", name="f")])) == [("x", "f"), ("y", "g")]


def test_calls_that_could_not_be_read_are_those_that_the_results_are_of() -> None:
    assert called(stand_in(turn(), [result("x", name="f"), result(None)])) == [("x", "f"), ("call00001", "f")]
    assert called(stand_in(turn(), [{"role": "user", "content": "Hi"}])) == []
