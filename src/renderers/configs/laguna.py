"""The configs of Laguna."""

from __future__ import annotations

from typing import Literal

from renderers.configs.base import BaseRendererConfig

__all__ = [
    "LagunaM1RendererConfig",
    "LagunaS21RendererConfig",
    "LagunaXS2RendererConfig",
    "LagunaXS21RendererConfig",
]


class LagunaXS2RendererConfig(BaseRendererConfig):
    """Laguna XS.2."""

    name: Literal["laguna-xs.2"] = "laguna-xs.2"
    enable_thinking: bool = False
    """True opens the reasoning in the generation prompt."""
    render_assistant_messages_raw: bool = False
    """Writes an assistant's content as it is, without a frame of its own."""


class LagunaM1RendererConfig(BaseRendererConfig):
    """Laguna M.1."""

    name: Literal["laguna-m.1"] = "laguna-m.1"
    enable_thinking: bool = False
    """True opens the reasoning in the generation prompt."""
    render_assistant_messages_raw: bool = False
    """Writes an assistant's content as it is, without a frame of its own."""


class LagunaXS21RendererConfig(BaseRendererConfig):
    """Laguna XS 2.1."""

    name: Literal["laguna-xs-2.1"] = "laguna-xs-2.1"
    enable_thinking: bool = False
    """True opens the reasoning in the generation prompt, and keeps that of the history."""


class LagunaS21RendererConfig(BaseRendererConfig):
    """Laguna S 2.1."""

    name: Literal["laguna-s-2.1"] = "laguna-s-2.1"
    enable_thinking: bool = True
    """True opens the reasoning in the generation prompt, and keeps that of the history."""
    preserve_thinking: bool = False
    """Keeps the reasoning of all turns, also without thinking."""
