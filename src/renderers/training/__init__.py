"""Training samples and trajectory steps from rendered conversations."""

from __future__ import annotations

from renderers.training.batches import PackedSample, collate, pack
from renderers.training.preferences import PreferencePair, build_preference_pair
from renderers.training.rendered_sample import RenderedTrainingSample, TrainedTurn
from renderers.training.rows import build_training_samples
from renderers.training.samples import build_training_sample
from renderers.training.trajectories import RenderedConversation, build_trajectory_step

__all__ = [
    "PackedSample",
    "PreferencePair",
    "RenderedConversation",
    "RenderedTrainingSample",
    "TrainedTurn",
    "build_preference_pair",
    "build_training_sample",
    "build_training_samples",
    "build_trajectory_step",
    "collate",
    "pack",
]
