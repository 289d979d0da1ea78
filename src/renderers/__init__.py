"""Chat messages to the exact tokens of an open-weight LLM, and back.

`import renderers` is light: each name is imported from its home module on first use. `__all__` lists
the main names. The typed configs, the renderer class of each family, and all other public names can
be imported as well: `from renderers import Qwen3Renderer, Qwen3RendererConfig`.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from renderers.bridging.bridge import Bridge as Bridge
    from renderers.bridging.refusal import BridgeEvidence as BridgeEvidence
    from renderers.bridging.refusal import BridgeReason as BridgeReason
    from renderers.bridging.refusal import BridgeRefusal as BridgeRefusal
    from renderers.bridging.refusal import Evidence as Evidence
    from renderers.bridging.stability import PrefixStability as PrefixStability
    from renderers.compat.bridge_helpers import reject_assistant_in_extension as reject_assistant_in_extension
    from renderers.compat.bridge_helpers import trim_to_turn_close as trim_to_turn_close
    from renderers.compat.segments import AttributedTextSegments as AttributedTextSegments
    from renderers.compat.segments import attribute_text_segments as attribute_text_segments
    from renderers.configs import *
    from renderers.core.completions import CalledTool as CalledTool
    from renderers.core.completions import CompletionState as CompletionState
    from renderers.core.completions import ContentDelta as ContentDelta
    from renderers.core.completions import MarkerRead as MarkerRead
    from renderers.core.completions import MarkerToken as MarkerToken
    from renderers.core.completions import ParsedPart as ParsedPart
    from renderers.core.completions import ParsedResponse as ParsedResponse
    from renderers.core.completions import ParsedToolCall as ParsedToolCall
    from renderers.core.completions import ParseEvent as ParseEvent
    from renderers.core.completions import ReasoningDelta as ReasoningDelta
    from renderers.core.completions import ReasoningState as ReasoningState
    from renderers.core.completions import Region as Region
    from renderers.core.completions import SkippedText as SkippedText
    from renderers.core.completions import SkippedTextEvent as SkippedTextEvent
    from renderers.core.completions import StateCall as StateCall
    from renderers.core.completions import StopRead as StopRead
    from renderers.core.completions import StopToken as StopToken
    from renderers.core.completions import TextSkipped as TextSkipped
    from renderers.core.completions import Thought as Thought
    from renderers.core.completions import ToolCallDelta as ToolCallDelta
    from renderers.core.completions import ToolCallEnd as ToolCallEnd
    from renderers.core.completions import ToolCallParseStatus as ToolCallParseStatus
    from renderers.core.completions import ToolCallRead as ToolCallRead
    from renderers.core.importing import load_target as load_target
    from renderers.core.messages import Content as Content
    from renderers.core.messages import ContentPart as ContentPart
    from renderers.core.messages import ImagePart as ImagePart
    from renderers.core.messages import Message as Message
    from renderers.core.messages import TextPart as TextPart
    from renderers.core.messages import ThinkingPart as ThinkingPart
    from renderers.core.messages import ToolCall as ToolCall
    from renderers.core.messages import ToolCallFunction as ToolCallFunction
    from renderers.core.messages import ToolSpec as ToolSpec
    from renderers.core.messages import VideoPart as VideoPart
    from renderers.core.messages import extract_message_tool_names as extract_message_tool_names
    from renderers.core.options import Conventions as Conventions
    from renderers.core.options import SamplingConventions as SamplingConventions
    from renderers.core.protocols import ChatTemplateTokenizer as ChatTemplateTokenizer
    from renderers.core.protocols import MultimodalRenderer as MultimodalRenderer
    from renderers.core.protocols import OffsetTokenizer as OffsetTokenizer
    from renderers.core.protocols import Renderer as Renderer
    from renderers.core.protocols import Tokenizer as Tokenizer
    from renderers.core.protocols import is_multimodal as is_multimodal
    from renderers.core.spans import Channel as Channel
    from renderers.core.spans import Span as Span
    from renderers.core.spans import Trace as Trace
    from renderers.core.tokens import InjectedText as InjectedText
    from renderers.core.tokens import MultiModalData as MultiModalData
    from renderers.core.tokens import PlaceholderRange as PlaceholderRange
    from renderers.core.tokens import RenderedTokens as RenderedTokens
    from renderers.errors import *
    from renderers.factory import create_renderer as create_renderer
    from renderers.families import FAMILIES as FAMILIES
    from renderers.families import MODEL_RENDERER_MAP as MODEL_RENDERER_MAP
    from renderers.families import MULTIMODAL_MODELS as MULTIMODAL_MODELS
    from renderers.families import Family as Family
    from renderers.families.config import custom_renderer_config as custom_renderer_config
    from renderers.families.config import load_custom_renderer as load_custom_renderer
    from renderers.family_renderers import *
    from renderers.parsing.parser import ResponseParser as ResponseParser
    from renderers.pool import RendererPool as RendererPool
    from renderers.pool import create_renderer_pool as create_renderer_pool
    from renderers.renderer import ChatRenderer as ChatRenderer
    from renderers.renderer import MultimodalChatRenderer as MultimodalChatRenderer
    from renderers.resolution import Resolution as Resolution
    from renderers.templating import ChatTemplate as ChatTemplate
    from renderers.templating import Limits as Limits
    from renderers.templating import TemplateLimits as TemplateLimits
    from renderers.tokenizer import MIRRORS as MIRRORS
    from renderers.tokenizer import TRUSTED_REVISIONS as TRUSTED_REVISIONS
    from renderers.tokenizer import Encoded as Encoded
    from renderers.tokenizer import ForeignTokenizer as ForeignTokenizer
    from renderers.tokenizer import LoadedTokenizer as LoadedTokenizer
    from renderers.tokenizer import Source as Source
    from renderers.tokenizer import TokenizerOutput as TokenizerOutput
    from renderers.tokenizer import TokenizerSource as TokenizerSource
    from renderers.tokenizer import adopt_tokenizer as adopt_tokenizer
    from renderers.tokenizer import load_tokenizer as load_tokenizer
    from renderers.training.samples import RenderedConversation as RenderedConversation
    from renderers.training.samples import RenderedTrainingSample as RenderedTrainingSample
    from renderers.training.samples import build_training_sample as build_training_sample
    from renderers.training.samples import build_trajectory_step as build_trajectory_step

__all__ = [
    "EXAMPLE_MODEL",
    "MODEL_RENDERER_MAP",
    "Bridge",
    "BridgeEvidence",
    "BridgeReason",
    "BridgeRefusal",
    "ChatRenderer",
    "ContentPart",
    "ControlTextError",
    "ImagePart",
    "LoadedTokenizer",
    "MediaError",
    "Message",
    "MessageError",
    "MultiModalData",
    "MultimodalChatRenderer",
    "MultimodalRenderer",
    "ParsedResponse",
    "ParsedToolCall",
    "PlaceholderRange",
    "RenderedTokens",
    "RenderedTrainingSample",
    "Renderer",
    "RendererConfig",
    "RendererPool",
    "RendererPoolError",
    "Resolution",
    "ResponseParser",
    "TemplateError",
    "TemplateLimitError",
    "TemplateMissingError",
    "TemplateRefusalError",
    "TemplateRunError",
    "TemplateSourceError",
    "TextPart",
    "ThinkingPart",
    "TokenIdError",
    "Tokenizer",
    "TokenizerCheckError",
    "TokenizerFileError",
    "TokenizerLoadError",
    "TokenizerNotFoundError",
    "TokenizerOutput",
    "TokenizerSource",
    "TokenizerUnreachableError",
    "ToolCall",
    "ToolCallParseStatus",
    "ToolSpec",
    "TraceMismatchError",
    "UnencodableTextError",
    "UnknownFamilyError",
    "UnknownTemplateWarning",
    "UnreadSwitchWarning",
    "UnsupportedModelError",
    "VideoPart",
    "__version__",
    "build_training_sample",
    "build_trajectory_step",
    "config_from_name",
    "create_renderer",
    "create_renderer_pool",
    "is_multimodal",
    "load_tokenizer",
]

__version__ = "0.2.0"

# Module paths of release 0.1, such as `renderers.qwen3`.
__path__ = [*__path__, f"{__path__[0]}/compat/module_paths"]

EXAMPLE_MODEL = Path(__file__).parent / "embedded"
"""A small model directory included in the package: a byte-level tokenizer and a chat template."""

EMBEDDED = EXAMPLE_MODEL
"""The old name of `EXAMPLE_MODEL`."""

_HOMES = {
    "renderers.bridging.bridge": "Bridge",
    "renderers.compat.bridge_helpers": "reject_assistant_in_extension trim_to_turn_close",
    "renderers.compat.segments": "AttributedTextSegments attribute_text_segments",
    "renderers.configs": ("RendererConfig config_from_name merge_chat_template_kwargs template_field_names"),
    "renderers.core.options": "Conventions SamplingConventions",
    "renderers.factory": "create_renderer",
    "renderers.core.importing": "load_target",
    "renderers.families": "FAMILIES MODEL_RENDERER_MAP MULTIMODAL_MODELS Family",
    "renderers.families.config": "custom_renderer_config load_custom_renderer",
    "renderers.core.messages": (
        "Content ContentPart ImagePart Message TextPart ThinkingPart ToolCall ToolCallFunction ToolSpec "
        "VideoPart extract_message_tool_names"
    ),
    "renderers.core.completions": (
        "CalledTool CompletionState ContentDelta MarkerRead MarkerToken ParseEvent ParsedPart ParsedResponse "
        "ParsedToolCall ReasoningDelta ReasoningState Region SkippedText SkippedTextEvent StateCall StopRead StopToken "
        "TextSkipped Thought ToolCallDelta ToolCallEnd ToolCallParseStatus ToolCallRead"
    ),
    "renderers.parsing.parser": "ResponseParser",
    "renderers.pool": "RendererPool create_renderer_pool",
    "renderers.bridging.refusal": "BridgeEvidence BridgeReason BridgeRefusal Evidence",
    "renderers.core.protocols": (
        "ChatTemplateTokenizer MultimodalRenderer OffsetTokenizer Renderer Tokenizer is_multimodal"
    ),
    "renderers.core.tokens": "InjectedText MultiModalData PlaceholderRange RenderedTokens",
    "renderers.renderer": "ChatRenderer MultimodalChatRenderer",
    "renderers.resolution": "Resolution",
    "renderers.core.spans": "Channel Span Trace",
    "renderers.bridging.stability": "PrefixStability",
    "renderers.tokenizer": (
        "MIRRORS TRUSTED_REVISIONS Encoded ForeignTokenizer LoadedTokenizer Source TokenizerOutput TokenizerSource "
        "adopt_tokenizer load_tokenizer"
    ),
    "renderers.templating": "ChatTemplate Limits TemplateLimits",
    "renderers.training.samples": (
        "RenderedConversation RenderedTrainingSample build_training_sample build_trajectory_step"
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
