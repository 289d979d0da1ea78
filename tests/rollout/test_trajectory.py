"""Tests of `renderers.rollout.trajectory`."""

from __future__ import annotations

import dataclasses

import pytest

from renderers.client.completion import Completion
from renderers.core.completions import ParsedResponse
from renderers.rollout.trajectory import Prompt, Trajectory, Turn

PARENTS = {0: None, 1: 0, 2: 0, 3: 1, 4: None, 5: 3, 6: 4}
"""The turn that each turn follows: two branches from turn 0, and one from turn 4."""


def make(number: int, turns: list[Turn]) -> Turn:
    parent = PARENTS[number]
    prompt = Prompt(
        parent=parent,
        messages=({"role": "user", "content": f"q{number}"},),
        token_ids=[10 * number, 10 * number + 1],
        start=0 if parent is None else turns[parent].end,
    )
    return Turn(
        number=number,
        rollout=0,
        prompt=prompt,
        completion=Completion(token_ids=[10 * number + 5], logprobs=[-1.0], finish_reason="stop"),
        parsed=ParsedResponse(f"a{number}"),
        message={"role": "assistant", "content": f"a{number}"},
    )


@pytest.fixture
def trajectory() -> Trajectory:
    turns: list[Turn] = []
    for number in PARENTS:
        turns.append(make(number, turns))
    return Trajectory(turns)


def test_a_path_begins_with_a_rendered_conversation(trajectory: Trajectory) -> None:
    assert [turn.number for turn in trajectory.path_to(5)] == [0, 1, 3, 5]
    assert [turn.number for turn in trajectory.path_to(6)] == [4, 6]
    assert trajectory.path_to(None) == []


def test_representations_have_numbers_in_place_of_ids(trajectory: Trajectory) -> None:
    assert repr(trajectory.turns[1]) == (
        "Turn(number=1, rollout=0, <5 tokens before it>, <1 tokens>, finish_reason='stop', "
        "message={'role': 'assistant', 'content': 'a1'})"
    )
    [branch] = trajectory.branches([0, 1])
    assert repr(branch) == "Branch(Prompt(<1 messages>, <2 tokens>, follows=None), turns=[0, 1], shared_turns=0)"


def test_turns_before_a_prompt_are_those_of_the_conversation(trajectory: Trajectory) -> None:
    prompt = dataclasses.replace(trajectory.turns[4].prompt, rendered_after=3)
    assert prompt.follows == 3
    before = [trajectory.turn_before(prompt, count) for count in range(1, 5)]
    assert [None if turn is None else turn.number for turn in before] == [3, 1, 0, None]
    assert trajectory.turns[3].prompt.follows == trajectory.turns[3].prompt.parent == 1


def test_the_ids_and_messages_before_a_prompt_are_those_of_its_path(trajectory: Trajectory) -> None:
    prompt = trajectory.turns[3].prompt
    assert trajectory.ids_before(prompt) == [0, 1, 5, 10, 11, 15]
    assert len(trajectory.ids_before(prompt)) == prompt.start
    assert [message["content"] for message in trajectory.messages_before(prompt)] == ["q0", "a0", "q1", "a1"]
    assert trajectory.ids_before(trajectory.turns[4].prompt) == []


def test_a_branch_is_a_path_that_no_turn_extends(trajectory: Trajectory) -> None:
    branches = trajectory.branches(PARENTS)
    assert [[turn.number for turn in branch.turns] for branch in branches] == [[0, 2], [0, 1, 3, 5], [4, 6]]
    assert [branch.shared_turns for branch in branches] == [0, 1, 0]
    assert branches[0].token_ids == [0, 1, 5, 20, 21, 25]
    assert [message["content"] for message in branches[2].messages] == ["q4", "a4", "q6", "a6"]


def test_branches_are_in_the_order_of_the_rollouts_that_sampled_them(trajectory: Trajectory) -> None:
    turns = [dataclasses.replace(turn, rollout={2: 3, 5: 1, 6: 2}.get(turn.number, 0)) for turn in trajectory.turns]
    branches = Trajectory(turns).branches(PARENTS, rollouts=[2, 1, 3])
    assert [branch.turns[-1].number for branch in branches] == [6, 5, 2]
    assert [branch.shared_turns for branch in branches] == [0, 0, 1]


def test_branches_of_some_turns_end_with_them(trajectory: Trajectory) -> None:
    branches = trajectory.branches([0, 1, 4])
    assert [[turn.number for turn in branch.turns] for branch in branches] == [[0, 1], [4]]
    assert trajectory.branches([]) == []


def test_every_turn_is_in_a_branch(trajectory: Trajectory) -> None:
    branches = trajectory.branches(PARENTS)
    assert {turn.number for branch in branches for turn in branch.turns} == {*PARENTS}
