"""Multi-turn rollouts: sample turns, keep their tokens and logprobs, and build training rows."""

from __future__ import annotations

from renderers.rollout.position import Added
from renderers.rollout.rollout import Rollout
from renderers.rollout.rows import RolloutRow, SharedSpan
from renderers.rollout.sampler import Sampler
from renderers.rollout.storage import load_rollouts, save_rollouts
from renderers.rollout.trajectory import Branch, Prompt, Turn

__all__ = [
    "Added",
    "Branch",
    "Prompt",
    "Rollout",
    "RolloutRow",
    "Sampler",
    "SharedSpan",
    "Turn",
    "load_rollouts",
    "save_rollouts",
]
