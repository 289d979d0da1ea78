"""Typed configs of Llama 3."""

from __future__ import annotations

from typing import Literal

from renderers.families.configs.base import BaseRendererConfig, option


class Llama3RendererConfig(BaseRendererConfig, family="llama-3"):
    """Llama 3.2."""

    name: Literal["llama-3"] = "llama-3"
    date_string: str | None = option(None, "The date in the system message. None uses `date`.")
    tools_in_user_message: bool = option(True, "False puts the tools into the system message.")


class Llama31RendererConfig(BaseRendererConfig, family="llama-3.1"):
    """Llama 3.1 and 3.3."""

    name: Literal["llama-3.1"] = "llama-3.1"
    date_string: str | None = option(None, "The date in the system message, verbatim.")
    tools_in_user_message: bool | None = option(None, "False puts the tools into the system message.")
