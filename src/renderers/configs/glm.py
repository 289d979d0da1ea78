"""The configs of GLM."""

from __future__ import annotations

from typing import Literal

from renderers.configs.base import BaseRendererConfig

__all__ = [
    "GLM5RendererConfig",
    "GLM45RendererConfig",
    "GLM46RendererConfig",
    "GLM47RendererConfig",
    "GLM51RendererConfig",
    "GLM53FlashRendererConfig",
    "GLM53RendererConfig",
]


class GLM45RendererConfig(BaseRendererConfig):
    """GLM-4.5."""

    name: Literal["glm-4.5"] = "glm-4.5"
    enable_thinking: bool = True
    """False writes an empty reasoning block into the generation prompt and `/nothink` behind the user's messages."""


class GLM46RendererConfig(BaseRendererConfig):
    """GLM-4.6."""

    name: Literal["glm-4.6"] = "glm-4.6"
    enable_thinking: bool | None = None
    """False writes an empty reasoning block into the generation prompt and `/nothink` behind the user's messages."""


class GLM47RendererConfig(BaseRendererConfig):
    """GLM-4.7."""

    name: Literal["glm-4.7"] = "glm-4.7"
    enable_thinking: bool | None = None
    """False closes the reasoning in the generation prompt."""
    clear_thinking: bool | None = None
    """False keeps the reasoning of all turns."""


class GLM5RendererConfig(BaseRendererConfig):
    """GLM-5, and GLM-4.7-Flash, which has the same template."""

    name: Literal["glm-5"] = "glm-5"
    enable_thinking: bool = True
    """False closes the reasoning in the generation prompt."""
    clear_thinking: bool = True
    """False keeps the reasoning of all turns."""


class GLM51RendererConfig(BaseRendererConfig):
    """GLM-5.1."""

    name: Literal["glm-5.1"] = "glm-5.1"
    enable_thinking: bool = True
    """False closes the reasoning in the generation prompt."""
    clear_thinking: bool = True
    """False keeps the reasoning of all turns."""


class GLM53RendererConfig(BaseRendererConfig):
    """GLM-5.3."""

    name: Literal["glm-5.3"] = "glm-5.3"
    clear_thinking: bool = False
    """True drops the reasoning of turns before the user's last message."""
    reasoning_effort: Literal["low", "high", "max"] = "max"
    """How much the model is asked to think."""


class GLM53FlashRendererConfig(BaseRendererConfig):
    """GLM-5.3-Flash."""

    name: Literal["glm-5.3-flash"] = "glm-5.3-flash"
    clear_thinking: bool = False
    """True drops the reasoning of turns before the user's last message."""
    reasoning_effort: Literal["low", "high", "max"] = "max"
    """How much the model is asked to think."""
