"""The import path of release 0.1 for all but its configs and its client: the same names, from where they live."""

from __future__ import annotations

from renderers.authoring import (
    introduces_user_query,
    reject_assistant_in_extension,
    resolve_thinking_retention,
    should_rerender_for_thinking_retention,
    trim_to_turn_close,
)
from renderers.configs import (
    AutoRendererConfig,
    BaseRendererConfig,
    CustomRendererConfig,
    DefaultRendererConfig,
    RendererConfig,
    config_from_name,
    merge_chat_template_kwargs,
    template_field_names,
)
from renderers.core.messages import (
    Content,
    ContentPart,
    ImagePart,
    Message,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolCallFunction,
    ToolSpec,
    VideoPart,
    extract_message_tool_names,
)
from renderers.core.protocols import (
    ChatTemplateTokenizer,
    MultimodalRenderer,
    OffsetTokenizer,
    Renderer,
    Tokenizer,
    is_multimodal,
)
from renderers.core.tokens import MultiModalData, PlaceholderRange, RenderedTokens
from renderers.custom import custom_renderer_config, load_custom_renderer, load_target
from renderers.errors import MalformedGenerateResponseError, OverlongPromptError
from renderers.factory import create_renderer
from renderers.families import MODEL_RENDERER_MAP, MULTIMODAL_MODELS
from renderers.family_renderers import RENDERER_REGISTRY
from renderers.parse.response import ParsedResponse, ParsedToolCall, ToolCallParseStatus
from renderers.pool import RendererPool, create_renderer_pool
from renderers.segments import AttributedTextSegments, attribute_text_segments
from renderers.tokenizer import TRUSTED_REVISIONS, load_tokenizer
from renderers.training.samples import (
    RenderedConversation,
    RenderedTrainingSample,
    build_training_sample,
    build_trajectory_step,
)

__all__ = [
    "MODEL_RENDERER_MAP",
    "MULTIMODAL_MODELS",
    "RENDERER_REGISTRY",
    "TRUSTED_REVISIONS",
    "AttributedTextSegments",
    "AutoRendererConfig",
    "BaseRendererConfig",
    "ChatTemplateTokenizer",
    "Content",
    "ContentPart",
    "CustomRendererConfig",
    "DefaultRendererConfig",
    "ImagePart",
    "MalformedGenerateResponseError",
    "Message",
    "MultiModalData",
    "MultimodalRenderer",
    "OffsetTokenizer",
    "OverlongPromptError",
    "ParsedResponse",
    "ParsedToolCall",
    "PlaceholderRange",
    "RenderedConversation",
    "RenderedTokens",
    "RenderedTrainingSample",
    "Renderer",
    "RendererConfig",
    "RendererPool",
    "TextPart",
    "ThinkingPart",
    "Tokenizer",
    "ToolCall",
    "ToolCallFunction",
    "ToolCallParseStatus",
    "ToolSpec",
    "VideoPart",
    "attribute_text_segments",
    "build_training_sample",
    "build_trajectory_step",
    "config_from_name",
    "create_renderer",
    "create_renderer_pool",
    "custom_renderer_config",
    "extract_message_tool_names",
    "introduces_user_query",
    "is_multimodal",
    "load_custom_renderer",
    "load_target",
    "load_tokenizer",
    "merge_chat_template_kwargs",
    "reject_assistant_in_extension",
    "resolve_thinking_retention",
    "should_rerender_for_thinking_retention",
    "template_field_names",
    "trim_to_turn_close",
]
