"""Sample conversations represent histories and turns."""

from __future__ import annotations

import itertools
from typing import Any

from renderers.bridging.sample_histories import (
    HistoryFeature,
    Turn,
    histories_with_calls,
    interrupted_histories,
    long_histories,
    sample_histories,
    substitute_turn,
    substitute_turns,
)
from renderers.core.completions import CalledTool, ReasoningState
from renderers.core.probe_words import PROBE_CONTENT, PROBE_REASONING, hide_probe_words


def turn(*calls: CalledTool, reasoning: ReasoningState = ReasoningState.NONE, content: str = "") -> Turn:
    return Turn(reasoning, content, calls)


def result(number: str | None, **other: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": number, "content": "R", **other}


def called(message: dict[str, Any]) -> list[tuple[str, str]]:
    return [(call["id"], call["function"]["name"]) for call in message.get("tool_calls", [])]


def test_refusals_hide_all_text_of_a_history() -> None:
    histories = *sample_histories(), *interrupted_histories(), *histories_with_calls(12)
    for message in itertools.chain.from_iterable(history.messages for history in histories):
        texts = [message["content"], message.get("tool_call_id", ""), message.get("reasoning_content", "")]
        for call in message.get("tool_calls", []):
            texts += [call["id"], *itertools.chain.from_iterable(call["function"]["arguments"].items())]
        assert {hide_probe_words(text) for text in texts} <= {"", "…"}


def test_every_feature_occurs_in_a_history_and_the_first_has_none() -> None:
    histories = [*sample_histories(), *interrupted_histories()]
    assert not histories[0].features
    assert frozenset(itertools.chain.from_iterable(history.features for history in histories)) == set(HistoryFeature)
    assert len({history.features for history in histories}) == len(histories)
    for history in histories:
        assert (history.messages[-1]["role"] == "assistant") is (HistoryFeature.OWN in history.features)


def test_long_histories_have_their_length_or_the_number_of_their_cycles_in_their_name() -> None:
    histories = long_histories(frozenset({9, 12}))
    cycles = (2, 3, 8, 9, 10, 11, 12, 13)
    for history in histories[: -len(cycles)]:
        assert history.name == f"{len(history.messages)} messages"
        assert history.messages[-1]["role"] == "user"
    for history, count in zip(histories[-len(cycles) :], cycles, strict=True):
        assert history.name == f"{count} tool cycles"
        assert [message["role"] for message in history.messages] == ["user", *["assistant", "tool"] * count]
    assert long_histories(frozenset({2, 3})) != long_histories(frozenset({9}))
    assert len(long_histories(frozenset())) == 2


def test_a_sample_turn_has_the_content_and_reasoning_of_the_completion() -> None:
    assert substitute_turn(turn(content=PROBE_CONTENT), ()) == {"role": "assistant", "content": PROBE_CONTENT}
    assert substitute_turn(turn(reasoning=ReasoningState.SOME), ())["reasoning_content"] == PROBE_REASONING
    assert substitute_turn(turn(reasoning=ReasoningState.EMPTY), ())["reasoning_content"] == ""


def test_calls_have_the_ids_of_the_completion() -> None:
    assert called(substitute_turn(turn(CalledTool("a", "f"), CalledTool("b", "g")), [result("x"), result("y")])) == [
        ("a", "f"),
        ("b", "g"),
    ]


def test_calls_without_ids_get_those_of_the_results() -> None:
    calls = turn(CalledTool(None, "f"), CalledTool(None, "g"))
    assert called(substitute_turn(calls, [result("x"), result("y")])) == [("x", "f"), ("y", "g")]
    # In a different order, matched by name.
    assert called(substitute_turn(calls, [result("y", name="g"), result("x", name="f")])) == [("x", "f"), ("y", "g")]


def test_unparsed_calls_are_inferred_from_the_results() -> None:
    assert called(substitute_turn(turn(), [result("x", name="f"), result(None)])) == [("x", "f"), ("call00001", "f")]
    assert called(substitute_turn(turn(), [{"role": "user", "content": "Hi"}])) == []


def test_a_call_may_have_the_id_of_its_result_although_the_model_wrote_another_one() -> None:
    two = turn(CalledTool("0", "get"), CalledTool("1", "put"))
    renamed = substitute_turns(two, [result("c0", name="get"), result("c1", name="put")])
    assert [called(message) for message in renamed] == [[("0", "get"), ("1", "put")], [("c0", "get"), ("c1", "put")]]
    (own,) = substitute_turns(two, [result("1"), result("0")])
    assert called(own) == [("0", "get"), ("1", "put")]
