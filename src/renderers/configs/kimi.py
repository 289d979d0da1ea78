"""The configs of Kimi."""

from __future__ import annotations

from typing import ClassVar, Literal

from renderers.configs.base import BaseRendererConfig, CachedImagesConfig

__all__ = [
    "KimiK2RendererConfig",
    "KimiK2ThinkingRendererConfig",
    "KimiK3RendererConfig",
    "KimiK25RendererConfig",
]


class KimiK2RendererConfig(BaseRendererConfig):
    """Kimi K2."""

    _internal_fields: ClassVar[frozenset[str]] = frozenset({"enable_thinking"})

    name: Literal["kimi-k2"] = "kimi-k2"
    enable_thinking: bool = True
    """Has no effect, as the template does not ask for it; taken because release 0.1 had it."""


class KimiK2ThinkingRendererConfig(BaseRendererConfig):
    """Kimi K2 Thinking."""

    name: Literal["kimi-k2-thinking"] = "kimi-k2-thinking"


class KimiK25RendererConfig(CachedImagesConfig):
    """Kimi K2.5 and K2.6."""

    name: Literal["kimi-k2.5"] = "kimi-k2.5"
    thinking: bool = True
    """False writes an empty reasoning block into the generation prompt."""


class KimiK3RendererConfig(BaseRendererConfig):
    """Kimi K3."""

    name: Literal["kimi-k3"] = "kimi-k3"
    thinking: bool | None = None
    """False opens the answer in the generation prompt, without reasoning."""
    thinking_effort: Literal["low", "high", "max"] | None = None
    """How much the model is asked to think."""
    tool_choice: Literal["auto", "required", "none"] | None = None
    """Whether the model is told that it must or must not call tools."""
