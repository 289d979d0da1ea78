"""Typed configs of the MiniMax families."""

from __future__ import annotations

from typing import Literal

from renderers.families.configs.base import BaseRendererConfig, option


class MiniMaxM2RendererConfig(BaseRendererConfig, family="minimax-m2"):
    """MiniMax-M2 and M2.5."""

    name: Literal["minimax-m2"] = "minimax-m2"
    model_identity: str | None = option(None, "The default system message. None uses that of the template.")


class MiniMaxM3RendererConfig(BaseRendererConfig, family="minimax-m3"):
    """MiniMax-M3."""

    name: Literal["minimax-m3"] = "minimax-m3"
    thinking_mode: Literal["enabled", "disabled", "adaptive"] | None = option(
        None, "Whether the model reasons. With `adaptive`, the model decides."
    )
    model_identity: str | None = option(None, "The default system message.")
