"""Protocols of tokenizers and renderers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from renderers.core.completions import ParsedResponse
from renderers.core.tokens import RenderedTokens


@runtime_checkable
class Tokenizer(Protocol):
    """The minimum of a custom tokenizer."""

    @property
    def name_or_path(self) -> str: ...
    @property
    def eos_token_id(self) -> int | None: ...
    @property
    def unk_token_id(self) -> int | None: ...

    def encode(self, text: str, *args: Any, **kwargs: Any) -> list[int]: ...
    def decode(self, token_ids: Any, *args: Any, **kwargs: Any) -> str: ...
    def convert_tokens_to_ids(self, tokens: Any) -> Any: ...


@runtime_checkable
class OffsetTokenizer(Tokenizer, Protocol):
    """A tokenizer that also returns character offsets."""

    def __call__(self, text: str, *, add_special_tokens: bool, return_offsets_mapping: bool) -> Any: ...


@runtime_checkable
class ChatTemplateTokenizer(Tokenizer, Protocol):
    """A tokenizer that also applies its own chat template."""

    def apply_chat_template(self, *args: Any, **kwargs: Any) -> Any: ...


@runtime_checkable
class Renderer(Protocol):
    """Converts messages to the tokens of one model and back: the result of `create_renderer`, or a custom class."""

    @property
    def is_prefix_stable(self) -> bool: ...

    def render(self, messages: Any, *, tools: Any = None, add_generation_prompt: bool = False) -> RenderedTokens: ...
    def render_ids(self, messages: Any, *, tools: Any = None, add_generation_prompt: bool = False) -> list[int]: ...
    def parse_response(self, token_ids: Any, *, tools: Any = None, prompt_ids: Any = None) -> ParsedResponse: ...
    def bridge_to_next_turn(
        self, previous_prompt_ids: Any, previous_completion_ids: Any, new_messages: Any, *, tools: Any = None
    ) -> RenderedTokens | None: ...
    def get_stop_token_ids(self) -> list[int]: ...


@runtime_checkable
class MultimodalRenderer(Renderer, Protocol):
    """A renderer of a model that accepts images."""

    @property
    def mm_token_type_id_map(self) -> Mapping[int, int]: ...


def is_multimodal(renderer: object) -> bool:
    """Return True if a renderer, or a pool of renderers, is for a model that accepts images.

    >>> is_multimodal(object())
    False
    """
    return hasattr(renderer, "mm_token_type_id_map")
