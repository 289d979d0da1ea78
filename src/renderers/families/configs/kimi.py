"""Typed configs of the Kimi families."""

from __future__ import annotations

from typing import ClassVar, Literal

from renderers.families.configs.base import BaseRendererConfig, CachedImagesConfig, option


class KimiK2RendererConfig(BaseRendererConfig, family="kimi-k2"):
    """Kimi K2."""

    _internal_fields: ClassVar[frozenset[str]] = frozenset({"enable_thinking"})

    name: Literal["kimi-k2"] = "kimi-k2"
    enable_thinking: bool = option(True, "No effect. Accepted for compatibility with release 0.1.")


class KimiK2ThinkingRendererConfig(BaseRendererConfig, family="kimi-k2-thinking"):
    """Kimi K2 Thinking."""

    name: Literal["kimi-k2-thinking"] = "kimi-k2-thinking"


class KimiK25RendererConfig(CachedImagesConfig, family="kimi-k2.5"):
    """Kimi K2.5 and K2.6."""

    name: Literal["kimi-k2.5"] = "kimi-k2.5"
    thinking: bool = option(True, "False adds an empty reasoning block to the prompt.")
    tools_ts_str: str | None = option(
        None, "The declarations of the tools. None declares the given tools, an empty text writes them as JSON."
    )


class KimiK3RendererConfig(BaseRendererConfig, family="kimi-k3"):
    """Kimi K3."""

    name: Literal["kimi-k3"] = "kimi-k3"
    thinking: bool | None = option(None, "False starts the response in the generation prompt, without reasoning.")
    thinking_effort: Literal["low", "high", "max"] | None = option(None, "The requested amount of reasoning.")
    tool_choice: Literal["auto", "required", "none"] | None = option(
        None, "Whether the model may, must or must not call tools."
    )
