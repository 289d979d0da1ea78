"""Typed configs of the GLM families."""

from __future__ import annotations

from typing import Literal

from renderers.families.configs.base import BaseRendererConfig, option

_NO_THINK = "False adds an empty reasoning block to the prompt, and `/nothink` to user messages."


class GLM45RendererConfig(BaseRendererConfig, family="glm-4.5"):
    """GLM-4.5."""

    name: Literal["glm-4.5"] = "glm-4.5"
    enable_thinking: bool = option(True, _NO_THINK)


class GLM46RendererConfig(BaseRendererConfig, family="glm-4.6"):
    """GLM-4.6."""

    name: Literal["glm-4.6"] = "glm-4.6"
    enable_thinking: bool | None = option(None, _NO_THINK)


class GLM47RendererConfig(BaseRendererConfig, family="glm-4.7"):
    """GLM-4.7."""

    name: Literal["glm-4.7"] = "glm-4.7"
    enable_thinking: bool | None = option(None, "False closes the reasoning block in the prompt.")
    clear_thinking: bool | None = option(None, "False keeps the reasoning of all turns.")


class GLM5RendererConfig(BaseRendererConfig, family="glm-5"):
    """GLM-5, and GLM-4.7-Flash, which has the same template."""

    name: Literal["glm-5"] = "glm-5"
    enable_thinking: bool = option(True, "False closes the reasoning block in the prompt.")
    clear_thinking: bool = option(True, "False keeps the reasoning of all turns.")


class GLM51RendererConfig(BaseRendererConfig, family="glm-5.1"):
    """GLM-5.1."""

    name: Literal["glm-5.1"] = "glm-5.1"
    enable_thinking: bool = option(True, "False closes the reasoning block in the prompt.")
    clear_thinking: bool = option(True, "False keeps the reasoning of all turns.")


class GLM52RendererConfig(BaseRendererConfig, family="glm-5.2"):
    """GLM-5.2."""

    name: Literal["glm-5.2"] = "glm-5.2"
    enable_thinking: bool | None = option(None, "False closes the reasoning block in the prompt.")
    clear_thinking: bool | None = option(None, "False keeps the reasoning of all turns.")
    reasoning_effort: Literal["high", "max"] | None = option(None, "The requested amount of reasoning.")


class GLM53RendererConfig(BaseRendererConfig, family="glm-5.3"):
    """GLM-5.3."""

    name: Literal["glm-5.3"] = "glm-5.3"
    clear_thinking: bool = option(False, "True drops the reasoning of turns before the last user message.")
    reasoning_effort: Literal["low", "high", "max"] = option("max", "The requested amount of reasoning.")


class GLM53FlashRendererConfig(BaseRendererConfig, family="glm-5.3-flash"):
    """GLM-5.3-Flash."""

    name: Literal["glm-5.3-flash"] = "glm-5.3-flash"
    clear_thinking: bool = option(False, "True drops the reasoning of turns before the last user message.")
    reasoning_effort: Literal["low", "high", "max"] = option("max", "The requested amount of reasoning.")
