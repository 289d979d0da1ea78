"""Several texts to ids in one call into the Rust library, and why it would not take one."""

from __future__ import annotations

from tokenizers import Tokenizer

from renderers.errors import UnencodableTextError

__all__ = ["check_text", "encode_batch"]


def encode_batch(backend: Tokenizer, texts: list[str]) -> list[list[int]]:
    """Encodes texts for themselves, with nothing added, in a call that other threads can run beside.

    Raises:
        UnencodableTextError: One of them holds a lone surrogate.
    """
    try:
        return [one.ids for one in backend.encode_batch_fast(texts, add_special_tokens=False)]
    except TypeError:
        for text in texts:
            check_text(text)
        raise


def check_text(text: object) -> None:
    """Says what is wrong with a text that the Rust side would not take.

    Raises:
        TypeError: It is no text.
        UnencodableTextError: It holds a lone surrogate.
    """
    if not isinstance(text, str):
        raise TypeError(f"a text to encode must be a str, not {type(text).__name__}") from None
    at = next((at for at, character in enumerate(text) if "\ud800" <= character <= "\udfff"), None)
    if at is not None:
        raise UnencodableTextError.at(f"character {at} of the text", text[at]) from None
