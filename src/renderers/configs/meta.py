"""The configs of Meta: Llama and Muse."""

from __future__ import annotations

from typing import Literal

from renderers.configs.base import BaseRendererConfig

__all__ = ["Llama3RendererConfig", "Llama31RendererConfig", "MuseGlimmerRendererConfig"]


class Llama3RendererConfig(BaseRendererConfig):
    """Llama 3.2."""

    name: Literal["llama-3"] = "llama-3"
    date_string: str | None = None
    """The date in the system message, as it is written there; None for `date`, which is 26 Jul 2024 by default."""
    tools_in_user_message: bool = True
    """False writes the tools into the system message."""


class Llama31RendererConfig(BaseRendererConfig):
    """Llama 3.1 and 3.3."""

    name: Literal["llama-3.1"] = "llama-3.1"
    date_string: str | None = None
    """The date in the system message, as it is written there."""
    tools_in_user_message: bool | None = None
    """False writes the tools into the system message."""


class MuseGlimmerRendererConfig(BaseRendererConfig):
    """Muse Glimmer."""

    name: Literal["muse-glimmer"] = "muse-glimmer"
    reasoning_strength: str | None = None
    """How much the model is asked to think."""
    knowledge_cutoff: str | None = None
    """The date that the model's knowledge ends, as it is written in the system message."""
    current_date: str | None = None
    """The date in the system message, as it is written there."""
