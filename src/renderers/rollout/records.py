"""Rollouts as JSON data. It has everything but the renderer and the client."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from renderers.bridging.refusal import BridgeReason, BridgeRefusal
from renderers.client.completion import Completion, WeightVersion
from renderers.core.completions import (
    CalledTool,
    CompletionState,
    ParsedPart,
    ParsedResponse,
    ParsedToolCall,
    ReasoningState,
    Region,
    SkippedText,
    ToolCallParseStatus,
)
from renderers.core.jsontypes import JsonObject
from renderers.core.messages import normalise_data
from renderers.rollout.position import Position, RolloutOptions
from renderers.rollout.trajectory import Prompt, Trajectory, Turn

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
    prompts = [_read_prompt(prompt) for prompt in record["prompts"]]
    turns = [_read_turn(number, turn, prompts) for number, turn in enumerate(record["turns"])]
    trajectory = Trajectory(turns, record["count"])
    options = RolloutOptions(**{**record["options"], "stop_token_ids": tuple(record["options"]["stop_token_ids"])})
    made: dict[int, R] = {}
    for state in record["rollouts"]:
        *parents, number = state["lineage"]
        position = _read_position(state["position"], prompts, trajectory)
        rollout = create(options, trajectory, position, lineage=(*parents, number))
        rollout._base, rollout._stopped = state["base"], state["stopped"]
        rollout.reward, rollout.advantage, rollout.extras = state["reward"], state["advantage"], state["extras"]
        if made:
            made[parents[-1]].forks.append(rollout)
        made[number] = rollout
    return next(iter(made.values()))


def _prompt_record(prompt: Prompt) -> JsonObject:
    return {
        "parent": prompt.parent,
        "messages": list(prompt.messages),
        "token_ids": prompt.token_ids,
        "start": prompt.start,
        "refusal": None if prompt.refusal is None else dataclasses.asdict(prompt.refusal),
    }


def _read_prompt(record: JsonObject) -> Prompt:
    refusal = record["refusal"]
    if refusal is not None:
        refusal = BridgeRefusal(BridgeReason(refusal["reason"]), refusal["detail"])
    return Prompt(**{**record, "messages": tuple(record["messages"]), "refusal": refusal})


def _turn_record(turn: Turn, prompt: int) -> JsonObject:
    fields = {field.name: getattr(turn.completion, field.name) for field in dataclasses.fields(turn.completion)}
    completion = {name: value for name, value in fields.items() if value is not None}
    return {
        "rollout": turn.rollout,
        "prompt": prompt,
        "completion": normalise_data(completion, path=("turns", turn.number, "completion")),
        "parsed": dataclasses.asdict(turn.parsed),
        "message": turn.message,
    }


def _read_turn(number: int, record: JsonObject, prompts: Sequence[Prompt]) -> Turn:
    completion = {"finish_reason": None, **record["completion"]}
    versions = tuple(WeightVersion(*version) for version in completion["weight_versions"])
    turn = Turn(
        number=number,
        rollout=record["rollout"],
        prompt=prompts[record["prompt"]],
        completion=Completion(**{**completion, "weight_versions": versions}),
        parsed=_read_parsed(record["parsed"]),
        message=record["message"],
    )
    if len(turn.token_ids) != len(turn.logprobs):
        raise ValueError(f"turn {number} has {len(turn.token_ids)} ids and {len(turn.logprobs)} logprobs")
    return turn


def _read_parsed(record: JsonObject) -> ParsedResponse:
    state = record["state"]
    read = {
        "tool_calls": [_read_call(call) for call in record["tool_calls"]],
        "skipped": tuple(SkippedText(*text) for text in record["skipped"]),
        "parts": tuple(ParsedPart(Region(region), start, end) for region, start, end in record["parts"]),
        "state": CompletionState(
            Region(state["region"]),
            state["stop_token_id"],
            tuple(CalledTool(*call) for call in state["calls"]),
            ReasoningState(state["reasoning"]),
        ),
    }
    return ParsedResponse(**{**record, **read})


def _read_call(record: JsonObject) -> ParsedToolCall:
    span = record["token_span"]
    read = {"token_span": None if span is None else tuple(span), "status": ToolCallParseStatus(record["status"])}
    return ParsedToolCall(**{**record, **read})


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
