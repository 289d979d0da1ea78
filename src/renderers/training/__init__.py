"""Training samples and trajectory steps from rendered conversations."""

from __future__ import annotations

from renderers.training.samples import RenderedTrainingSample, build_training_sample
from renderers.training.trajectories import RenderedConversation, build_trajectory_step

__all__ = ["RenderedConversation", "RenderedTrainingSample", "build_training_sample", "build_trajectory_step"]
