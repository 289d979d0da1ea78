"""Batch encoding with the Rust library of Hugging Face."""

from __future__ import annotations

import re

from tokenizers import Tokenizer

from renderers.errors import UnencodableTextError

_SURROGATE = re.compile("[\ud800-\udfff]")


def encode_batch(backend: Tokenizer, texts: list[str]) -> list[list[int]]:
    """Encode each text on its own, adding no special tokens. The call releases the GIL.

    Raises:
        UnencodableTextError: A text contains a lone surrogate.
    """
    try:
        return [encoding.ids for encoding in backend.encode_batch_fast(texts, add_special_tokens=False)]
    except TypeError:
        for text in texts:
            check_text(text)
        raise


def check_text(text: object) -> None:
    """Raise an error with the reason why the Rust library rejects a text.

    Raises:
        TypeError: `text` is not a str.
        UnencodableTextError: `text` contains a lone surrogate.
    """
    if not isinstance(text, str):
        raise TypeError(f"a text to encode must be a str, not {type(text).__name__}") from None
    if surrogate := _SURROGATE.search(text):
        raise UnencodableTextError.at(f"character {surrogate.start()} of the text", surrogate[0]) from None
