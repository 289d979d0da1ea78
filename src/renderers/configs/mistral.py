"""The configs of Mistral: its templates have no switches."""

from __future__ import annotations

from typing import Literal

from renderers.configs.base import BaseRendererConfig

__all__ = [
    "DevstralRendererConfig",
    "Ministral3RendererConfig",
    "MistralNemoRendererConfig",
    "MistralSmallRendererConfig",
]


class MistralNemoRendererConfig(BaseRendererConfig):
    """Mistral Nemo."""

    name: Literal["mistral-nemo"] = "mistral-nemo"


class MistralSmallRendererConfig(BaseRendererConfig):
    """Mistral Small 3."""

    name: Literal["mistral-small"] = "mistral-small"


class DevstralRendererConfig(BaseRendererConfig):
    """Devstral."""

    name: Literal["devstral"] = "devstral"


class Ministral3RendererConfig(BaseRendererConfig):
    """Ministral 3."""

    name: Literal["ministral-3"] = "ministral-3"
