"""Typed configs of the Nemotron families."""

from __future__ import annotations

from typing import Literal

from renderers.families.configs.base import BaseRendererConfig, option


class Nemotron3RendererConfig(BaseRendererConfig, family="nemotron-3"):
    """Nemotron 3 Nano and Super."""

    name: Literal["nemotron-3"] = "nemotron-3"
    enable_thinking: bool = option(True, "False adds an empty reasoning block to the prompt.")
    truncate_history_thinking: bool = option(True, "False keeps the reasoning of all turns.")
    low_effort: bool = option(False, "True requests little reasoning. Only the template of Super uses it.")


class Nemotron3UltraRendererConfig(BaseRendererConfig, family="nemotron-3-ultra"):
    """Nemotron 3 Ultra."""

    name: Literal["nemotron-3-ultra"] = "nemotron-3-ultra"
    enable_thinking: bool = option(True, "False adds an empty reasoning block to the prompt.")
    truncate_history_thinking: bool = option(True, "False keeps the reasoning of all turns.")
    medium_effort: bool = option(False, "True requests less reasoning.")


class Nemotron35RendererConfig(BaseRendererConfig, family="nemotron-3.5"):
    """Nemotron 3.5."""

    name: Literal["nemotron-3.5"] = "nemotron-3.5"
    enable_thinking: bool = option(True, "False adds an empty reasoning block to the prompt.")
    truncate_history_thinking: bool = option(True, "False keeps the reasoning of all turns.")
