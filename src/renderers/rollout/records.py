"""Rollouts as JSON data. It has everything but the renderer and the client."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from renderers.client.completion import Completion
from renderers.core.completions import ParsedResponse
from renderers.core.jsontypes import JsonObject
from renderers.core.messages import normalise_data
from renderers.rollout.position import Position, RolloutOptions
from renderers.rollout.trajectory import Prompt, Trajectory, Turn
from renderers.rollout.typed_json import read_typed

if TYPE_CHECKING:
    from renderers.rollout.recorded import RecordedRollout

R = TypeVar("R", bound="RecordedRollout")

FORMAT = "renderers.rollout"
VERSION = 1
"""Increased with every change of the format that earlier versions cannot read."""


def to_record(rollout: RecordedRollout) -> JsonObject:
    """Return a rollout and its forks as JSON data.

    Raises:
        MessageError: A value of the caller or of the engine is not JSON data. Names its place.
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
    rollouts = [_rollout_record(fork, number_of(fork._position.prompt)) for fork in rollout.self_and_forks()]
    return {
        "format": FORMAT,
        "version": VERSION,
        "options": normalise_data(dataclasses.asdict(rollout._options), path=("options",)),
        "prompts": [_prompt_record(prompt) for prompt in prompts],
        "turns": turns,
        "rollouts": rollouts,
        "count": trajectory.rollouts,
    }


def from_record(record: Mapping[str, Any], create: Callable[..., R]) -> R:
    """Return the rollout of a record, with its forks.

    Args:
        record: The result of `to_record`.
        create: A function that makes a rollout from the arguments of `RecordedRollout`.

    Raises:
        KeyError, TypeError, ValueError, IndexError, AttributeError: The record is damaged.
    """
    prompts = [read_typed(Prompt, prompt) for prompt in record["prompts"]]
    turns = [_read_turn(number, turn, prompts) for number, turn in enumerate(record["turns"])]
    trajectory = Trajectory(turns, record["count"])
    options = read_typed(RolloutOptions, record["options"])
    rollouts: dict[int, R] = {}
    for state in record["rollouts"]:
        *parents, number = state["lineage"]
        position = _read_position(state["position"], prompts, trajectory)
        rollout = create(options, trajectory, position, lineage=(*parents, number))
        rollout._base, rollout._stopped = state["base"], state["stopped"]
        rollout.reward, rollout.advantage, rollout.extras = state["reward"], state["advantage"], state["extras"]
        if rollouts:
            rollouts[parents[-1]].forks.append(rollout)
        rollouts[number] = rollout
    return rollouts[record["rollouts"][0]["lineage"][-1]]


def _prompt_record(prompt: Prompt) -> JsonObject:
    refusal = None if prompt.refusal is None else dataclasses.asdict(prompt.refusal)
    return {**_fields_of(prompt), "messages": list(prompt.messages), "refusal": refusal}


def _fields_of(value: Prompt | Completion) -> JsonObject:
    """Return the fields of a dataclass. `dataclasses.asdict` would copy every token id."""
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}


def _turn_record(turn: Turn, prompt: int) -> JsonObject:
    completion = {name: value for name, value in _fields_of(turn.completion).items() if value is not None}
    return {
        "rollout": turn.rollout,
        "prompt": prompt,
        "completion": normalise_data(completion, path=("turns", turn.number, "completion")),
        "parsed": dataclasses.asdict(turn.parsed),
        "message": turn.message,
    }


def _read_turn(number: int, record: JsonObject, prompts: Sequence[Prompt]) -> Turn:
    turn = Turn(
        number=number,
        rollout=record["rollout"],
        prompt=prompts[record["prompt"]],
        completion=read_typed(Completion, {"finish_reason": None, **record["completion"]}),
        parsed=read_typed(ParsedResponse, record["parsed"]),
        message=record["message"],
    )
    if len(turn.token_ids) != len(turn.logprobs):
        raise ValueError(f"turn {number} has {len(turn.token_ids)} ids and {len(turn.logprobs)} logprobs")
    return turn


def _rollout_record(rollout: RecordedRollout, prompt: int) -> JsonObject:
    position = rollout._position
    turn = None if position.turn is None else position.turn.number
    return {
        "lineage": list(rollout._lineage),
        "base": rollout._base,
        "position": {"prompt": prompt, "is_rendered": position.prompt_ids is not None, "turn": turn},
        "stopped": rollout._stopped,
        "reward": rollout.reward,
        "advantage": rollout.advantage,
        "extras": normalise_data(rollout.extras, path=("extras",)),
    }


def _read_position(record: JsonObject, prompts: Sequence[Prompt], trajectory: Trajectory) -> Position:
    prompt = prompts[record["prompt"]]
    ids = trajectory.ids_before(prompt) + prompt.token_ids if record["is_rendered"] else None
    return Position(prompt, ids, None if record["turn"] is None else trajectory.turns[record["turn"]])
