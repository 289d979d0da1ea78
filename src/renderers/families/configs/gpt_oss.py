"""Typed configs of gpt-oss."""

from __future__ import annotations

from typing import Literal

from renderers.core.options import ContentTokens
from renderers.families.configs.base import BaseRendererConfig, option


class GptOssRendererConfig(BaseRendererConfig, family="gpt-oss"):
    """gpt-oss."""

    name: Literal["gpt-oss"] = "gpt-oss"
    content_tokens: ContentTokens = option(
        "text",
        "How to encode control text in a message: as ordinary text, like OpenAI's encoder, or as special tokens.",
    )
    reasoning_effort: Literal["low", "medium", "high"] = option("medium", "The requested amount of reasoning.")
    conversation_start_date: str | None = option(None, "The date in the system message, verbatim. None uses `date`.")
    use_system_prompt: bool = option(True, "False omits the default system message.")
    knowledge_cutoff: str | None = option(None, "The knowledge cutoff in the system message, verbatim.")
    model_identity: str | None = option(None, "The first sentence of the system message.")
    builtin_tools: tuple[Literal["browser", "python"], ...] | None = option(
        None, "The built-in tools that the system message describes."
    )
    auto_drop_analysis: bool = option(True, "False keeps the reasoning of all turns.")
