"""`Position`: the place in a conversation where a rollout goes on. `RolloutOptions`: the arguments of a rollout."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from renderers.bridging.refusal import BridgeRefusal
from renderers.core.jsontypes import JsonObject
from renderers.rollout.trajectory import Prompt, Turn

StopReason = Literal["max_total_tokens", "length", "abort", "repetition"]
"""Why a rollout samples no more turns."""
OnLength = Literal["close", "stop"]
"""What follows a turn that was cut off: the next bridge closes it with tokens that are not sampled, or nothing."""


class Added(NamedTuple):
    """How messages were added to a rollout."""

    is_bridged: bool
    """True if their tokens were appended. False if the conversation is rendered again, as a new branch."""
    refusal: BridgeRefusal | None = None
    """The reason why it is rendered again. None if there was no bridge, or if the renderer gives no reason."""
    edited: int | None = None
    """The index of the first message of a synced history that differs from the rollout. None if none differs."""


class Position(NamedTuple):
    """The prompt that a rollout samples from next, or the turn that it sampled last."""

    prompt: Prompt
    prompt_ids: list[int] | None
    """All ids up to the assistant turn. None if the conversation is not yet rendered. The list is never changed."""
    turn: Turn | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class RolloutOptions:
    """The arguments of a rollout, which its forks share."""

    tools: list[JsonObject] | None = None
    sampling_params: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    chat_template_kwargs: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    max_total_tokens: int | None = None
    on_length: OnLength = "close"
    stop_token_ids: tuple[int, ...] = ()
    model: str | None = None
    """The model that requests of an `AsyncOpenAI` client name."""

    def stop_reason_after(self, turn: Turn) -> StopReason | None:
        """Return the reason why no turn follows a turn; None if one may follow."""
        if self.max_total_tokens is not None and turn.end >= self.max_total_tokens:
            return "max_total_tokens"
        cut_off: dict[str | None, StopReason] = {"length": "length", "abort": "abort", "repetition": "repetition"}
        return cut_off.get(turn.completion.finish_reason) if self.on_length == "stop" else None

    def sampling_params_for(self, prompt_length: int, own: Mapping[str, Any]) -> dict[str, Any]:
        """Return the sampling parameters of a turn. Its own parameters take precedence. The stop tokens are added."""
        parameters = {**self.sampling_params, **own}
        stops = dict.fromkeys((*self.stop_token_ids, *(parameters.get("stop_token_ids") or ())))
        parameters["stop_token_ids"] = list(stops)
        if self.max_total_tokens is not None:
            room, limit = self.max_total_tokens - prompt_length, parameters.get("max_tokens")
            parameters["max_tokens"] = room if limit is None else min(room, limit)
            if parameters.get("min_tokens") is not None:
                # Engines refuse a minimum above the maximum.
                parameters["min_tokens"] = min(room, parameters["min_tokens"])
        return parameters
