"""Encode ASCII text word by word, with a cache of words: several times as fast as the Rust library."""

from __future__ import annotations

import itertools
import random
import sys
from array import array
from collections.abc import Sequence
from typing import Any

from tokenizers import Tokenizer, models, pre_tokenizers
from tokenizers import __version__ as tokenizers_version

from renderers.core.text import compile_alternation
from renderers.tokenizer.encoding.piece_cache import PieceCache
from renderers.tokenizer.engines.ascii_regex import Split, ascii_split
from renderers.tokenizer.engines.base import EncodedTexts
from renderers.tokenizer.engines.huggingface import KEEP_ASCII, component_json, component_types, encode_batch

_CACHED_BYTES = 2**23
"""Bound of one generation of cached words."""


class WordEncoder:
    """Encode ASCII texts; made by `word_encoder`. New words go to the Rust library."""

    name = "tokenizers"
    version: str = tokenizers_version

    def __init__(self, backend: Tokenizer, split: Split, *, unless: frozenset[str]) -> None:
        self._split = split
        self._unless = compile_alternation(unless)
        model = Tokenizer(backend.model)
        model.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        # Tuples of ints, which the garbage collector does not track.
        self._words = PieceCache[tuple[int, ...]](
            lambda words: map(tuple, encode_batch(model, words)), size=sys.getsizeof, capacity=_CACHED_BYTES
        )

    def takes(self, text: str) -> bool:
        """Return True if a text is ASCII and contains no excluded token."""
        return text.isascii() and (self._unless is None or self._unless.search(text) is None)

    def encode(self, texts: Sequence[str]) -> EncodedTexts:
        """Encode texts that it takes, each on its own."""
        split = list(map(self._split, texts))
        ids_of = self._words.lookup(itertools.chain.from_iterable(split)).__getitem__
        ids = array("I")
        ends: list[int] = []
        for words in split:
            ids.extend(itertools.chain.from_iterable(map(ids_of, words)))
            ends.append(len(ids))
        return EncodedTexts(ids, ends)


def word_encoder(backend: Tokenizer, *, unless: frozenset[str]) -> WordEncoder | None:
    """Make a word encoder; None if the split is not supported or words are not encoded independently.

    The encoder does not take texts that contain one of the texts in `unless`.
    """
    model = backend.model
    keeps_ascii = KEEP_ASCII.issuperset(component_types(backend.normalizer))
    if not keeps_ascii or not isinstance(model, models.BPE) or model.dropout:
        return None
    split = ascii_split(component_json(backend.pre_tokenizer))
    if split is None or not _agrees(backend.pre_tokenizer, split):
        return None
    return WordEncoder(backend, split, unless=unless)


def _agrees(pre_tokenizer: Any, split: Split) -> bool:
    """Return True if a text with all kinds of characters is split as by the tokenizer itself."""
    chance = random.Random(0)
    kinds = ["aeiost", "AEIOST", "0123456789", " ", " \n", "\r\n\t", "'", ".,-_/<>", "".join(map(chr, range(128)))]
    probe = "".join(chance.choice(kind) for kind in chance.choices(kinds, k=3_000) for _ in range(chance.randrange(4)))
    expected = [probe[start:end] for _, (start, end) in pre_tokenizer.pre_tokenize_str(probe)]
    return split(probe) == expected
