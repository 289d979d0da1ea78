"""Tests of `renderers.rollout.recorded`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from renderers.rollout.files import read_rollouts
from renderers.rollout.position import Position, RolloutOptions
from renderers.rollout.recorded import RecordedRollout
from renderers.rollout.trajectory import Trajectory
from tests.rollout.test_rows import FIRST, OTHER, SECOND


def recorded() -> RecordedRollout:
    """Return a rollout after its second turn, which was sampled twice."""
    position = Position(OTHER.prompt, [1, 2, 3, 9, 4], OTHER)
    return RecordedRollout(RolloutOptions(), Trajectory([FIRST, SECOND, OTHER]), position, lineage=(0,))


def test_the_current_branch_ends_at_the_position() -> None:
    rollout = recorded()
    assert list(rollout.turns) == [FIRST, OTHER]
    assert [message["role"] for message in rollout.messages] == ["user", "user", "assistant", "user", "assistant"]
    rollout.rewind()
    assert list(rollout.turns) == [FIRST]
    assert len(rollout.messages) == 4
    rollout.rewind()
    assert list(rollout.turns) == []
    assert len(rollout.branches) == 2


def test_rows_have_the_order_of_branches() -> None:
    rollout = recorded()
    assert [row.token_ids for row in rollout.rows()] == [branch.token_ids for branch in rollout.branches]


def test_values_of_a_rollout_take_precedence() -> None:
    rollout = recorded()
    rollout.reward, rollout.extras = 2.0, {"a": 1}
    row = rollout.rows(reward=1.0, advantage=3.0, extras={"a": 0, "b": 0})[0]
    assert (row.reward, row.extras, max(row.advantages)) == (2.0, {"a": 1, "b": 0}, 3.0)


def test_a_stop_reason_follows_the_length_of_the_prompt() -> None:
    rollout = recorded()
    assert rollout.stop_reason is None
    rollout._options = RolloutOptions(max_total_tokens=5)
    assert rollout.stop_reason == "max_total_tokens"


@pytest.mark.parametrize("name", ["reward", "advantage"])
def test_values_of_other_number_types_are_floats(name: str, tmp_path: Path) -> None:
    rollout = recorded()
    for value in (True, 1, np.float32(1), np.float64(1), np.array(1.0)):
        setattr(rollout, name, value)
        assert type(getattr(rollout, name)) is float
        rollout.save(tmp_path / "rollout.jsonl")
        [loaded] = read_rollouts(tmp_path / "rollout.jsonl", RecordedRollout)
        assert getattr(loaded, name) == 1.0
    setattr(rollout, name, None)
    assert getattr(rollout, name) is None


@pytest.mark.parametrize("name", ["reward", "advantage"])
@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (math.nan, ValueError, "must be finite, not nan"),
        (np.float32("inf"), ValueError, "must be finite, not inf"),
        ("1", TypeError, "must be a number or None, not a str"),
        ([1.0], TypeError, "must be a number or None, not a list"),
    ],
)
def test_values_that_are_not_finite_numbers_are_an_error(
    name: str, value: Any, error: type[Exception], text: str
) -> None:
    rollout = recorded()
    with pytest.raises(error, match=f"{name} {text}"):
        setattr(rollout, name, value)
    with pytest.raises(error, match=f"{name} {text}"):
        rollout.rows(**{name: value})
