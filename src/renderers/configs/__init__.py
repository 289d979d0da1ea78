"""Typed configs: what a renderer is made with, one class per family; `RendererConfig` is any of them."""

from __future__ import annotations

from typing import Annotated, get_args

from pydantic import Field

from renderers.configs.base import BaseRendererConfig
from renderers.configs.deepseek import (
    DeepSeekR1RendererConfig,
    DeepSeekV3RendererConfig,
    DeepSeekV4RendererConfig,
    DeepSeekV31RendererConfig,
    DeepSeekV32RendererConfig,
)
from renderers.configs.gemma import Gemma3RendererConfig, Gemma4RendererConfig
from renderers.configs.glm import (
    GLM5RendererConfig,
    GLM45RendererConfig,
    GLM46RendererConfig,
    GLM47RendererConfig,
    GLM51RendererConfig,
    GLM53FlashRendererConfig,
    GLM53RendererConfig,
)
from renderers.configs.kimi import (
    KimiK2RendererConfig,
    KimiK2ThinkingRendererConfig,
    KimiK3RendererConfig,
    KimiK25RendererConfig,
)
from renderers.configs.laguna import (
    LagunaM1RendererConfig,
    LagunaS21RendererConfig,
    LagunaXS2RendererConfig,
    LagunaXS21RendererConfig,
)
from renderers.configs.meta import Llama3RendererConfig, Llama31RendererConfig, MuseGlimmerRendererConfig
from renderers.configs.mistral import (
    DevstralRendererConfig,
    Ministral3RendererConfig,
    MistralNemoRendererConfig,
    MistralSmallRendererConfig,
)
from renderers.configs.nemotron import Nemotron3RendererConfig, Nemotron3UltraRendererConfig, Nemotron35RendererConfig
from renderers.configs.others import (
    CommandARendererConfig,
    CommandRRendererConfig,
    GptOssRendererConfig,
    Granite4RendererConfig,
    Hy3RendererConfig,
    InklingRendererConfig,
    LFM2RendererConfig,
    MiniMaxM2RendererConfig,
    MiniMaxM3RendererConfig,
    Olmo3RendererConfig,
    Phi4RendererConfig,
    SeedOssRendererConfig,
    SmolLM3RendererConfig,
    Step35RendererConfig,
)
from renderers.configs.qwen import (
    PrimeQwen3RendererConfig,
    Qwen3CoderRendererConfig,
    Qwen3RendererConfig,
    Qwen3VLRendererConfig,
    Qwen25RendererConfig,
    Qwen35RendererConfig,
    Qwen36RendererConfig,
    Qwen38RendererConfig,
    Qwen32507RendererConfig,
    Qwen32507ThinkingRendererConfig,
)
from renderers.configs.special import AutoRendererConfig, CustomRendererConfig, DefaultRendererConfig
from renderers.configs.switches import merge_chat_template_kwargs, switches_of, template_field_names

__all__ = [
    "AutoRendererConfig",
    "BaseRendererConfig",
    "CommandARendererConfig",
    "CommandRRendererConfig",
    "CustomRendererConfig",
    "DeepSeekR1RendererConfig",
    "DeepSeekV3RendererConfig",
    "DeepSeekV4RendererConfig",
    "DeepSeekV31RendererConfig",
    "DeepSeekV32RendererConfig",
    "DefaultRendererConfig",
    "DevstralRendererConfig",
    "GLM5RendererConfig",
    "GLM45RendererConfig",
    "GLM46RendererConfig",
    "GLM47RendererConfig",
    "GLM51RendererConfig",
    "GLM53FlashRendererConfig",
    "GLM53RendererConfig",
    "Gemma3RendererConfig",
    "Gemma4RendererConfig",
    "GptOssRendererConfig",
    "Granite4RendererConfig",
    "Hy3RendererConfig",
    "InklingRendererConfig",
    "KimiK2RendererConfig",
    "KimiK2ThinkingRendererConfig",
    "KimiK3RendererConfig",
    "KimiK25RendererConfig",
    "LFM2RendererConfig",
    "LagunaM1RendererConfig",
    "LagunaS21RendererConfig",
    "LagunaXS2RendererConfig",
    "LagunaXS21RendererConfig",
    "Llama3RendererConfig",
    "Llama31RendererConfig",
    "MiniMaxM2RendererConfig",
    "MiniMaxM3RendererConfig",
    "Ministral3RendererConfig",
    "MistralNemoRendererConfig",
    "MistralSmallRendererConfig",
    "MuseGlimmerRendererConfig",
    "Nemotron3RendererConfig",
    "Nemotron3UltraRendererConfig",
    "Nemotron35RendererConfig",
    "Olmo3RendererConfig",
    "Phi4RendererConfig",
    "PrimeQwen3RendererConfig",
    "Qwen3CoderRendererConfig",
    "Qwen3RendererConfig",
    "Qwen3VLRendererConfig",
    "Qwen25RendererConfig",
    "Qwen35RendererConfig",
    "Qwen36RendererConfig",
    "Qwen38RendererConfig",
    "Qwen32507RendererConfig",
    "Qwen32507ThinkingRendererConfig",
    "RendererConfig",
    "SeedOssRendererConfig",
    "SmolLM3RendererConfig",
    "Step35RendererConfig",
    "config_from_name",
    "merge_chat_template_kwargs",
    "switches_of",
    "template_field_names",
]

RendererConfig = Annotated[
    AutoRendererConfig
    | DefaultRendererConfig
    | CustomRendererConfig
    | Qwen25RendererConfig
    | Qwen3RendererConfig
    | Qwen32507RendererConfig
    | Qwen32507ThinkingRendererConfig
    | Qwen3CoderRendererConfig
    | PrimeQwen3RendererConfig
    | Qwen3VLRendererConfig
    | Qwen35RendererConfig
    | Qwen36RendererConfig
    | Qwen38RendererConfig
    | Gemma3RendererConfig
    | Gemma4RendererConfig
    | GLM45RendererConfig
    | GLM46RendererConfig
    | GLM47RendererConfig
    | GLM5RendererConfig
    | GLM51RendererConfig
    | GLM53RendererConfig
    | GLM53FlashRendererConfig
    | KimiK2RendererConfig
    | KimiK2ThinkingRendererConfig
    | KimiK25RendererConfig
    | KimiK3RendererConfig
    | DeepSeekV3RendererConfig
    | DeepSeekR1RendererConfig
    | DeepSeekV31RendererConfig
    | DeepSeekV32RendererConfig
    | DeepSeekV4RendererConfig
    | Nemotron3RendererConfig
    | Nemotron3UltraRendererConfig
    | Nemotron35RendererConfig
    | LagunaXS2RendererConfig
    | LagunaM1RendererConfig
    | LagunaXS21RendererConfig
    | LagunaS21RendererConfig
    | Llama3RendererConfig
    | Llama31RendererConfig
    | MuseGlimmerRendererConfig
    | MistralNemoRendererConfig
    | MistralSmallRendererConfig
    | DevstralRendererConfig
    | Ministral3RendererConfig
    | GptOssRendererConfig
    | Hy3RendererConfig
    | InklingRendererConfig
    | MiniMaxM2RendererConfig
    | MiniMaxM3RendererConfig
    | SeedOssRendererConfig
    | CommandARendererConfig
    | CommandRRendererConfig
    | Granite4RendererConfig
    | LFM2RendererConfig
    | Olmo3RendererConfig
    | Phi4RendererConfig
    | SmolLM3RendererConfig
    | Step35RendererConfig,
    Field(discriminator="name"),
]
"""Any config; `name` says which."""

CONFIG_CLASSES: dict[str, type[BaseRendererConfig]] = {
    one.model_fields["name"].default: one for one in get_args(get_args(RendererConfig)[0])
}


def config_from_name(name: str) -> BaseRendererConfig | None:
    """Makes the config of a name, all fields as by default; None for `"auto"`, where the model decides.

    Raises:
        ValueError: There is no such name, or its config cannot be made from the name alone.

    >>> config_from_name("qwen3").enable_thinking
    True
    """
    if name == "auto":
        return None
    if name == "custom":
        raise ValueError("a renderer of your own needs more than its name: CustomRendererConfig(import_path=...)")
    known = sorted(CONFIG_CLASSES.keys() - {"custom"})
    if name not in known:
        raise ValueError(f"there is no renderer {name!r}: known are {', '.join(known)}")
    return CONFIG_CLASSES[name]()
