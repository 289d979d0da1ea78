"""Typed configs of the Gemma families."""

from __future__ import annotations

from typing import Literal

from renderers.families.configs.base import BaseRendererConfig, CachedImagesConfig, option


class Gemma3RendererConfig(BaseRendererConfig, family="gemma3"):
    """Gemma 3."""

    name: Literal["gemma3"] = "gemma3"


class Gemma4RendererConfig(CachedImagesConfig, family="gemma4"):
    """Gemma 4."""

    name: Literal["gemma4"] = "gemma4"
    enable_thinking: bool = option(False, "True enables reasoning.")
    preserve_thinking: bool = option(
        False, "True lets a bridge keep all reasoning. Later templates also keep it in turns with tool calls."
    )
