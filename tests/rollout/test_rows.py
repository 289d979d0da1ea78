"""Tests of `renderers.rollout.rows`."""

from __future__ import annotations

import dataclasses

import pytest

from renderers.client.completion import Completion, WeightVersion
from renderers.core.completions import ParsedResponse
from renderers.rollout.rows import RolloutRow, RowValues, Shared, SharedSpan, build_rows
from renderers.rollout.trajectory import Prompt, Trajectory, Turn
from renderers.training import TrainedTurn, collate, pack

STOP = 9


def make_turn(
    number: int, prompt_ids: list[int], ids: list[int], parent: Turn | None = None, *, messages: int = 1
) -> Turn:
    prompt = Prompt(
        parent=None if parent is None else parent.number,
        messages=tuple({"role": "user", "content": str(at)} for at in range(messages)),
        token_ids=prompt_ids,
        start=0 if parent is None else parent.end,
    )
    logprobs = [-float(number) - at / 16 for at in range(1, len(ids) + 1)]
    versions = (WeightVersion(f"v{number}", 0, len(ids)),)
    completion = Completion(token_ids=ids, logprobs=logprobs, finish_reason="stop", weight_versions=versions)
    message = {"role": "assistant", "content": ""}
    return Turn(
        number=number, rollout=0, prompt=prompt, completion=completion, parsed=ParsedResponse(""), message=message
    )


FIRST = make_turn(0, [1, 2], [3, STOP], messages=2)
SECOND = make_turn(1, [4], [5, 6], FIRST)
OTHER = make_turn(2, [4], [7, STOP], FIRST)
BRANCHES = Trajectory([FIRST, SECOND, OTHER]).branches(range(3))


def rows_of(shared: Shared = "once", **values: object) -> list[RolloutRow]:
    value = dataclasses.replace(RowValues(), **values)  # type: ignore[arg-type]
    return build_rows(BRANCHES, [value] * len(BRANCHES), shared=shared, stop_token_ids=[STOP])


def test_a_row_has_the_tokens_and_logprobs_of_its_turns() -> None:
    row = rows_of()[0]
    assert row.token_ids == [1, 2, 3, STOP, 4, 5, 6]
    assert row.sampled_mask == row.loss_mask == [False, False, True, True, False, True, True]
    assert row.logprobs == [0.0, 0.0, -0.0625, -0.125, 0.0, -1.0625, -1.125]
    assert row.labels() == [-100, -100, 3, STOP, -100, 5, 6]


def test_a_row_has_the_trained_turns_with_the_indices_of_their_messages() -> None:
    first, second = rows_of()
    assert first.turns == (TrainedTurn(2, 2, 4, True, True), TrainedTurn(4, 5, 7, False, True))
    assert second.turns == (TrainedTurn(4, 5, 7, True, True),)


def test_a_shared_turn_is_trained_once_and_its_span_names_all_rows() -> None:
    first, second = rows_of()
    assert first.shared == second.shared == (SharedSpan(2, 4, (0, 1)),)
    assert second.loss_mask == [False] * 5 + [True] * 2
    assert second.sampled_mask == first.sampled_mask
    assert second.logprobs[2:4] == first.logprobs[2:4]


def test_a_shared_turn_can_be_trained_in_each_row() -> None:
    first, second = rows_of("each")
    assert first.loss_mask == second.loss_mask == first.sampled_mask
    assert len(second.turns) == 2
    assert second.shared == (SharedSpan(2, 4, (0, 1)),)


def test_the_advantages_of_shared_tokens_can_be_summed() -> None:
    advantages = [0.5, -2.0]
    values = [RowValues(advantage=advantage) for advantage in advantages]
    rows = build_rows(BRANCHES, values, shared="once", stop_token_ids=[STOP])
    summed = list(rows[0].advantages)
    for start, end, members in rows[0].shared:
        summed[start:end] = [sum(advantages[row] for row in members)] * (end - start)
    assert summed == [0.0, 0.0, -1.5, -1.5, 0.0, 0.5, 0.5]
    assert rows[1].advantages == [0.0] * 5 + [-2.0] * 2


def test_weight_versions_are_located_in_the_row() -> None:
    assert rows_of()[1].weight_versions == (WeightVersion("v0", 2, 4), WeightVersion("v2", 5, 7))


def test_a_row_has_the_values_of_the_caller() -> None:
    extras = {"task": 3}
    row = rows_of(reward=0.5, extras=extras)[0]
    extras["task"] = 4
    assert (row.reward, row.extras, row.advantages) == (0.5, {"task": 3}, [])


def test_rows_are_collated_with_logprobs_and_advantages() -> None:
    batch = collate(rows_of(advantage=2.0), pad_to_multiple_of=8)
    assert batch["input_ids"].shape == batch["logprobs"].shape == batch["advantages"].shape == (2, 8)
    assert batch["logprobs"][0].tolist() == [0.0, 0.0, -0.0625, -0.125, 0.0, -1.0625, -1.125, 0.0]
    assert batch["advantages"][1].tolist() == [0.0] * 5 + [2.0, 2.0, 0.0]
    assert "advantages" not in collate(rows_of())


def test_rows_are_packed_with_logprobs() -> None:
    rows = rows_of()
    [packed] = pack(rows, 14)
    assert packed.columns == {"logprobs": rows[0].logprobs + rows[1].logprobs}
    assert collate([packed])["logprobs"].shape == (1, 14)


def test_rows_of_different_kinds_are_not_batched_together() -> None:
    mixed = [*rows_of(), *rows_of(advantage=1.0)]
    for batch in (lambda: collate(mixed), lambda: pack(mixed, 100)):
        with pytest.raises(ValueError, match="row 2 has logprobs and advantages, and row 0 has logprobs"):
            batch()


def test_arrays_are_those_of_a_training_sample() -> None:
    arrays = rows_of()[1].arrays()
    assert arrays.labels.tolist() == [-100] * 5 + [7, STOP]
    assert arrays.loss_weights.tolist() == [0.0] * 5 + [1.0] * 2
