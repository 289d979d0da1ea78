"""Typed configs of the DeepSeek families."""

from __future__ import annotations

from typing import Literal

from renderers.families.configs.base import BaseRendererConfig, option


class DeepSeekV3RendererConfig(BaseRendererConfig, family="deepseek-v3"):
    """DeepSeek-V3."""

    name: Literal["deepseek-v3"] = "deepseek-v3"


class DeepSeekR1RendererConfig(BaseRendererConfig, family="deepseek-r1"):
    """DeepSeek-R1 and its distilled models."""

    name: Literal["deepseek-r1"] = "deepseek-r1"


class DeepSeekV31RendererConfig(BaseRendererConfig, family="deepseek-v3.1"):
    """DeepSeek-V3.1."""

    name: Literal["deepseek-v3.1"] = "deepseek-v3.1"
    thinking: bool | None = option(None, "True enables reasoning.")
    enable_thinking: bool | None = option(None, "An alias of `thinking`, which takes precedence.")


class DeepSeekV32RendererConfig(BaseRendererConfig, family="deepseek-v3.2"):
    """DeepSeek-V3.2."""

    name: Literal["deepseek-v3.2"] = "deepseek-v3.2"
    thinking: bool | None = option(None, "True enables reasoning.")
    enable_thinking: bool | None = option(None, "An alias of `thinking`, which takes precedence.")


class DeepSeekV4RendererConfig(BaseRendererConfig, family="deepseek-v4"):
    """DeepSeek-V4."""

    name: Literal["deepseek-v4"] = "deepseek-v4"
    enable_thinking: bool = option(False, "True enables reasoning.")
    drop_thinking: bool = option(True, "False keeps the reasoning of all turns.")
    reasoning_effort: Literal["low", "high", "max"] = option("low", "The requested amount of reasoning.")


class DeepSeekV41RendererConfig(BaseRendererConfig, family="deepseek-v4.1"):
    """DeepSeek-V4.1."""

    name: Literal["deepseek-v4.1"] = "deepseek-v4.1"
    enable_thinking: bool = option(False, "True enables reasoning.")
    drop_thinking: bool = option(True, "False keeps the reasoning of all turns.")
    reasoning_effort: Literal["low", "high", "xhigh", "max"] = option("high", "The requested amount of reasoning.")
