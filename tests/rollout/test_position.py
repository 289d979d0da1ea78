"""Tests of `renderers.rollout.position`."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from renderers.rollout.position import RolloutOptions
from tests.rollout.test_rows import make_turn


@pytest.mark.parametrize(
    ("given", "own", "expected"),
    [
        ({}, {}, {"max_tokens": 60}),
        ({"max_tokens": 20}, {}, {"max_tokens": 20}),
        ({"max_tokens": 20}, {"max_tokens": 100}, {"max_tokens": 60}),
        ({"max_tokens": None, "seed": 1}, {"seed": 2}, {"max_tokens": 60, "seed": 2}),
        ({"min_tokens": 80, "max_tokens": 90}, {}, {"min_tokens": 60, "max_tokens": 60}),
        ({"min_tokens": 80}, {"min_tokens": 5}, {"min_tokens": 5, "max_tokens": 60}),
        ({"min_tokens": None}, {}, {"min_tokens": None, "max_tokens": 60}),
    ],
)
def test_a_turn_gets_at_most_the_tokens_that_are_left(given: Any, own: Any, expected: dict[str, Any]) -> None:
    options = RolloutOptions(sampling_params=given, max_total_tokens=100)
    assert options.sampling_params_for(40, own) == {**expected, "stop_token_ids": []}


def test_without_a_limit_the_parameters_are_left_as_they_are() -> None:
    assert RolloutOptions(sampling_params={"seed": 1}).sampling_params_for(40, {}) == {"seed": 1, "stop_token_ids": []}


def test_the_stop_tokens_of_the_renderer_are_added() -> None:
    options = RolloutOptions(stop_token_ids=(7, 8), sampling_params={"stop_token_ids": [8, 9]})
    assert options.sampling_params_for(0, {})["stop_token_ids"] == [7, 8, 9]
    assert options.sampling_params["stop_token_ids"] == [8, 9]


def test_a_turn_at_the_limit_stops_the_rollout() -> None:
    turn = make_turn(0, [1, 2], [3, 4])
    limits = (3, 4, 5)
    reasons = [RolloutOptions(max_total_tokens=limit).stop_reason_after(turn) for limit in limits]
    assert reasons == ["max_total_tokens", "max_total_tokens", None]


@pytest.mark.parametrize("reason", ["length", "abort", "repetition", "stop", None])
def test_a_turn_that_was_cut_off_stops_the_rollout(reason: Any) -> None:
    turn = make_turn(0, [1, 2], [3, 4])
    turn = dataclasses.replace(turn, completion=dataclasses.replace(turn.completion, finish_reason=reason))
    assert RolloutOptions(on_length="stop").stop_reason_after(turn) == (None if reason == "stop" else reason)
    assert RolloutOptions().stop_reason_after(turn) is None
