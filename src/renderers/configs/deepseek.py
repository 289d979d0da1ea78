"""The configs of DeepSeek."""

from __future__ import annotations

from typing import Literal

from renderers.configs.base import BaseRendererConfig

__all__ = [
    "DeepSeekR1RendererConfig",
    "DeepSeekV3RendererConfig",
    "DeepSeekV4RendererConfig",
    "DeepSeekV31RendererConfig",
    "DeepSeekV32RendererConfig",
]


class DeepSeekV3RendererConfig(BaseRendererConfig):
    """DeepSeek-V3."""

    name: Literal["deepseek-v3"] = "deepseek-v3"


class DeepSeekR1RendererConfig(BaseRendererConfig):
    """DeepSeek-R1 and its distilled models."""

    name: Literal["deepseek-r1"] = "deepseek-r1"


class DeepSeekV31RendererConfig(BaseRendererConfig):
    """DeepSeek-V3.1."""

    name: Literal["deepseek-v3.1"] = "deepseek-v3.1"
    thinking: bool | None = None
    """True lets the model think."""
    enable_thinking: bool | None = None
    """The same; `thinking` wins where both are given."""


class DeepSeekV32RendererConfig(BaseRendererConfig):
    """DeepSeek-V3.2."""

    name: Literal["deepseek-v3.2"] = "deepseek-v3.2"
    thinking: bool | None = None
    """True lets the model think."""
    enable_thinking: bool | None = None
    """The same; `thinking` wins where both are given."""


class DeepSeekV4RendererConfig(BaseRendererConfig):
    """DeepSeek-V4."""

    name: Literal["deepseek-v4"] = "deepseek-v4"
    enable_thinking: bool = False
    """True lets the model think."""
    drop_thinking: bool = True
    """False keeps the reasoning of all turns."""
    reasoning_effort: Literal["low", "high", "max"] = "low"
    """How much the model is asked to think."""
