"""The configs of Qwen."""

from __future__ import annotations

from typing import Literal

from renderers.configs.base import BaseRendererConfig, CachedImagesConfig

__all__ = [
    "PrimeQwen3RendererConfig",
    "Qwen3CoderRendererConfig",
    "Qwen3RendererConfig",
    "Qwen3VLRendererConfig",
    "Qwen25RendererConfig",
    "Qwen35RendererConfig",
    "Qwen36RendererConfig",
    "Qwen38RendererConfig",
    "Qwen32507RendererConfig",
    "Qwen32507ThinkingRendererConfig",
]


class Qwen25RendererConfig(BaseRendererConfig):
    """Qwen2.5."""

    name: Literal["qwen2.5"] = "qwen2.5"


class Qwen3RendererConfig(BaseRendererConfig):
    """Qwen3.

    >>> Qwen3RendererConfig(enable_thinking=False).enable_thinking
    False
    """

    name: Literal["qwen3"] = "qwen3"
    enable_thinking: bool = True
    """False writes an empty reasoning block into the generation prompt."""


class Qwen32507RendererConfig(BaseRendererConfig):
    """Qwen3 of July 2025, the Instruct models: they do not think."""

    name: Literal["qwen3-2507"] = "qwen3-2507"
    enable_thinking: bool | None = None
    """Changes nothing, as the template does not read it; taken, with a warning, because release 0.1 had it."""


class Qwen32507ThinkingRendererConfig(BaseRendererConfig):
    """Qwen3 of July 2025, the Thinking models: they always think."""

    name: Literal["qwen3-2507-thinking"] = "qwen3-2507-thinking"
    enable_thinking: bool | None = None
    """Changes nothing, as the template does not read it; taken, with a warning, because release 0.1 had it."""


class Qwen3CoderRendererConfig(BaseRendererConfig):
    """Qwen3-Coder."""

    name: Literal["qwen3-coder"] = "qwen3-coder"


class PrimeQwen3RendererConfig(BaseRendererConfig):
    """Qwen3 with the template of Prime Intellect."""

    name: Literal["prime-qwen3"] = "prime-qwen3"


class Qwen3VLRendererConfig(CachedImagesConfig):
    """Qwen3-VL."""

    name: Literal["qwen3-vl"] = "qwen3-vl"
    add_vision_id: bool = False
    """Numbers the images of a conversation: `Picture 1: `."""


class Qwen35RendererConfig(CachedImagesConfig):
    """Qwen3.5."""

    name: Literal["qwen3.5"] = "qwen3.5"
    enable_thinking: bool | None = None
    """False writes an empty reasoning block into the generation prompt; None is the template's own default, which
    is False for the smallest models."""
    add_vision_id: bool = False
    """Numbers the images of a conversation: `Picture 1: `."""


class Qwen36RendererConfig(CachedImagesConfig):
    """Qwen3.6."""

    name: Literal["qwen3.6"] = "qwen3.6"
    enable_thinking: bool | None = None
    """False writes an empty reasoning block into the generation prompt; None is the template's own default."""
    add_vision_id: bool = False
    """Numbers the images of a conversation: `Picture 1: `."""
    preserve_thinking: bool = False
    """Keeps the reasoning of all turns."""


class Qwen38RendererConfig(CachedImagesConfig):
    """Qwen3.8."""

    name: Literal["qwen3.8"] = "qwen3.8"
    enable_thinking: bool | None = None
    """False writes an empty reasoning block into the generation prompt; None is the template's own default."""
    add_vision_id: bool = False
    """Numbers the images of a conversation: `Picture 1: `."""
    preserve_thinking: bool = True
    """Keeps the reasoning of all turns."""
    reasoning_effort: Literal["xhigh", "medium", "low"] = "xhigh"
    """How much the model is asked to think."""
