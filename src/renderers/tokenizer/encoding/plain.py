"""Encode text as if the tokenizer had no special tokens."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from renderers.core.text import compile_alternation
from renderers.tokenizer.encoding.piece_cache import PackedIds, PieceCache, TokenPlaces, size_of_places
from renderers.tokenizer.engines.base import encode_with
from renderers.tokenizer.engines.huggingface import encode_batch
from renderers.tokenizer.engines.select import EngineChoice

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_ISOLATOR = f"<{os.urandom(16).hex()}>"
"""Stands for the special token before a text. Random, so that no text contains it."""


class PlainEncoder:
    """Encode text between special tokens to ordinary tokens, even if it contains the text of a special token.

    It shares the vocabulary of `backend` and has no added tokens except runs of spaces and newlines. `reserved` are
    the other added tokens and their ids. `engines` encode the texts that they take: they find no added tokens that
    are `isolated`, so texts with others are not passed to them.
    `TypeError` if the model itself encodes a reserved text to its token, as word-level models do.
    """

    def __init__(
        self,
        backend: Tokenizer,
        engines: EngineChoice | None,
        *,
        reserved: Mapping[str, int],
        isolated: frozenset[str],
    ) -> None:
        from tokenizers import AddedToken, Tokenizer

        self._engines = engines
        self._found_by_engines = compile_alternation(frozenset(reserved) - isolated)
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
        self._cache = PieceCache[PackedIds](self._encode_batch, size=bytes.__sizeof__)
        self._places = PieceCache[TokenPlaces](self._find_places, size=size_of_places)
        for (text, number), ids in zip(reserved.items(), self._encode_marked(list(reserved)), strict=True):
            if number in ids:
                raise TypeError(f"this vocabulary has no encoding of {text!r} but its special token")

    def encode(self, texts: Sequence[str], *, first: Collection[int]) -> list[PackedIds]:
        """Encode texts that each follow a special token, except those with the indices in `first`."""
        marked = [text if at in first else _ISOLATOR + text for at, text in enumerate(texts)]
        return self._cache.lookup(marked)

    def places(self, text: str, *, first: bool) -> TokenPlaces:
        """Return the places of the tokens of a text that `encode` gives."""
        marked = text if first else _ISOLATOR + text
        return self._places.lookup([marked])[0]

    def _find_places(self, texts: list[str]) -> list[TokenPlaces]:
        return list(map(self._places_of, texts))

    def _places_of(self, marked: str) -> TokenPlaces:
        before = len(_ISOLATOR) if marked.startswith(_ISOLATOR) else 0
        offsets = self._backend.encode(marked, add_special_tokens=False).offsets
        return TokenPlaces.of_offsets([(start - before, end - before) for start, end in offsets if start >= before])

    def _encode_batch(self, texts: list[str]) -> list[PackedIds]:
        bare = [text.removeprefix(_ISOLATOR) for text in texts]
        engine = None if self._engines is None else self._engines.engine_for(bare)

        def otherwise(rest: list[int]) -> list[list[int]]:
            return self._encode_marked([texts[at] for at in rest])

        return encode_with(engine, bare, otherwise, unless=self._found_by_engines)

    def _encode_marked(self, texts: list[str]) -> list[list[int]]:
        return [
            [self._numbers.get(number, number) for number in ids[text.startswith(_ISOLATOR) :]]
            for text, ids in zip(texts, encode_batch(self._backend, texts), strict=True)
        ]
