"""Text to ids as if the tokenizer had no control tokens."""

from __future__ import annotations

import uuid
from array import array
from collections.abc import Mapping, Sequence

from tokenizers import AddedToken, Tokenizer

from renderers.tokenizer.batch import encode_batch
from renderers.tokenizer.pieces import PieceCache
from renderers.tokenizer.words import WordEncoder, encode_by_words

__all__ = ["PlainEncoder"]

_WALL = f"<{uuid.uuid4().hex}>"
"""Stands for the token before a text, and is in no text that anybody could send."""


class PlainEncoder:
    """Encodes what stands between control tokens to ordinary tokens, whatever it looks like.

    It shares the vocabulary of the tokenizer that it is made of, and keeps the added tokens that are not
    reserved: runs of spaces and newlines. `reserved` has the others and their ids; `words` is faster where it
    can be used.

    Raises:
        TypeError: The vocabulary comes to a reserved token by itself, as word lists do.
    """

    def __init__(
        self, backend: Tokenizer, words: WordEncoder | None, *, reserved: Mapping[str, int], characters: int
    ) -> None:
        self._words = words
        self._backend = Tokenizer(backend.model)
        if backend.normalizer is not None:
            self._backend.normalizer = backend.normalizer
        if backend.pre_tokenizer is not None:
            self._backend.pre_tokenizer = backend.pre_tokenizer
        added = sorted(backend.get_added_tokens_decoder().items())
        kept = {number: token for number, token in added if token.content not in reserved}
        self._backend.add_tokens(list(kept.values()))
        self._backend.add_special_tokens([AddedToken(_WALL, normalized=False)])
        # One that the vocabulary lacks has another number here.
        numbers = {self._backend.token_to_id(token.content): number for number, token in kept.items()}
        self._numbers = {here: number for here, number in numbers.items() if here != number}
        self._cache = PieceCache(self._encode_batch, characters=characters)
        for (text, number), ids in zip(reserved.items(), self._encode_batch(list(reserved)), strict=True):
            if number in ids:
                raise TypeError(f"this vocabulary has no other way to write {text!r} than its control token")

    def encode(self, texts: Sequence[str], *, first: bool) -> list[array[int]]:
        """Returns the ids of texts, each of which follows a control token; but the first one none if it is `first`.

        The arrays are shared, and not to be changed.
        """
        walled = [text if first and not at else _WALL + text for at, text in enumerate(texts)]
        return self._cache.encode(walled)

    def offsets(self, text: str, *, first: bool) -> list[tuple[int, int]]:
        """Returns each token's first character in a text and the one after its last."""
        walled = text if first else _WALL + text
        before = len(walled) - len(text)
        found = self._backend.encode(walled, add_special_tokens=False).offsets
        return [(start - before, end - before) for start, end in found if start >= before]

    def _encode_batch(self, texts: list[str]) -> list[Sequence[int]]:
        bare = [text.removeprefix(_WALL) for text in texts]
        return encode_by_words(self._words, bare, lambda rest: self._encode_walled([texts[at] for at in rest]))

    def _encode_walled(self, texts: list[str]) -> list[list[int]]:
        return [
            [self._numbers.get(number, number) for number in ids[text.startswith(_WALL) :]]
            for text, ids in zip(texts, encode_batch(self._backend, texts), strict=True)
        ]
