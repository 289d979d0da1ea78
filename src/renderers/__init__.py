"""Chat messages to the exact tokens of an open-weight LLM, and back.

`import renderers` is light: each name is imported from its home module on first use. `__all__` lists
the main names and those of release 0.1. All other public names can be imported as well, such as the
typed configs and renderer classes of other families: `from renderers import Ministral3Renderer`.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING

# One entry per line would take more lines than the rest of the module.
# fmt: off
if TYPE_CHECKING:
    # Names outside of `__all__` are re-exported with `as`.
    # isort: off
    from renderers.bridging.result import Bridge
    from renderers.bridging.refusal import (
        BridgeEvidence as BridgeEvidence, BridgeReason, BridgeRefusal, Evidence as Evidence,
    )
    from renderers.bridging.stability import PrefixStability as PrefixStability
    from renderers.compat.bridge_helpers import reject_assistant_in_extension, trim_to_turn_close
    from renderers.compat.segments import AttributedTextSegments as AttributedTextSegments, attribute_text_segments
    from renderers.client.completion import Completion as Completion, WeightVersion as WeightVersion
    from renderers.client.engines.base import (
        CompletionReader as CompletionReader, EngineRequest as EngineRequest, InferenceEngine as InferenceEngine,
        SampleRequest as SampleRequest,
    )
    from renderers.client.sync import SyncInferenceClient as SyncInferenceClient
    from renderers.client.transport import InferenceClient
    from renderers.configs import *
    from renderers.core.completions import (
        CalledTool as CalledTool, CompletionState as CompletionState, ContentDelta as ContentDelta,
        MarkerRead as MarkerRead, MarkerToken as MarkerToken, ParseEvent as ParseEvent,
        ParsedPart as ParsedPart, ParsedResponse, ParsedToolCall, ReasoningDelta as ReasoningDelta,
        ReasoningState as ReasoningState, Recovery as Recovery, RecoveryEvent as RecoveryEvent,
        RecoveryKind as RecoveryKind, Region as Region, SkippedText as SkippedText,
        SkippedTextEvent as SkippedTextEvent, StateCall as StateCall, StopRead as StopRead,
        StopToken as StopToken, TextSkipped as TextSkipped, Thought as Thought,
        ToolCallDelta as ToolCallDelta, ToolCallEnd as ToolCallEnd, ToolCallParseStatus,
        ToolCallRead as ToolCallRead,
    )
    from renderers.core.importing import load_target
    from renderers.core.inputs import (
        MessageLike as MessageLike, TokenIds as TokenIds, TokenizerLike as TokenizerLike, ToolLike as ToolLike,
    )
    from renderers.core.losses import Loss, LossPolicy as LossPolicy
    from renderers.core.message_types import (
        AudioPart as AudioPart, Content, ContentPart, ImagePart, Message, TextPart, ThinkingPart, Tool as Tool,
        ToolCall, ToolCallFunction, ToolSpec, VideoPart,
    )
    from renderers.core.messages import extract_message_tool_names
    from renderers.core.options import Conventions as Conventions, SamplingConventions as SamplingConventions
    from renderers.core.protocols import (
        ChatTemplateTokenizer, MultimodalRenderer, OffsetTokenizer, Renderer, Tokenizer, is_multimodal,
    )
    from renderers.core.spans import Channel as Channel, Span as Span, Trace as Trace
    from renderers.core.tokens import (
        InjectedText as InjectedText, MultiModalData, PlaceholderRange, RenderedTokens,
    )
    from renderers.errors import *
    from renderers.factory import create_renderer
    from renderers.families import (
        FAMILIES as FAMILIES, MODEL_RENDERER_MAP as MODEL_RENDERER_MAP, MULTIMODAL_MODELS, Family as Family,
    )
    from renderers.families.configs.base import custom_renderer_config, load_custom_renderer
    from renderers.family_renderers import *
    from renderers.multimodal_renderer import MultimodalChatRenderer as MultimodalChatRenderer
    from renderers.parsing.parser import ResponseParser
    from renderers.pool import RendererPool, create_renderer_pool
    from renderers.renderer import ChatRenderer
    from renderers.resolution import Resolution
    from renderers.rollout import (
        Branch as Branch, Rollout, RolloutRow as RolloutRow, Turn as Turn, load_rollouts as load_rollouts,
        save_rollouts as save_rollouts,
    )
    from renderers.templating import (
        ChatTemplate as ChatTemplate, Limits as Limits, TemplateLimits as TemplateLimits,
    )
    from renderers.tokenizer import (
        MIRRORS as MIRRORS, TRUSTED_REVISIONS as TRUSTED_REVISIONS, Encoded as Encoded,
        ForeignTokenizer as ForeignTokenizer, LoadedTokenizer, Source as Source, TokenizerOutput as
        TokenizerOutput,
        TokenizerSource as TokenizerSource, adopt_tokenizer as adopt_tokenizer, load_tokenizer,
    )
    from renderers.training import (
        PackedSample as PackedSample, PreferencePair as PreferencePair,
        RenderedConversation, RenderedTrainingSample, TrainedTurn as TrainedTurn,
        build_preference_pair as build_preference_pair, build_training_sample, build_training_samples,
        build_trajectory_step, collate as collate, pack as pack,
    )
    # isort: on

__all__ = [
    "EXAMPLE_MODEL", "MULTIMODAL_MODELS", "AutoRendererConfig", "BaseRendererConfig", "Bridge", "BridgeReason",
    "BridgeRefusal", "ChatRenderer", "ChatTemplateTokenizer", "Content", "ContentPart", "ControlTextError",
    "CustomRendererConfig", "DeepSeekR1Renderer", "DeepSeekR1RendererConfig", "DeepSeekV3Renderer",
    "DeepSeekV3RendererConfig", "DeepSeekV4Renderer", "DeepSeekV4RendererConfig", "DefaultRenderer",
    "DefaultRendererConfig", "GLM5Renderer", "GLM5RendererConfig", "GLM45Renderer", "GLM45RendererConfig",
    "GLM51Renderer", "GLM51RendererConfig", "GLM53Renderer", "GLM53RendererConfig", "Gemma4Renderer",
    "Gemma4RendererConfig", "GptOssRenderer", "GptOssRendererConfig", "Hy3Renderer", "Hy3RendererConfig", "ImagePart",
    "InferenceClient", "InklingRenderer", "InklingRendererConfig", "KimiK2Renderer", "KimiK2RendererConfig",
    "KimiK25Renderer", "KimiK25RendererConfig", "LagunaM1Renderer", "LagunaM1RendererConfig", "LagunaS21Renderer",
    "LagunaS21RendererConfig", "LagunaXS2Renderer", "LagunaXS2RendererConfig", "LagunaXS21Renderer",
    "LagunaXS21RendererConfig", "Llama3Renderer", "Llama3RendererConfig", "LoadedTokenizer", "Loss", "LossError",
    "LossWarning", "MalformedGenerateResponseError", "MediaError", "Message", "MessageError", "MiniMaxM2Renderer",
    "MiniMaxM2RendererConfig", "MultiModalData", "MultimodalRenderer", "Nemotron3Renderer", "Nemotron3RendererConfig",
    "Nemotron3UltraRenderer", "Nemotron3UltraRendererConfig", "Nemotron35Renderer", "Nemotron35RendererConfig",
    "OffsetTokenizer", "OverlongPromptError", "ParsedResponse", "ParsedToolCall", "PlaceholderRange",
    "PrimeQwen3Renderer", "PrimeQwen3RendererConfig", "Qwen3Renderer", "Qwen3RendererConfig", "Qwen3VLRenderer",
    "Qwen3VLRendererConfig", "Qwen35Renderer", "Qwen35RendererConfig", "Qwen36Renderer", "Qwen36RendererConfig",
    "Qwen38Renderer", "Qwen38RendererConfig", "RenderedConversation", "RenderedTokens", "RenderedTrainingSample",
    "Renderer", "RendererConfig", "RendererPool", "Resolution", "ResponseParser", "Rollout", "TemplateError",
    "TextPart", "ThinkingPart", "Tokenizer", "TokenizerLoadError", "ToolCall", "ToolCallFunction",
    "ToolCallParseStatus", "ToolSpec", "VideoPart", "__version__", "attribute_text_segments", "build_training_sample",
    "build_training_samples", "build_trajectory_step", "config_from_name", "create_renderer", "create_renderer_pool",
    "custom_renderer_config", "extract_message_tool_names", "is_multimodal", "load_custom_renderer", "load_target",
    "load_tokenizer", "merge_chat_template_kwargs", "reject_assistant_in_extension", "template_field_names",
    "trim_to_turn_close",
]
# fmt: on

__version__ = "0.2.0"

# Module paths of release 0.1, such as `renderers.qwen3`.
__path__ = [*__path__, f"{__path__[0]}/compat/module_paths"]

EXAMPLE_MODEL = Path(__file__).parent / "embedded"
"""A small model directory included in the package: a byte-level tokenizer and a chat template."""

EMBEDDED = EXAMPLE_MODEL
"""The old name of `EXAMPLE_MODEL`."""

_HOMES = {
    "renderers.bridging.result": "Bridge",
    "renderers.bridging.refusal": "BridgeEvidence BridgeReason BridgeRefusal Evidence",
    "renderers.bridging.stability": "PrefixStability",
    "renderers.client.completion": "Completion WeightVersion",
    "renderers.client.engines.base": "CompletionReader EngineRequest InferenceEngine SampleRequest",
    "renderers.client.sync": "SyncInferenceClient",
    "renderers.client.transport": "InferenceClient",
    "renderers.compat.bridge_helpers": "reject_assistant_in_extension trim_to_turn_close",
    "renderers.compat.segments": "AttributedTextSegments attribute_text_segments",
    "renderers.configs": "RendererConfig config_from_name merge_chat_template_kwargs template_field_names",
    "renderers.core.completions": (
        "CalledTool CompletionState ContentDelta MarkerRead MarkerToken ParseEvent ParsedPart ParsedResponse "
        "ParsedToolCall ReasoningDelta ReasoningState Recovery RecoveryEvent RecoveryKind Region SkippedText "
        "SkippedTextEvent StateCall StopRead StopToken TextSkipped Thought ToolCallDelta ToolCallEnd "
        "ToolCallParseStatus ToolCallRead"
    ),
    "renderers.core.importing": "load_target",
    "renderers.core.inputs": "MessageLike TokenIds TokenizerLike ToolLike",
    "renderers.core.losses": "Loss LossPolicy",
    "renderers.core.message_types": (
        "AudioPart Content ContentPart ImagePart Message TextPart ThinkingPart Tool ToolCall ToolCallFunction "
        "ToolSpec VideoPart"
    ),
    "renderers.core.messages": "extract_message_tool_names",
    "renderers.core.options": "Conventions SamplingConventions",
    "renderers.core.protocols": (
        "ChatTemplateTokenizer MultimodalRenderer OffsetTokenizer Renderer Tokenizer is_multimodal"
    ),
    "renderers.core.spans": "Channel Span Trace",
    "renderers.core.tokens": "InjectedText MultiModalData PlaceholderRange RenderedTokens",
    "renderers.factory": "create_renderer",
    "renderers.families": "FAMILIES MODEL_RENDERER_MAP MULTIMODAL_MODELS Family",
    "renderers.families.configs.base": "custom_renderer_config load_custom_renderer",
    "renderers.parsing.parser": "ResponseParser",
    "renderers.pool": "RendererPool create_renderer_pool",
    "renderers.multimodal_renderer": "MultimodalChatRenderer",
    "renderers.renderer": "ChatRenderer",
    "renderers.resolution": "Resolution",
    "renderers.rollout": "Branch Rollout RolloutRow Turn load_rollouts save_rollouts",
    "renderers.templating": "ChatTemplate Limits TemplateLimits",
    "renderers.tokenizer": (
        "MIRRORS TRUSTED_REVISIONS Encoded ForeignTokenizer LoadedTokenizer Source TokenizerOutput TokenizerSource "
        "adopt_tokenizer load_tokenizer"
    ),
    "renderers.training": (
        "PackedSample PreferencePair RenderedConversation RenderedTrainingSample TrainedTurn build_preference_pair "
        "build_training_sample build_training_samples build_trajectory_step collate pack"
    ),
}
_HOME_OF_NAME = {name: home for home, names in _HOMES.items() for name in names.split()}
_HOME_OF_SUFFIX = {
    "Error": "renderers.errors",
    "Warning": "renderers.errors",
    "Renderer": "renderers.family_renderers",
    "RendererConfig": "renderers.configs",
}


def __getattr__(name: str) -> object:
    by_suffix = (home for suffix, home in _HOME_OF_SUFFIX.items() if name.endswith(suffix))
    home = _HOME_OF_NAME.get(name) or next(by_suffix, None)
    module = None if home is None else importlib.import_module(home)
    if not hasattr(module, name):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
