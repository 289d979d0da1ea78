"""The configs of vendors with one family or two."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import field_validator

from renderers.configs.base import BaseRendererConfig, CachedImagesConfig

__all__ = [
    "CommandARendererConfig",
    "CommandRRendererConfig",
    "GptOssRendererConfig",
    "Granite4RendererConfig",
    "Hy3RendererConfig",
    "InklingRendererConfig",
    "LFM2RendererConfig",
    "MiniMaxM2RendererConfig",
    "MiniMaxM3RendererConfig",
    "Olmo3RendererConfig",
    "Phi4RendererConfig",
    "SeedOssRendererConfig",
    "SmolLM3RendererConfig",
    "Step35RendererConfig",
]

_EFFORTS = ("none", "minimal", "low", "medium", "high", "max")


class GptOssRendererConfig(BaseRendererConfig):
    """gpt-oss."""

    name: Literal["gpt-oss"] = "gpt-oss"
    reasoning_effort: Literal["low", "medium", "high"] = "medium"
    """How much the model is asked to think."""
    conversation_start_date: str | None = None
    """The date in the system message, as it is written there; None for `date`."""
    use_system_prompt: bool = True
    """False leaves the vendor's own system message out."""
    knowledge_cutoff: str | None = None
    """The date that the model's knowledge ends, as it is written in the system message."""
    model_identity: str | None = None
    """The first sentence of the system message."""
    auto_drop_analysis: bool = True
    """False keeps the reasoning of all turns."""


class Hy3RendererConfig(BaseRendererConfig):
    """Hy3."""

    name: Literal["hy3"] = "hy3"
    reasoning_effort: Literal["no_think", "low", "high"] = "no_think"
    """How much the model is asked to think."""
    preserved_thinking: bool | None = None
    """Keeps the reasoning of all turns; None does so where there are tools."""
    is_training: bool = False
    """Closes the last turn as well."""
    raw_last_assistant: bool = False
    """Writes the content of the last assistant message as it is."""
    fallback_strategy: Literal["reasoning_toolcall_retry"] | None = None
    """The prompt of a retry after a tool call that could not be read."""


class InklingRendererConfig(CachedImagesConfig):
    """Inkling."""

    _internal_fields: ClassVar[frozenset[str]] = CachedImagesConfig._internal_fields | {"audio_cache_max"}

    name: Literal["inkling"] = "inkling"
    reasoning_effort: str | float = 0.9
    """How much the model is asked to think: from 0 to 0.99, or none, minimal, low, medium, high or max."""
    audio_cache_max: int = 256
    """Has no effect, as audio is not cached; taken because release 0.1 had it."""

    @field_validator("reasoning_effort")
    @classmethod
    def _is_an_effort(cls, effort: str | float) -> str | float:
        if effort in _EFFORTS:
            return effort
        try:
            number = float(effort)
        except ValueError:
            number = -1.0
        if not 0 <= number <= 0.99:
            raise ValueError(f"{effort!r} is no effort: give a number from 0 to 0.99, or one of {', '.join(_EFFORTS)}")
        return number


class MiniMaxM2RendererConfig(BaseRendererConfig):
    """MiniMax-M2 and M2.5."""

    name: Literal["minimax-m2"] = "minimax-m2"
    model_identity: str | None = None
    """The system message where the conversation has none; None for the template's own."""


class MiniMaxM3RendererConfig(BaseRendererConfig):
    """MiniMax-M3."""

    name: Literal["minimax-m3"] = "minimax-m3"
    thinking_mode: Literal["enabled", "disabled", "adaptive"] | None = None
    """Whether the model thinks, or decides itself."""
    model_identity: str | None = None
    """The system message where the conversation has none."""


class SeedOssRendererConfig(BaseRendererConfig):
    """Seed-OSS."""

    name: Literal["seed-oss"] = "seed-oss"
    thinking_budget: int | None = None
    """How many tokens the model may think for; 0 is none, -1 is any number."""
    use_json_tooldef: bool | None = None
    """Writes the tools as JSON."""


class CommandARendererConfig(BaseRendererConfig):
    """Command A."""

    name: Literal["command-a"] = "command-a"
    enable_citations: bool | None = None
    """Asks for citations where there are tools or documents."""
    safety_mode: Literal["CONTEXTUAL", "STRICT"] | None = None
    """Which of the vendor's safety preambles is written."""
    enable_thinking: bool | None = None
    """True lets the model think; read by the models that can."""


class CommandRRendererConfig(BaseRendererConfig):
    """Command R."""

    name: Literal["command-r"] = "command-r"


class Granite4RendererConfig(BaseRendererConfig):
    """Granite 4."""

    name: Literal["granite-4"] = "granite-4"


class LFM2RendererConfig(BaseRendererConfig):
    """LFM2 and LFM2.5."""

    name: Literal["lfm2"] = "lfm2"
    keep_past_thinking: bool | None = None
    """Keeps the reasoning of all turns; read by the instruct models of LFM2.5."""
    preserve_thinking: bool | None = None
    """Keeps the reasoning of all turns; read by the mixtures of experts of LFM2.5."""


class Olmo3RendererConfig(BaseRendererConfig):
    """OLMo 3."""

    name: Literal["olmo-3"] = "olmo-3"


class Phi4RendererConfig(BaseRendererConfig):
    """Phi-4."""

    name: Literal["phi-4"] = "phi-4"


class SmolLM3RendererConfig(BaseRendererConfig):
    """SmolLM3."""

    name: Literal["smollm3"] = "smollm3"
    enable_thinking: bool | None = None
    """False writes an empty reasoning block into the generation prompt; `/think` in the system message wins."""


class Step35RendererConfig(BaseRendererConfig):
    """Step 3.5."""

    name: Literal["step-3.5"] = "step-3.5"
