"""The renderer class of each family."""

from __future__ import annotations

from typing import Any, ClassVar

from renderers.families.config import BaseRendererConfig
from renderers.renderer import ChatRenderer, MultimodalChatRenderer
from renderers.settings import resolve_settings

RENDERER_REGISTRY: dict[str, type[FamilyRenderer]] = {}
"""The renderer class of each family, by the key of the family."""


class FamilyRenderer(ChatRenderer):
    """A renderer for one family, created from a tokenizer and a config of the family.

    >>> from renderers import EXAMPLE_MODEL, load_tokenizer
    >>> DefaultRenderer(load_tokenizer(EXAMPLE_MODEL)).family_match.family.key
    'default'
    """

    family: ClassVar[str]

    def __init_subclass__(cls, *, family: str | None = None, **options: Any) -> None:
        super().__init_subclass__(**options)
        if family is not None:
            cls.family = family
            RENDERER_REGISTRY[family] = cls

    def __init__(self, tokenizer: object, config: BaseRendererConfig | None = None, **options: Any) -> None:
        """Create a renderer. `options` are keyword arguments of `create_renderer` that override the config.

        The config may be that of a parent class's family, if this family has all fields that were set.
        """
        families = [parent.__dict__["family"] for parent in type(self).__mro__ if "family" in parent.__dict__]
        super().__init__(resolve_settings(tokenizer, config, families=families, **options))


class DefaultRenderer(FamilyRenderer, family="default"):
    """A renderer for models without a known family."""


class DefaultMultimodalRenderer(DefaultRenderer, MultimodalChatRenderer):
    """A renderer for models without a known family, with a template that accepts images."""


class Qwen25Renderer(FamilyRenderer, family="qwen2.5"): ...


class Qwen3Renderer(FamilyRenderer, family="qwen3"): ...


class Qwen32507Renderer(Qwen3Renderer, family="qwen3-2507"): ...


class Qwen32507ThinkingRenderer(Qwen3Renderer, family="qwen3-2507-thinking"): ...


class Qwen3CoderRenderer(FamilyRenderer, family="qwen3-coder"): ...


class Qwen3VLRenderer(FamilyRenderer, MultimodalChatRenderer, family="qwen3-vl"): ...


class Qwen35Renderer(FamilyRenderer, MultimodalChatRenderer, family="qwen3.5"): ...


class Qwen36Renderer(Qwen35Renderer, family="qwen3.6"): ...


class Qwen38Renderer(Qwen36Renderer, family="qwen3.8"): ...


class PrimeQwen3Renderer(FamilyRenderer, family="prime-qwen3"): ...


class GLM45Renderer(FamilyRenderer, family="glm-4.5"): ...


class GLM46Renderer(FamilyRenderer, family="glm-4.6"): ...


class GLM47Renderer(FamilyRenderer, family="glm-4.7"): ...


class GLM5Renderer(FamilyRenderer, family="glm-5"): ...


class GLM51Renderer(GLM5Renderer, family="glm-5.1"): ...


class GLM53Renderer(GLM5Renderer, family="glm-5.3"): ...


class GLM53FlashRenderer(FamilyRenderer, MultimodalChatRenderer, family="glm-5.3-flash"): ...


class KimiK2Renderer(FamilyRenderer, family="kimi-k2"): ...


class KimiK2ThinkingRenderer(FamilyRenderer, family="kimi-k2-thinking"): ...


class KimiK25Renderer(FamilyRenderer, MultimodalChatRenderer, family="kimi-k2.5"): ...


class KimiK3Renderer(FamilyRenderer, MultimodalChatRenderer, family="kimi-k3"): ...


class DeepSeekV3Renderer(FamilyRenderer, family="deepseek-v3"): ...


class DeepSeekR1Renderer(DeepSeekV3Renderer, family="deepseek-r1"): ...


class DeepSeekV31Renderer(FamilyRenderer, family="deepseek-v3.1"): ...


class DeepSeekV32Renderer(FamilyRenderer, family="deepseek-v3.2"): ...


class DeepSeekV4Renderer(FamilyRenderer, family="deepseek-v4"): ...


class MiniMaxM2Renderer(FamilyRenderer, family="minimax-m2"): ...


class MiniMaxM3Renderer(FamilyRenderer, MultimodalChatRenderer, family="minimax-m3"): ...


class Nemotron3Renderer(FamilyRenderer, family="nemotron-3"): ...


class Nemotron3UltraRenderer(Nemotron3Renderer, family="nemotron-3-ultra"): ...


class Nemotron35Renderer(Nemotron3Renderer, MultimodalChatRenderer, family="nemotron-3.5"): ...


class Llama3Renderer(FamilyRenderer, family="llama-3"): ...


class Llama31Renderer(FamilyRenderer, family="llama-3.1"): ...


class GptOssRenderer(FamilyRenderer, family="gpt-oss"): ...


class Gemma3Renderer(FamilyRenderer, MultimodalChatRenderer, family="gemma3"): ...


class Gemma4Renderer(FamilyRenderer, MultimodalChatRenderer, family="gemma4"): ...


class Hy3Renderer(FamilyRenderer, family="hy3"): ...


class LagunaXS2Renderer(FamilyRenderer, family="laguna-xs.2"): ...


class LagunaM1Renderer(LagunaXS2Renderer, family="laguna-m.1"): ...


class LagunaXS21Renderer(LagunaXS2Renderer, family="laguna-xs-2.1"): ...


class LagunaS21Renderer(LagunaXS21Renderer, family="laguna-s-2.1"): ...


class InklingRenderer(FamilyRenderer, MultimodalChatRenderer, family="inkling"): ...


class MuseGlimmerRenderer(FamilyRenderer, MultimodalChatRenderer, family="muse-glimmer"): ...


class MistralSmallRenderer(FamilyRenderer, MultimodalChatRenderer, family="mistral-small"): ...


class Ministral3Renderer(FamilyRenderer, MultimodalChatRenderer, family="ministral-3"): ...


class MistralNemoRenderer(FamilyRenderer, family="mistral-nemo"): ...


class DevstralRenderer(FamilyRenderer, family="devstral"): ...


class Phi4Renderer(FamilyRenderer, family="phi-4"): ...


class Granite4Renderer(FamilyRenderer, family="granite-4"): ...


class SmolLM3Renderer(FamilyRenderer, family="smollm3"): ...


class SeedOssRenderer(FamilyRenderer, family="seed-oss"): ...


class CommandARenderer(FamilyRenderer, family="command-a"): ...


class CommandRRenderer(FamilyRenderer, family="command-r"): ...


class LFM2Renderer(FamilyRenderer, family="lfm2"): ...


class Olmo3Renderer(FamilyRenderer, family="olmo-3"): ...


class Step35Renderer(FamilyRenderer, family="step-3.5"): ...
