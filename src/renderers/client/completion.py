"""`Completion`: the tokens that an engine sampled for one prompt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

__all__ = ["Completion", "WeightVersion"]


class WeightVersion(NamedTuple):
    """The version of the weights that sampled the tokens from `start` to `end` of a completion."""

    version: str
    start: int
    end: int


@dataclass(frozen=True, kw_only=True)
class Completion:
    """The tokens that an engine sampled for one prompt, the stop token included, with a logprob for each.

    >>> completion = Completion(token_ids=[9707, 151645], logprobs=[-0.5, -0.1], finish_reason="stop")
    >>> completion.is_truncated
    False
    """

    token_ids: list[int]
    logprobs: list[float]
    """The logprob of each token, as the engine reports it."""
    finish_reason: str | None
    """`"stop"`, `"length"`, `"abort"` or another word of the engine. None if the engine gives no reason."""
    stop_reason: int | str | None = None
    """The stop token or stop string, if the engine reports it."""
    request_id: str | None = None
    prompt_ids: list[int] | None = None
    """The prompt, if the engine returns it."""
    usage: Mapping[str, Any] | None = None
    weight_versions: tuple[WeightVersion, ...] = ()
    top_ids: list[list[int]] | None = None
    """The most probable ids at each position, if top logprobs were requested."""
    top_logprobs: list[list[float]] | None = None
    """The logprobs of `top_ids`."""
    routed_experts: Any = None
    """The experts of each token, in the form that the engine returns."""
    sampling_mask: Any = None
    """The tokens that were allowed at each position, in the form that the engine returns."""
    extras: Mapping[str, Any] = field(default_factory=dict)
    """Other fields of the engine's response."""

    @property
    def is_truncated(self) -> bool:
        """True if the completion reached its maximum number of tokens."""
        return self.finish_reason == "length"
