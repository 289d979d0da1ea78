"""Typed configs of vendors with one family or two."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import field_validator

from renderers.core.options import ContentTokens
from renderers.families.configs.base import BaseRendererConfig, CachedImagesConfig, option

_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")


class CommandARendererConfig(BaseRendererConfig, family="command-a"):
    """Command A."""

    name: Literal["command-a"] = "command-a"
    enable_citations: bool | None = option(None, "True requests citations if there are tools or documents.")
    safety_mode: Literal["CONTEXTUAL", "STRICT"] | None = option(None, "The safety preamble in the system message.")
    enable_thinking: bool | None = option(None, "True enables reasoning, in templates that support it.")


class CommandRRendererConfig(BaseRendererConfig, family="command-r"):
    """Command R."""

    name: Literal["command-r"] = "command-r"


class Granite4RendererConfig(BaseRendererConfig, family="granite-4"):
    """Granite 4."""

    name: Literal["granite-4"] = "granite-4"


class Hy3RendererConfig(BaseRendererConfig, family="hy3"):
    """Hy3."""

    name: Literal["hy3"] = "hy3"
    reasoning_effort: Literal["no_think", "low", "high"] = option("no_think", "The requested amount of reasoning.")
    preserved_thinking: bool | None = option(None, "True keeps all past reasoning. None does if there are tools.")
    is_training: bool = option(False, "True also closes the last turn.")
    raw_last_assistant: bool = option(False, "True writes the content of the last assistant message verbatim.")
    fallback_strategy: Literal["reasoning_toolcall_retry"] | None = option(
        None, "The prompt for a retry after a malformed tool call."
    )


class InklingRendererConfig(CachedImagesConfig, family="inkling"):
    """Inkling."""

    _internal_fields: ClassVar[frozenset[str]] = CachedImagesConfig._internal_fields | {"audio_cache_max"}

    name: Literal["inkling"] = "inkling"
    content_tokens: ContentTokens = option(
        "text", "How to encode control text in a message: as ordinary text, like vLLM's encoder, or as special tokens."
    )
    reasoning_effort: str | float = option(0.9, "The amount of reasoning: 0 to 0.99, or a word such as low.")
    audio_cache_max: int = option(256, "No effect. Accepted for compatibility with release 0.1.")

    @field_validator("reasoning_effort")
    @classmethod
    def _check_effort(cls, effort: str | float) -> str | float:
        if effort in _EFFORTS:
            return effort
        try:
            number = float(effort)
        except ValueError:
            number = -1.0
        if not 0 <= number <= 0.99:
            raise ValueError(
                f"{effort!r} is not an effort. Use a number from 0 to 0.99, or one of {', '.join(_EFFORTS)}."
            )
        return number


class LFM2RendererConfig(BaseRendererConfig, family="lfm2"):
    """LFM2 and LFM2.5."""

    name: Literal["lfm2"] = "lfm2"
    keep_past_thinking: bool | None = option(None, "True keeps all past reasoning. For instruct models of LFM2.5.")
    preserve_thinking: bool | None = option(None, "True keeps all past reasoning. For MoE models of LFM2.5.")


class MiniCPM5RendererConfig(BaseRendererConfig, family="minicpm5"):
    """MiniCPM5."""

    name: Literal["minicpm5"] = "minicpm5"
    enable_thinking: bool | None = option(
        None, "True opens reasoning in the prompt, False adds an empty reasoning block. None leaves it to the model."
    )


class MuseGlimmerRendererConfig(BaseRendererConfig, family="muse-glimmer"):
    """Muse Glimmer."""

    name: Literal["muse-glimmer"] = "muse-glimmer"
    reasoning_strength: str | None = option(None, "The requested amount of reasoning.")
    knowledge_cutoff: str | None = option(None, "The knowledge cutoff in the system message, verbatim.")
    current_date: str | None = option(None, "The date in the system message, verbatim.")


class Olmo3RendererConfig(BaseRendererConfig, family="olmo-3"):
    """OLMo 3."""

    name: Literal["olmo-3"] = "olmo-3"


class Phi4RendererConfig(BaseRendererConfig, family="phi-4"):
    """Phi-4."""

    name: Literal["phi-4"] = "phi-4"


class SeedOssRendererConfig(BaseRendererConfig, family="seed-oss"):
    """Seed-OSS."""

    name: Literal["seed-oss"] = "seed-oss"
    thinking_budget: int | None = option(None, "The maximum number of reasoning tokens, -1 for no limit.")
    use_json_tooldef: bool | None = option(None, "True writes the tools as JSON.")


class SmolLM3RendererConfig(BaseRendererConfig, family="smollm3"):
    """SmolLM3."""

    name: Literal["smollm3"] = "smollm3"
    enable_thinking: bool | None = option(
        None, "False adds an empty reasoning block to the prompt. `/think` in the system message overrides it."
    )


class Step35RendererConfig(BaseRendererConfig, family="step-3.5"):
    """Step 3.5."""

    name: Literal["step-3.5"] = "step-3.5"
