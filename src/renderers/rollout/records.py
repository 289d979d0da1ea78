"""Rollouts as JSON data. It has everything but the renderer and the client."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from renderers.client.completion import Completion
from renderers.client.completion_checks import check_completion
from renderers.client.evidence import read_weight_versions
from renderers.core.completions import ParsedResponse
from renderers.core.jsontypes import JsonObject
from renderers.core.messages import normalise_data
from renderers.core.token_ids import as_ids
from renderers.errors import EngineError, MessageError
from renderers.rollout.position import Position, RolloutOptions, StopReason
from renderers.rollout.trajectory import Prompt, Trajectory, Turn
from renderers.rollout.typed_json import read_typed

if TYPE_CHECKING:
    from renderers.rollout.recorded import RecordedRollout

R = TypeVar("R", bound="RecordedRollout")
T = TypeVar("T")

FORMAT = "renderers.rollout"
VERSION = 1
"""Increased with every change of the format that earlier versions cannot read."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class _SavedTurn:
    rollout: int
    prompt: int
    """The index of the prompt."""
    completion: Completion
    parsed: ParsedResponse
    message: JsonObject


@dataclasses.dataclass(frozen=True, kw_only=True)
class _SavedPosition:
    prompt: int
    """The index of the prompt."""
    is_rendered: bool
    turn: int | None


@dataclasses.dataclass(frozen=True, kw_only=True)
class _SavedState:
    """The state of a rollout or of a fork."""

    lineage: list[int]
    base: int | None
    position: _SavedPosition
    stopped: StopReason | None
    reward: float | None
    advantage: float | None
    extras: dict[str, Any]


@dataclasses.dataclass(frozen=True, kw_only=True)
class _SavedRollout:
    """A record: a rollout and its forks."""

    format: str
    version: int
    options: RolloutOptions
    prompts: list[Prompt]
    turns: list[_SavedTurn]
    rollouts: list[_SavedState]
    """The rollout itself, then its forks, each after the rollout that it is a fork of."""
    starts: list[int]
    """The number of turns when each rollout of the trajectory began."""


def to_record(rollout: RecordedRollout) -> JsonObject:
    """Return a rollout and its forks as JSON data.

    Raises:
        ValueError: A value of the caller or of the engine is not JSON data. Names its place.
    """
    prompts: list[Prompt] = []
    numbers: dict[int, int] = {}

    def number_of(prompt: Prompt) -> int:
        # Turns that were sampled from one prompt share the object.
        if id(prompt) not in numbers:
            numbers[id(prompt)] = len(prompts)
            prompts.append(prompt)
        return numbers[id(prompt)]

    trajectory = rollout._trajectory
    turns = [_turn_record(turn, number_of(turn.prompt)) for turn in trajectory.turns]
    states = [_state_record(fork, number_of(fork._position.prompt)) for fork in rollout.self_and_forks()]
    return {
        "format": FORMAT,
        "version": VERSION,
        "options": _json_data(dataclasses.asdict(rollout._options), "options"),
        "prompts": [_prompt_record(prompt) for prompt in prompts],
        "turns": turns,
        "rollouts": states,
        "starts": list(trajectory.starts),
    }


def from_record(record: JsonObject, create: Callable[..., R]) -> R:
    """Return the rollout of a record, with its forks.

    Args:
        record: The result of `to_record`, as it is read from JSON.
        create: A function that makes a rollout from the arguments of `RecordedRollout`.

    Raises:
        TypeError, ValueError: The record is damaged.
    """
    saved = read_typed(_SavedRollout, record)
    turns = [_restore_turn(number, turn, saved.prompts) for number, turn in enumerate(saved.turns)]
    for number, prompt in enumerate(saved.prompts):
        _check_prompt(number, prompt, turns)
    trajectory = Trajectory(turns, saved.starts)
    rollouts: dict[int, R] = {}
    for state in saved.rollouts:
        *parents, number = state.lineage
        for each in state.lineage:
            _item(saved.starts, each, "rollout")
        position = _restore_position(state.position, saved.prompts, trajectory)
        rollout = create(saved.options, trajectory, position, lineage=(*parents, number))
        rollout._base = None if state.base is None else _item(turns, state.base, "turn").number
        rollout._stopped = state.stopped
        rollout.reward, rollout.advantage, rollout.extras = state.reward, state.advantage, state.extras
        if rollouts:
            _item(rollouts, parents[-1] if parents else None, "rollout").forks.append(rollout)
        rollouts[number] = rollout
    return _item(rollouts, next(iter(rollouts), None), "rollout")


def _item(items: Sequence[T] | dict[int, T], index: int | None, name: str) -> T:
    """Return an item of a record.

    Raises:
        ValueError: There is none.
    """
    indices = items.keys() if isinstance(items, dict) else range(len(items))
    if index is None or index not in indices:
        raise ValueError(f"there is no {name} {index}")
    return items[index]


def _json_data(value: Any, *path: str | int) -> Any:
    try:
        return normalise_data(value, path=path)
    except MessageError as error:
        # No message is wrong.
        raise ValueError(f"the rollout cannot be saved: {error}") from error


def _prompt_record(prompt: Prompt) -> JsonObject:
    refusal = None if prompt.refusal is None else dataclasses.asdict(prompt.refusal)
    return {**_fields_of(prompt), "messages": list(prompt.messages), "refusal": refusal}


def _check_prompt(number: int, prompt: Prompt, turns: Sequence[Turn]) -> None:
    """Raise a `ValueError` if a prompt does not follow the turn that it names."""
    as_ids(prompt.token_ids, name=f"the ids of prompt {number}")
    before = [_item(turns, turn, "turn") for turn in (prompt.parent, prompt.rendered_after) if turn is not None]
    if prompt.start != (0 if prompt.parent is None else before[0].end):
        raise ValueError(f"prompt {number} does not begin at the end of a turn")


def _fields_of(value: Prompt | Completion) -> JsonObject:
    """Return the fields of a dataclass. `dataclasses.asdict` would copy every token id."""
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}


def _turn_record(turn: Turn, prompt: int) -> JsonObject:
    return {
        "rollout": turn.rollout,
        "prompt": prompt,
        "completion": _json_data(_fields_of(turn.completion), "turns", turn.number, "completion"),
        "parsed": dataclasses.asdict(turn.parsed),
        "message": turn.message,
    }


def _restore_turn(number: int, saved: _SavedTurn, prompts: Sequence[Prompt]) -> Turn:
    try:
        completion = check_completion(saved.completion)
        versions = [version._asdict() for version in completion.weight_versions]
        read_weight_versions(versions, name="weight_versions", count=len(completion.token_ids))
    except (EngineError, TypeError, ValueError) as error:
        raise ValueError(f"turn {number}: {error}") from error
    prompt = _item(prompts, saved.prompt, "prompt")
    if prompt.follows is not None and prompt.follows >= number:
        raise ValueError(f"turn {number} follows turn {prompt.follows}")
    return Turn(
        number=number,
        rollout=saved.rollout,
        prompt=prompt,
        completion=completion,
        parsed=saved.parsed,
        message=saved.message,
    )


def _state_record(rollout: RecordedRollout, prompt: int) -> JsonObject:
    position = rollout._position
    turn = None if position.turn is None else position.turn.number
    return {
        "lineage": list(rollout._lineage),
        "base": rollout._base,
        "position": {"prompt": prompt, "is_rendered": position.prompt_ids is not None, "turn": turn},
        "stopped": rollout._stopped,
        "reward": rollout.reward,
        "advantage": rollout.advantage,
        "extras": _json_data(rollout.extras, "extras"),
    }


def _restore_position(saved: _SavedPosition, prompts: Sequence[Prompt], trajectory: Trajectory) -> Position:
    prompt = _item(prompts, saved.prompt, "prompt")
    ids = trajectory.ids_before(prompt) + prompt.token_ids if saved.is_rendered else None
    return Position(prompt, ids, None if saved.turn is None else _item(trajectory.turns, saved.turn, "turn"))
