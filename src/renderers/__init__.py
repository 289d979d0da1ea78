"""Chat messages to the exact tokens of an open-weight LLM, and back.

Names that need more than the standard library are imported when they are first used.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING

from renderers.conventions import Conventions
from renderers.errors import (
    ControlTextError,
    MediaError,
    MessageError,
    RendererPoolError,
    TemplateError,
    TemplateLimitError,
    TemplateMissingError,
    TemplateRefusalError,
    TemplateRunError,
    TemplateSourceError,
    TokenIdError,
    TokenizerCheckError,
    TokenizerFileError,
    TokenizerLoadError,
    TokenizerNotFoundError,
    TokenizerUnreachableError,
    TraceMismatchError,
    UnencodableTextError,
)
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
from renderers.parse.events import (
    ContentDelta,
    MarkerRead,
    ParseEvent,
    ReasoningDelta,
    StopRead,
    TextSkipped,
    ToolCallDelta,
    ToolCallRead,
)
from renderers.parse.response import (
    CompletionState,
    ParsedPart,
    ParsedResponse,
    ParsedToolCall,
    Region,
    SkippedText,
    StateCall,
    Thought,
    ToolCallParseStatus,
)
from renderers.protocols import ChatTemplateTokenizer, OffsetTokenizer, Tokenizer, is_multimodal
from renderers.rendered import InjectedText, MultiModalData, PlaceholderRange, RenderedTokens
from renderers.spans import Channel, Span, Trace

if TYPE_CHECKING:
    from renderers.bridge import Bridge
    from renderers.create import create_renderer
    from renderers.parse.stream import ResponseParser
    from renderers.pool import RendererPool, create_renderer_pool
    from renderers.proofs import BridgeReason, BridgeRefusal, Evidence
    from renderers.renderer import ChatRenderer, MultimodalChatRenderer
    from renderers.resolution import Resolution
    from renderers.stability import PrefixStability
    from renderers.tokenizer import (
        MIRRORS,
        TRUSTED_REVISIONS,
        Encoded,
        ForeignTokenizer,
        LoadedTokenizer,
        Source,
        adopt_tokenizer,
        load_tokenizer,
    )
    from renderers.trace import ChatTemplate, Limits

__all__ = [
    "EMBEDDED",
    "MIRRORS",
    "TRUSTED_REVISIONS",
    "Bridge",
    "BridgeReason",
    "BridgeRefusal",
    "Channel",
    "ChatRenderer",
    "ChatTemplate",
    "ChatTemplateTokenizer",
    "CompletionState",
    "Content",
    "ContentDelta",
    "ContentPart",
    "ControlTextError",
    "Conventions",
    "Encoded",
    "Evidence",
    "ForeignTokenizer",
    "ImagePart",
    "InjectedText",
    "Limits",
    "LoadedTokenizer",
    "MarkerRead",
    "MediaError",
    "Message",
    "MessageError",
    "MultiModalData",
    "MultimodalChatRenderer",
    "OffsetTokenizer",
    "ParseEvent",
    "ParsedPart",
    "ParsedResponse",
    "ParsedToolCall",
    "PlaceholderRange",
    "PrefixStability",
    "ReasoningDelta",
    "Region",
    "RenderedTokens",
    "RendererPool",
    "RendererPoolError",
    "Resolution",
    "ResponseParser",
    "SkippedText",
    "Source",
    "Span",
    "StateCall",
    "StopRead",
    "TemplateError",
    "TemplateLimitError",
    "TemplateMissingError",
    "TemplateRefusalError",
    "TemplateRunError",
    "TemplateSourceError",
    "TextPart",
    "TextSkipped",
    "ThinkingPart",
    "Thought",
    "TokenIdError",
    "Tokenizer",
    "TokenizerCheckError",
    "TokenizerFileError",
    "TokenizerLoadError",
    "TokenizerNotFoundError",
    "TokenizerUnreachableError",
    "ToolCall",
    "ToolCallDelta",
    "ToolCallFunction",
    "ToolCallParseStatus",
    "ToolCallRead",
    "ToolSpec",
    "Trace",
    "TraceMismatchError",
    "UnencodableTextError",
    "VideoPart",
    "__version__",
    "adopt_tokenizer",
    "create_renderer",
    "create_renderer_pool",
    "extract_message_tool_names",
    "is_multimodal",
    "load_tokenizer",
]

__version__ = "0.2.0"

EMBEDDED = Path(__file__).parent / "embedded"
"""A small model directory that comes with the package: a byte-level tokenizer and a chat template."""

_LAZY = {
    "Bridge": "renderers.bridge",
    "BridgeReason": "renderers.proofs",
    "BridgeRefusal": "renderers.proofs",
    "Evidence": "renderers.proofs",
    "ChatRenderer": "renderers.renderer",
    "ChatTemplate": "renderers.trace",
    "Limits": "renderers.trace",
    "MultimodalChatRenderer": "renderers.renderer",
    "PrefixStability": "renderers.stability",
    "RendererPool": "renderers.pool",
    "Resolution": "renderers.resolution",
    "ResponseParser": "renderers.parse.stream",
    "create_renderer": "renderers.create",
    "create_renderer_pool": "renderers.pool",
    "MIRRORS": "renderers.tokenizer",
    "TRUSTED_REVISIONS": "renderers.tokenizer",
    "Encoded": "renderers.tokenizer",
    "ForeignTokenizer": "renderers.tokenizer",
    "LoadedTokenizer": "renderers.tokenizer",
    "Source": "renderers.tokenizer",
    "adopt_tokenizer": "renderers.tokenizer",
    "load_tokenizer": "renderers.tokenizer",
}


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
