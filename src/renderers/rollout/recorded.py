"""`RecordedRollout`: the turns of a rollout, its branches and its training rows. It needs no renderer and no client."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, Self, get_args

from renderers.core.arguments import check_mapping
from renderers.core.caller_warnings import warn_caller
from renderers.core.jsontypes import JsonObject
from renderers.core.messages import normalise_data
from renderers.errors import RolloutError, UnusedRewardWarning
from renderers.rollout.files import write_records
from renderers.rollout.position import Position, RolloutOptions, StopReason
from renderers.rollout.records import to_record
from renderers.rollout.rows import RolloutRow, RowValues, Shared, build_rows, finite_or_none
from renderers.rollout.trajectory import Branch, Prompt, Trajectory, Turn


class RecordedRollout:
    """The part of a rollout that needs neither a renderer nor a client. `Rollout` adds the sampling."""

    forks: list[Self]
    """The rollouts that `fork` has returned."""
    extras: dict[str, Any]
    """Values of the caller for the rows of this rollout. They must be JSON data to be saved."""

    def __init__(
        self, options: RolloutOptions, trajectory: Trajectory, position: Position, *, lineage: tuple[int, ...]
    ) -> None:
        self.forks, self.extras = [], {}
        self._reward: float | None = None
        self._advantage: float | None = None
        self._options, self._trajectory, self._position = options, trajectory, position
        self._lineage = lineage
        """The numbers of the rollouts that this is a fork of, then its own."""
        self._stopped: StopReason | None = None
        self._base = self._branch_turns[-1].number if lineage[:-1] and self._branch_turns else None
        """The last turn before a fork began. None if there is none, or if this is not a fork."""
        self._is_sampling = False

    def __repr__(self) -> str:
        turns, forks = len(self.turns), len(self.forks)
        return f"{type(self).__name__}(<{turns} turns>, <{forks} forks>, stop_reason={self.stop_reason!r})"

    @property
    def number(self) -> int:
        """0, or the number of a fork. `Turn.rollout` is the number of the rollout that sampled the turn."""
        return self._lineage[-1]

    @property
    def reward(self) -> float | None:
        """The reward of the rows of this rollout. Its forks have rewards of their own."""
        return self._reward

    @reward.setter
    def reward(self, value: float | None) -> None:
        self._reward = finite_or_none(value, name="reward")

    @property
    def advantage(self) -> float | None:
        """The advantage of the tokens in the rows of this rollout."""
        return self._advantage

    @advantage.setter
    def advantage(self, value: float | None) -> None:
        self._advantage = finite_or_none(value, name="advantage")

    @property
    def messages(self) -> list[JsonObject]:
        """A copy of the conversation up to now, with the sampled turns."""
        copied: list[JsonObject] = normalise_data(self._messages_at(self._position))
        return copied

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The sampled turns of the conversation, in order, with those before a refused bridge."""
        turn, prompt = self._position.turn, self._position.prompt
        return tuple(self._trajectory.conversation_to(prompt.follows if turn is None else turn.number))

    @property
    def _branch_turns(self) -> tuple[Turn, ...]:
        turn, prompt = self._position.turn, self._position.prompt
        return tuple(self._trajectory.path_to(prompt.parent if turn is None else turn.number))

    @property
    def _first_prompt(self) -> Prompt:
        """The first prompt that was sampled from, or the present one."""
        turns = self._trajectory.turns
        return turns[0].prompt if turns else self._position.prompt

    @property
    def branches(self) -> tuple[Branch, ...]:
        """The branches of this rollout, then those of its forks. `rows` returns a row for each, in the same order."""
        rollouts = [rollout.number for rollout in self.self_and_forks()]
        return tuple(self._trajectory.branches(self._own_turns(), rollouts=rollouts))

    @property
    def stop_reason(self) -> StopReason | None:
        """Why `generate` samples no more turns. None if it does."""
        ids, limit = self._position.prompt_ids, self._options.max_total_tokens
        if self._stopped is None and ids is not None and limit is not None and len(ids) >= limit:
            return "max_total_tokens"
        return self._stopped

    def rows(
        self,
        *,
        shared: Shared = "once",
        reward: float | None = None,
        advantage: float | None = None,
        extras: Mapping[str, Any] | None = None,
    ) -> list[RolloutRow]:
        """Return a training row for each branch of this rollout, then for those of each fork.

        Every sampled token is in a row, with its logprob. A turn that several rows contain, such as one before a fork,
        is trained in the first of them, or in each with `shared="each"`. The order does not depend on the time at which
        forks sampled their turns. A fork that sampled no turn has no row: an `UnusedRewardWarning` is issued if it has
        a reward or an advantage.

        Args:
            shared: `"once"` or `"each"`.
            reward: The reward of the rows of rollouts with no `reward` of their own.
            advantage: The same for the advantage. All tokens that a row trains have it.
            extras: More values for each row. The `extras` of a rollout take precedence.

        Raises:
            TypeError: `reward` or `advantage` is not a number, or `extras` is not a dict.
            ValueError: One of them is not finite, or `shared` is neither of these.
        """
        more = check_mapping("extras", extras)
        reward, advantage = finite_or_none(reward, name="reward"), finite_or_none(advantage, name="advantage")
        if shared not in get_args(Shared):
            raise ValueError(f"shared must be one of {', '.join(map(repr, get_args(Shared)))}, not {shared!r}")
        rollouts = {rollout.number: rollout for rollout in self.self_and_forks()}

        def values_of(branch: Branch) -> RowValues:
            rollout = rollouts.get(branch.turns[-1].rollout, self)
            return RowValues(
                reward=reward if rollout.reward is None else rollout.reward,
                advantage=advantage if rollout.advantage is None else rollout.advantage,
                extras={**more, **rollout.extras},
                rollout=rollout.number,
            )

        branches = self.branches
        values = [values_of(branch) for branch in branches]
        self._warn_of_unused_rewards()
        return build_rows(branches, values, shared=shared, stop_token_ids=self._options.stop_token_ids)

    def rewind(self, turns: int = 1) -> None:
        """Go back to the prompt of the last turn, or of an earlier one, to sample it again.

        The turns after it stay in a branch of their own.

        Raises:
            ValueError: The conversation has fewer sampled turns.
            RolloutError: `generate` is running.
        """
        self._check_idle()
        if type(turns) is not int or turns < 1:
            raise ValueError(f"turns must be a positive number of turns, not {turns!r}")
        last, prompt = self._position.turn, self._position.prompt
        if last is None or turns > 1:
            last = self._trajectory.turn_before(prompt, turns if last is None else turns - 1)
        if last is None:
            count = len(self.turns)
            raise ValueError(
                f"turns is {turns}, and {count or 'no'} sampled {'turn is' if count == 1 else 'turns are'} before this "
                "position. Sample a turn, or go back fewer turns."
            )
        self._position, self._stopped = self._at(last.prompt), None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the rollout and its forks to a file, as one line of JSON. `save_rollouts` writes several rollouts.

        Raises:
            ValueError: A value in `extras`, in `sampling_params` or of the engine is not JSON data. Names its place.
            OSError: The file cannot be written.
        """
        write_records(path, [to_record(self)])

    def self_and_forks(self) -> Iterator[Self]:
        """Yield this rollout, then its forks, each before its own forks."""
        yield self
        for fork in self.forks:
            yield from fork.self_and_forks()

    def _own_turns(self) -> Iterator[int]:
        """Yield the turns of this rollout and its forks, and the turn that it began after."""
        numbers = {rollout.number for rollout in self.self_and_forks()}
        if self._base is not None:
            yield self._base
        for turn in self._trajectory.turns:
            if turn.rollout in numbers:
                yield turn.number

    def _warn_of_unused_rewards(self) -> None:
        """Warn of forks with a reward or an advantage that have no row."""
        sampled = {turn.rollout for turn in self._trajectory.turns}
        numbers = [
            fork.number
            for fork in self.self_and_forks()
            if fork is not self and fork.number not in sampled and (fork.reward, fork.advantage) != (None, None)
        ]
        if numbers:
            warn_caller(
                f"forks with a reward or an advantage sampled no turn, so they have no row: {numbers}. Set the "
                "reward of the rollout that was forked, or sample a turn of each fork.",
                UnusedRewardWarning,
            )

    def _messages_at(self, position: Position) -> list[JsonObject]:
        turn, prompt = position.turn, position.prompt
        messages = [*self._trajectory.messages_before(prompt), *prompt.messages]
        return messages if turn is None else [*messages, turn.message]

    def _at(self, prompt: Prompt) -> Position:
        return Position(prompt, self._trajectory.ids_before(prompt) + prompt.token_ids)

    def _after(self, turn: Turn) -> Position:
        if self._position.turn is turn:
            return self._position
        return self._at(turn.prompt)._replace(turn=turn)

    def _check_idle(self) -> None:
        if self._is_sampling:
            raise RolloutError("generate is still running. Wait for it, or call fork first to sample several turns.")

    def __copy__(self) -> Self:
        # A shallow copy would add its turns to the trajectory of this rollout.
        raise TypeError("a rollout cannot be copied with copy.copy. Use copy.deepcopy, or fork to share its turns.")

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_is_sampling": False}
