"""Typed configs of the Laguna families."""

from __future__ import annotations

from typing import Literal

from renderers.families.configs.base import BaseRendererConfig, option


class LagunaXS2RendererConfig(BaseRendererConfig, family="laguna-xs.2"):
    """Laguna XS.2."""

    name: Literal["laguna-xs.2"] = "laguna-xs.2"
    enable_thinking: bool = option(False, "True opens the reasoning block in the prompt.")
    render_assistant_messages_raw: bool = option(False, "True writes assistant content verbatim, without turn markers.")


class LagunaM1RendererConfig(BaseRendererConfig, family="laguna-m.1"):
    """Laguna M.1."""

    name: Literal["laguna-m.1"] = "laguna-m.1"
    enable_thinking: bool = option(False, "True opens the reasoning block in the prompt.")
    render_assistant_messages_raw: bool = option(False, "True writes assistant content verbatim, without turn markers.")


class LagunaXS21RendererConfig(BaseRendererConfig, family="laguna-xs-2.1"):
    """Laguna XS 2.1."""

    name: Literal["laguna-xs-2.1"] = "laguna-xs-2.1"
    enable_thinking: bool = option(False, "True opens the reasoning block in the prompt, and keeps past reasoning.")


class LagunaS21RendererConfig(BaseRendererConfig, family="laguna-s-2.1"):
    """Laguna S 2.1."""

    name: Literal["laguna-s-2.1"] = "laguna-s-2.1"
    enable_thinking: bool = option(True, "True opens the reasoning block in the prompt, and keeps past reasoning.")
    preserve_thinking: bool = option(False, "True keeps the reasoning of all turns, even if thinking is disabled.")
