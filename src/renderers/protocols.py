"""What an object must have to be used as a tokenizer, and by what a renderer that takes images is known."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

__all__ = ["ChatTemplateTokenizer", "OffsetTokenizer", "Tokenizer", "is_multimodal"]


@runtime_checkable
class Tokenizer(Protocol):
    """The least that a tokenizer of a caller's own must have."""

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
    """A tokenizer that also says which characters each token stands for."""

    def __call__(self, text: str, *, add_special_tokens: bool, return_offsets_mapping: bool) -> Any: ...


@runtime_checkable
class ChatTemplateTokenizer(Tokenizer, Protocol):
    """A tokenizer that also applies its own chat template."""

    def apply_chat_template(self, *args: Any, **kwargs: Any) -> Any: ...


def is_multimodal(renderer: object) -> bool:
    """Says whether a renderer, or a pool of it, is one of a model that takes images.

    >>> is_multimodal(object())
    False
    """
    return hasattr(renderer, "mm_token_type_id_map")
