"""Typed configs of the Mistral families."""

from __future__ import annotations

from typing import Literal

from renderers.families.configs.base import BaseRendererConfig


class MistralNemoRendererConfig(BaseRendererConfig, family="mistral-nemo"):
    """Mistral Nemo."""

    name: Literal["mistral-nemo"] = "mistral-nemo"


class MistralSmallRendererConfig(BaseRendererConfig, family="mistral-small"):
    """Mistral Small 3."""

    name: Literal["mistral-small"] = "mistral-small"


class Ministral3RendererConfig(BaseRendererConfig, family="ministral-3"):
    """Ministral 3."""

    name: Literal["ministral-3"] = "ministral-3"


class DevstralRendererConfig(BaseRendererConfig, family="devstral"):
    """Devstral."""

    name: Literal["devstral"] = "devstral"
