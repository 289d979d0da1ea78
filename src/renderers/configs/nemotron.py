"""The configs of Nemotron."""

from __future__ import annotations

from typing import Literal

from renderers.configs.base import BaseRendererConfig

__all__ = ["Nemotron3RendererConfig", "Nemotron3UltraRendererConfig", "Nemotron35RendererConfig"]


class Nemotron3RendererConfig(BaseRendererConfig):
    """Nemotron 3 Nano and Super."""

    name: Literal["nemotron-3"] = "nemotron-3"
    enable_thinking: bool = True
    """False writes an empty reasoning block into the generation prompt."""
    truncate_history_thinking: bool = True
    """False keeps the reasoning of all turns."""
    low_effort: bool = False
    """Asks the model to think little; only the template of Super reads it."""


class Nemotron3UltraRendererConfig(BaseRendererConfig):
    """Nemotron 3 Ultra."""

    name: Literal["nemotron-3-ultra"] = "nemotron-3-ultra"
    enable_thinking: bool = True
    """False writes an empty reasoning block into the generation prompt."""
    truncate_history_thinking: bool = True
    """False keeps the reasoning of all turns."""
    medium_effort: bool = False
    """Asks the model to think less."""


class Nemotron35RendererConfig(BaseRendererConfig):
    """Nemotron 3.5."""

    name: Literal["nemotron-3.5"] = "nemotron-3.5"
    enable_thinking: bool = True
    """False writes an empty reasoning block into the generation prompt."""
    truncate_history_thinking: bool = True
    """False keeps the reasoning of all turns."""
