"""Sample conversations stand for histories and turns."""

from __future__ import annotations

import itertools
from typing import Any

from renderers.bridging.sample_histories import HistoryFeature, Turn, sample_histories, substitute_turn
from renderers.core.completions import CalledTool, ReasoningState
from renderers.core.probe_words import PROBE_CONTENT, PROBE_REASONING


def turn(*calls: CalledTool, reasoning: ReasoningState = ReasoningState.NONE, content: str = "") -> Turn:
    return Turn(reasoning, content, calls)


def result(number: str | None, **other: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": number, "content": "R", **other}


def called(message: dict[str, Any]) -> list[tuple[str, str]]:
    return [(call["id"], call["function"]["name"]) for call in message.get("tool_calls", [])]


def test_every_feature_is_in_a_history_and_the_first_has_none() -> None:
    histories = list(sample_histories())
    assert not histories[0].features
    assert frozenset(itertools.chain.from_iterable(one.features for one in histories)) == set(HistoryFeature)
    assert len({one.features for one in histories}) == len(histories)
    for one in histories:
        assert (one.messages[-1]["role"] == "assistant") is (HistoryFeature.OWN in one.features)


def test_a_turn_says_and_thinks_what_the_completion_does() -> None:
    assert substitute_turn(turn(content=PROBE_CONTENT), ()) == {"role": "assistant", "content": PROBE_CONTENT}
    assert substitute_turn(turn(reasoning=ReasoningState.SOME), ())["reasoning_content"] == PROBE_REASONING
    assert substitute_turn(turn(reasoning=ReasoningState.EMPTY), ())["reasoning_content"] == ""


def test_calls_have_the_ids_that_the_model_gave_them() -> None:
    assert called(substitute_turn(turn(CalledTool("a", "f"), CalledTool("b", "g")), [result("x"), result("y")])) == [
        ("a", "f"),
        ("b", "g"),
    ]


def test_ids_are_those_of_the_results_where_the_model_gave_none() -> None:
    calls = turn(CalledTool(None, "f"), CalledTool(None, "g"))
    assert called(substitute_turn(calls, [result("x"), result("y")])) == [("x", "f"), ("y", "g")]
    # In another order, which the names tell.
    assert called(substitute_turn(calls, [result("y", name="g"), result("x", name="f")])) == [("x", "f"), ("y", "g")]


def test_calls_that_could_not_be_read_are_those_that_the_results_are_of() -> None:
    assert called(substitute_turn(turn(), [result("x", name="f"), result(None)])) == [("x", "f"), ("call00001", "f")]
    assert called(substitute_turn(turn(), [{"role": "user", "content": "Hi"}])) == []
