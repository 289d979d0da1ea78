"""The configs of Gemma."""

from __future__ import annotations

from typing import Literal

from renderers.configs.base import BaseRendererConfig, CachedImagesConfig

__all__ = ["Gemma3RendererConfig", "Gemma4RendererConfig"]


class Gemma3RendererConfig(BaseRendererConfig):
    """Gemma 3."""

    name: Literal["gemma3"] = "gemma3"


class Gemma4RendererConfig(CachedImagesConfig):
    """Gemma 4."""

    name: Literal["gemma4"] = "gemma4"
    enable_thinking: bool = False
    """True lets the model think."""
    preserve_thinking: bool = False
    """Lets a bridge keep all reasoning, and a template that reads it that of turns that call tools; the templates of
    the first models do not."""
