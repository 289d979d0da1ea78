"""`RolloutRow`: a row of training data with sampled tokens, their logprobs and their advantages."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from renderers.client.completion import WeightVersion
from renderers.core.text import describe_type
from renderers.rollout.trajectory import Branch
from renderers.training import RenderedTrainingSample, TrainedTurn

Shared = Literal["once", "each"]
"""Which rows train a turn that several of them contain: the first row, or each of them."""


class SharedSpan(NamedTuple):
    """Sampled tokens that several rows contain at the same position, from `start` up to `end`."""

    start: int
    end: int
    rows: tuple[int, ...]
    """The indices of all rows with these tokens. With `shared="once"`, the first of them trains them."""


@dataclass(frozen=True)
class RolloutRow(RenderedTrainingSample):
    """The tokens of a branch of a rollout. Sampled tokens have the logprobs that the engine returned."""

    logprobs: list[float] = field(default_factory=list)
    """The logprob of each sampled token. 0.0 for tokens that were not sampled."""
    sampled_mask: list[bool] = field(default_factory=list)
    """Whether the token was sampled. A sampled token that another row trains is not in `loss_mask`."""
    advantages: list[float] = field(default_factory=list)
    """The advantage of each trained token, 0.0 for other tokens. Empty if no advantage was given."""
    reward: float | None = None
    extras: Mapping[str, Any] = field(default_factory=dict)
    """Values of the caller."""
    shared: tuple[SharedSpan, ...] = ()
    """The sampled tokens that other rows contain as well."""
    weight_versions: tuple[WeightVersion, ...] = ()
    """The versions of the weights that sampled the tokens, by position in the row."""
    rollout: int = 0
    """`Rollout.number` of the rollout or fork that the row belongs to."""

    @property
    def columns(self) -> dict[str, list[float]]:
        """The logprobs, and the advantages if there are any: `pack` and `collate` keep them."""
        return {"logprobs": self.logprobs} | ({"advantages": self.advantages} if self.advantages else {})


@dataclass(frozen=True, kw_only=True)
class RowValues:
    """The number of a rollout, and the values of the caller for its rows."""

    reward: float | None = None
    advantage: float | None = None
    extras: Mapping[str, Any] = field(default_factory=dict)
    rollout: int = 0


def finite_or_none(value: Any, *, name: str) -> float | None:
    """Return a number, such as one of NumPy or PyTorch, as a float.

    Raises:
        TypeError: The value is neither None nor a number.
        ValueError: The number is not finite.
    """
    if value is None:
        return None
    if isinstance(value, str | bytes) or not hasattr(value, "__float__"):
        raise TypeError(f"{name} must be a number or None, not {describe_type(value)}")
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{name} must be finite, not {number}")
    return number


def build_rows(
    branches: Sequence[Branch], values: Sequence[RowValues], *, shared: Shared, stop_token_ids: Collection[int]
) -> list[RolloutRow]:
    """Return a row for each branch."""
    rows_with: dict[int, list[int]] = {}
    for index, branch in enumerate(branches):
        for turn in branch.turns:
            rows_with.setdefault(turn.number, []).append(index)
    rows = []
    for index, (branch, value) in enumerate(zip(branches, values, strict=True)):
        trained = {turn.number for turn in branch.turns if shared == "each" or rows_with[turn.number][0] == index}
        rows.append(_build_row(branch, value, rows_with, trained, stop_token_ids))
    return rows


def _build_row(
    branch: Branch,
    values: RowValues,
    rows_with: Mapping[int, Sequence[int]],
    trained: Collection[int],
    stop_token_ids: Collection[int],
) -> RolloutRow:
    mask: list[bool] = []
    sampled: list[bool] = []
    logprobs: list[float] = []
    turns: list[TrainedTurn] = []
    spans: list[SharedSpan] = []
    versions: list[WeightVersion] = []
    messages = itertools.accumulate(len(turn.prompt.messages) + 1 for turn in branch.turns)
    for turn, end_of_messages in zip(branch.turns, messages, strict=True):
        ids, start, end = turn.token_ids, turn.prompt.end, turn.end
        added, count, is_trained = len(turn.prompt.token_ids), len(ids), turn.number in trained
        mask += [False] * added + [is_trained] * count
        sampled += [False] * added + [True] * count
        logprobs += [0.0] * added
        logprobs += turn.logprobs
        if is_trained:
            has_stop = bool(ids) and ids[-1] in stop_token_ids
            turns.append(TrainedTurn(end_of_messages - 1, start, end, has_stop, follows_prompt=True))
        if len(rows_with[turn.number]) > 1:
            spans.append(SharedSpan(start, end, tuple(rows_with[turn.number])))
        versions += [
            WeightVersion(version, start + first, start + last)
            for version, first, last in turn.completion.weight_versions
        ]
    advantage = values.advantage
    return RolloutRow(
        branch.token_ids,
        mask,
        turns=tuple(turns),
        logprobs=logprobs,
        sampled_mask=sampled,
        advantages=[] if advantage is None else [advantage if is_trained else 0.0 for is_trained in mask],
        reward=values.reward,
        extras=dict(values.extras),
        shared=tuple(spans),
        weight_versions=tuple(versions),
        rollout=values.rollout,
    )
