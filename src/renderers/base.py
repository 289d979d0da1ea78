"""The import path of `renderers.base` that users of earlier releases know: the same names, from where they live."""

from __future__ import annotations

from renderers.create import create_renderer
from renderers.messages import (
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
from renderers.parse.response import ParsedResponse, ParsedToolCall, ToolCallParseStatus
from renderers.pool import RendererPool, create_renderer_pool
from renderers.protocols import ChatTemplateTokenizer, OffsetTokenizer, Tokenizer, is_multimodal
from renderers.rendered import MultiModalData, PlaceholderRange, RenderedTokens
from renderers.tokenizer import TRUSTED_REVISIONS, load_tokenizer

__all__ = [
    "TRUSTED_REVISIONS",
    "ChatTemplateTokenizer",
    "Content",
    "ContentPart",
    "ImagePart",
    "Message",
    "MultiModalData",
    "OffsetTokenizer",
    "ParsedResponse",
    "ParsedToolCall",
    "PlaceholderRange",
    "RenderedTokens",
    "RendererPool",
    "TextPart",
    "ThinkingPart",
    "Tokenizer",
    "ToolCall",
    "ToolCallFunction",
    "ToolCallParseStatus",
    "ToolSpec",
    "VideoPart",
    "create_renderer",
    "create_renderer_pool",
    "extract_message_tool_names",
    "is_multimodal",
    "load_tokenizer",
]
