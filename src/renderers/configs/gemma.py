"""The configs of Gemma."""

from __future__ import annotations

from typing import ClassVar, Literal

from renderers.configs.base import BaseRendererConfig

__all__ = ["Gemma3RendererConfig", "Gemma4RendererConfig"]


class Gemma3RendererConfig(BaseRendererConfig):
    """Gemma 3."""

    name: Literal["gemma3"] = "gemma3"


class Gemma4RendererConfig(BaseRendererConfig):
    """Gemma 4."""

    _internal_fields: ClassVar[frozenset[str]] = frozenset({"image_cache_max"})

    name: Literal["gemma4"] = "gemma4"
    enable_thinking: bool = False
    """True lets the model think."""
    preserve_thinking: bool = False
    """Lets a bridge keep all reasoning, and a template that reads it that of turns that call tools; the templates of
    the first models do not."""
    image_cache_max: int = 256
    """Has no effect, as images are not cached; taken because release 0.1 had it."""
