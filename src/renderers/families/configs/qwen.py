"""Typed configs of the Qwen families."""

from __future__ import annotations

from typing import Literal

from renderers.families.configs.base import BaseRendererConfig, CachedImagesConfig, option

_EMPTY_BLOCK = "False adds an empty reasoning block to the prompt. None uses the template's default."


class Qwen25RendererConfig(BaseRendererConfig, family="qwen2.5"):
    """Qwen2.5."""

    name: Literal["qwen2.5"] = "qwen2.5"


class Qwen3RendererConfig(BaseRendererConfig, family="qwen3"):
    """Qwen3.

    >>> Qwen3RendererConfig(enable_thinking=False).enable_thinking
    False
    """

    name: Literal["qwen3"] = "qwen3"
    enable_thinking: bool = option(True, "False adds an empty reasoning block to the prompt.")


class Qwen32507RendererConfig(BaseRendererConfig, family="qwen3-2507"):
    """Qwen3 Instruct models of July 2025, without reasoning."""

    name: Literal["qwen3-2507"] = "qwen3-2507"
    enable_thinking: bool | None = option(None, "No effect. Accepted, with a warning, for compatibility.")


class Qwen32507ThinkingRendererConfig(BaseRendererConfig, family="qwen3-2507-thinking"):
    """Qwen3 Thinking models of July 2025, with reasoning always enabled."""

    name: Literal["qwen3-2507-thinking"] = "qwen3-2507-thinking"
    enable_thinking: bool | None = option(None, "No effect. Accepted, with a warning, for compatibility.")


class Qwen3CoderRendererConfig(BaseRendererConfig, family="qwen3-coder"):
    """Qwen3-Coder."""

    name: Literal["qwen3-coder"] = "qwen3-coder"


class Qwen3VLRendererConfig(CachedImagesConfig, family="qwen3-vl"):
    """Qwen3-VL."""

    name: Literal["qwen3-vl"] = "qwen3-vl"
    add_vision_id: bool = option(False, "True numbers the images of a conversation: `Picture 1: `.")


class Qwen35RendererConfig(CachedImagesConfig, family="qwen3.5"):
    """Qwen3.5."""

    name: Literal["qwen3.5"] = "qwen3.5"
    enable_thinking: bool | None = option(None, _EMPTY_BLOCK)
    add_vision_id: bool = option(False, "True numbers the images of a conversation: `Picture 1: `.")


class Qwen36RendererConfig(CachedImagesConfig, family="qwen3.6"):
    """Qwen3.6."""

    name: Literal["qwen3.6"] = "qwen3.6"
    enable_thinking: bool | None = option(None, _EMPTY_BLOCK)
    add_vision_id: bool = option(False, "True numbers the images of a conversation: `Picture 1: `.")
    preserve_thinking: bool = option(False, "True keeps the reasoning of all turns.")


class Qwen38RendererConfig(CachedImagesConfig, family="qwen3.8"):
    """Qwen3.8."""

    name: Literal["qwen3.8"] = "qwen3.8"
    enable_thinking: bool | None = option(None, _EMPTY_BLOCK)
    add_vision_id: bool = option(False, "True numbers the images of a conversation: `Picture 1: `.")
    preserve_thinking: bool = option(True, "True keeps the reasoning of all turns.")
    reasoning_effort: Literal["xhigh", "medium", "low"] = option("xhigh", "The requested amount of reasoning.")


class PrimeQwen3RendererConfig(BaseRendererConfig, family="prime-qwen3"):
    """Qwen3 with the template of Prime Intellect."""

    name: Literal["prime-qwen3"] = "prime-qwen3"
