"""Tests of `renderers.rollout.matching`."""

from __future__ import annotations

from typing import Any

import pytest

from renderers.client.completion import Completion
from renderers.core.completions import ParsedResponse
from renderers.rollout.matching import find_history, is_same_message, with_recorded_ids
from renderers.rollout.trajectory import Prompt, Turn

CALLS = [{"type": "function", "function": {"name": "search", "arguments": {"query": "sky", "limit": 3}}}]
SAMPLED = {"role": "assistant", "content": " Let me see.\n", "reasoning_content": "Look.\n", "tool_calls": CALLS}


def call(arguments: Any, name: str = "search") -> list[dict[str, Any]]:
    return [{"id": "call_1", "type": "function", "function": {"name": name, "arguments": arguments}}]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"content": "Let me see."},
        {"content": [{"type": "text", "text": "Let me see."}]},
        {"reasoning_content": "Look."},
        {"reasoning_content": None},
        {"reasoning_content": ""},
        {"reasoning_content": None, "thinking": "Look."},
        {
            "reasoning_content": None,
            "content": [{"type": "thinking", "thinking": "Look."}, {"type": "text", "text": "Let me see."}],
        },
        {"tool_calls": call('{"limit":3,"query":"sky"}')},
        {"tool_calls": call({"limit": 3, "query": "sky"})},
        {"tool_calls": [CALLS[0]["function"]]},
        {"refusal": None, "annotations": [], "provider": {"id": 3}},
    ],
)
def test_a_message_that_a_harness_normalised_is_the_sampled_one(changes: dict[str, Any]) -> None:
    assert is_same_message(SAMPLED, {**SAMPLED, **changes})


@pytest.mark.parametrize(
    "changes",
    [
        {"role": "user"},
        {"content": "Let me look."},
        {"content": ""},
        {"content": [{"type": "image"}]},
        {"reasoning_content": "Other."},
        {
            "reasoning_content": None,
            "content": [{"type": "thinking", "thinking": "Other."}, {"type": "text", "text": "Let me see."}],
        },
        {"tool_calls": []},
        {"tool_calls": call({"query": "sky"})},
        {"tool_calls": call("no JSON")},
        {"tool_calls": call({"query": "sky", "limit": "3"})},
        {"tool_calls": call({"limit": 3, "query": "sky"}, name="find")},
        {"tool_calls": [*CALLS, *CALLS]},
    ],
)
def test_a_message_with_other_content_is_another_one(changes: dict[str, Any]) -> None:
    assert not is_same_message(SAMPLED, {**SAMPLED, **changes})


def test_reasoning_that_was_not_sampled_makes_another_message() -> None:
    sampled = {"role": "assistant", "content": "Hi"}
    assert not is_same_message(sampled, {**sampled, "reasoning_content": "They greet."})


def test_a_call_without_arguments_is_equal_in_all_its_forms() -> None:
    arguments: list[Any] = [{}, "{}", "", None]
    forms = [{"role": "assistant", "content": "", "tool_calls": call(form)} for form in arguments]
    assert all(is_same_message(forms[0], form) for form in forms)


def test_numbers_and_booleans_of_arguments_differ() -> None:
    one, true = ({"role": "assistant", "content": "", "tool_calls": call({"n": value})} for value in (1, True))
    assert not is_same_message(one, true)
    assert not is_same_message(one, {**one, "tool_calls": call('{"n": true}')})
    assert is_same_message(one, {**one, "tool_calls": call('{"n": 1.0}')})


def test_other_messages_must_be_equal() -> None:
    question = {"role": "user", "content": "Hi"}
    assert is_same_message(question, {**question, "name": None})
    assert not is_same_message(question, {**question, "name": "Ada"})
    assert not is_same_message(question, {**question, "content": "Hi "})


def test_results_get_the_recorded_ids_of_their_calls() -> None:
    recorded: list[Any] = [{"role": "assistant", "tool_calls": [{"id": "functions.a:0"}, {"function": {}}]}]
    replayed: list[Any] = [{"role": "assistant", "tool_calls": [{"id": "x"}, {"id": "y"}]}]
    new = [{"role": "tool", "tool_call_id": number} for number in ("x", "y", "z")]
    first, *results = with_recorded_ids([*replayed, *new], recorded)
    assert [call["id"] for call in first["tool_calls"]] == ["functions.a:0", "y"]
    assert [message["tool_call_id"] for message in results] == ["functions.a:0", "y", "z"]
    assert with_recorded_ids([{"role": "user"}], []) == [{"role": "user"}]


def test_an_id_that_a_harness_uses_again_belongs_to_the_last_call() -> None:
    recorded: list[Any] = [{"role": "assistant", "tool_calls": [{"id": "functions.a:0"}]}]
    replayed: list[Any] = [{"role": "assistant", "tool_calls": [{"id": "x"}]}, {"role": "tool", "tool_call_id": "x"}]
    results = with_recorded_ids([*replayed, *replayed], recorded)[1::2]
    assert [message["tool_call_id"] for message in results] == ["functions.a:0", "x"]


def turn(number: int, answer: str, *questions: str, parent: int | None = None) -> Turn:
    messages = tuple({"role": "user", "content": question} for question in questions)
    return Turn(
        number=number,
        rollout=0,
        prompt=Prompt(parent=parent, messages=messages, token_ids=[1]),
        completion=Completion(token_ids=[2], logprobs=[-1.0], finish_reason="stop"),
        parsed=ParsedResponse(answer),
        message={"role": "assistant", "content": answer},
    )


def conversation(*texts: str) -> list[dict[str, Any]]:
    return [{"role": ("user", "assistant")[at % 2], "content": text} for at, text in enumerate(texts)]


TURNS = [turn(0, "a", "q"), turn(1, "b", "r", parent=0), turn(2, "a", "q"), turn(3, "c", "s", parent=2)]


@pytest.mark.parametrize(
    ("texts", "latest", "expected"),
    [
        (("q",), (0, 1), None),
        (("q", "other"), (0, 1), None),
        (("q", "a"), (0, 1), (0, 2)),
        (("q", "a", "new"), (2, 3), (2, 2)),
        (("q", "a", "r", "b", "new"), (0, 1), (1, 4)),
        (("q", "a", "r", "b", "new"), (2, 3), (1, 4)),
        (("q", "a", "s", "c"), (0, 1), (3, 4)),
        (("q", "a", "s", "c", "t", "d"), (), (3, 4)),
    ],
)
def test_the_longest_history_is_found(
    texts: tuple[str, ...], latest: tuple[int, ...], expected: tuple[int, int] | None
) -> None:
    found = find_history(TURNS, conversation(*texts), latest=[TURNS[number] for number in latest])
    assert (None if found is None else (found.turn.number, found.end)) == expected
