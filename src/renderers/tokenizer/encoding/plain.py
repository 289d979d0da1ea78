"""Encode text as if the tokenizer had no special tokens."""

from __future__ import annotations

import uuid
from array import array
from collections.abc import Mapping, Sequence

from tokenizers import AddedToken, Tokenizer

from renderers.tokenizer.encoding.piece_cache import PieceCache
from renderers.tokenizer.engines.huggingface import encode_batch
from renderers.tokenizer.engines.words import WordEncoder, encode_by_words

_ISOLATOR = f"<{uuid.uuid4().hex}>"
"""Stands for the special token before a text. Random, so that no text contains it."""


class PlainEncoder:
    """Encode text between special tokens to ordinary tokens, even if it contains the text of a special token.

    It shares the vocabulary of `backend` and has no added tokens except runs of spaces and newlines. `reserved` are
    the other added tokens and their ids. `words` encodes the texts that it supports, which is faster. `TypeError` if
    the model itself encodes a reserved text to its token, as word-level models do.
    """

    def __init__(self, backend: Tokenizer, words: WordEncoder | None, *, reserved: Mapping[str, int]) -> None:
        self._words = words
        self._backend = Tokenizer(backend.model)
        for part in ("normalizer", "pre_tokenizer"):
            if getattr(backend, part) is not None:
                setattr(self._backend, part, getattr(backend, part))
        added = sorted(backend.get_added_tokens_decoder().items())
        kept = {number: token for number, token in added if token.content not in reserved}
        self._backend.add_tokens(list(kept.values()))
        self._backend.add_special_tokens([AddedToken(_ISOLATOR, normalized=False)])
        # A token that is not in the vocabulary of the model gets another id here.
        numbers = {self._backend.token_to_id(token.content): number for number, token in kept.items()}
        self._numbers = {here: number for here, number in numbers.items() if here != number}
        self._cache = PieceCache(self._encode_batch)
        for (text, number), ids in zip(reserved.items(), self._encode_batch(list(reserved)), strict=True):
            if number in ids:
                raise TypeError(f"this vocabulary has no encoding of {text!r} but its special token")

    def encode(self, texts: Sequence[str], *, first: bool) -> list[array[int]]:
        """Return the ids of texts that each follow a special token, except the first text if `first`.

        The arrays are shared with the cache. Do not modify them.
        """
        marked = [text if first and not at else _ISOLATOR + text for at, text in enumerate(texts)]
        ids_of = self._cache.lookup(marked)
        return [ids_of[text] for text in marked]

    def offsets(self, text: str, *, first: bool) -> list[tuple[int, int]]:
        marked = text if first else _ISOLATOR + text
        before = len(marked) - len(text)
        offsets = self._backend.encode(marked, add_special_tokens=False).offsets
        return [(start - before, end - before) for start, end in offsets if start >= before]

    def _encode_batch(self, texts: list[str]) -> list[array[int]]:
        bare = [text.removeprefix(_ISOLATOR) for text in texts]
        return encode_by_words(self._words, bare, lambda rest: self._encode_marked([texts[at] for at in rest]))

    def _encode_marked(self, texts: list[str]) -> list[list[int]]:
        return [
            [self._numbers.get(number, number) for number in ids[text.startswith(_ISOLATOR) :]]
            for text, ids in zip(texts, encode_batch(self._backend, texts), strict=True)
        ]
