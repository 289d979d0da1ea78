"""Encode ASCII text word by word, with a cache of words: several times as fast as the Rust library."""

from __future__ import annotations

import itertools
import random
from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tokenizers import Tokenizer, models, pre_tokenizers

from renderers.core.text import compile_alternation
from renderers.tokenizer.encoding.piece_cache import PieceCache
from renderers.tokenizer.engines.ascii_regex import Split, ascii_split
from renderers.tokenizer.engines.huggingface import component_json, component_types, encode_batch

_KEEP_ASCII = frozenset({"NFC", "NFD", "NFKC", "NFKD"})
"""The normalizers that do not change ASCII text."""
_CACHED_CHARACTERS = 2**18
"""Bound of one generation of cached words, in characters: with their ids some ten megabytes."""


class WordEncoder:
    """Encode ASCII texts; made by `word_encoder`."""

    def __init__(self, backend: Tokenizer, split: Split, *, unless: frozenset[str]) -> None:
        self._split = split
        self._unless = compile_alternation(unless)
        model = Tokenizer(backend.model)
        model.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        # Tuples of ints, which the garbage collector does not track.
        self._words = PieceCache(lambda words: map(tuple, encode_batch(model, words)), characters=_CACHED_CHARACTERS)

    def takes(self, text: str) -> bool:
        """Return True if a text is ASCII and contains no excluded token."""
        return text.isascii() and (self._unless is None or self._unless.search(text) is None)

    def encode(self, texts: Iterable[str]) -> list[array[int]]:
        split = list(map(self._split, texts))
        ids_of = self._words.lookup(itertools.chain.from_iterable(split)).__getitem__
        return [array("I", itertools.chain.from_iterable(map(ids_of, words))) for words in split]


def encode_by_words(
    words: WordEncoder | None, texts: Sequence[str], otherwise: Callable[[list[int]], Sequence[Sequence[int]]]
) -> list[array[int]]:
    """Return the ids of all texts: by words where possible, else by `otherwise`, which gets the indices of the rest."""
    taken = {at: text for at, text in enumerate(texts) if words and words.takes(text)}
    rest = [at for at in range(len(texts)) if at not in taken]
    encoded = dict(zip(taken, words.encode(taken.values()), strict=True)) if words else {}
    if rest:
        encoded.update(zip(rest, (array("I", ids) for ids in otherwise(rest)), strict=True))
    return [encoded[at] for at in range(len(texts))]


def word_encoder(backend: Tokenizer, *, unless: frozenset[str]) -> WordEncoder | None:
    """Make a word encoder; None if the split is not supported or words are not encoded independently.

    The encoder does not take texts that contain one of the texts in `unless`.
    """
    model = backend.model
    keeps_ascii = _KEEP_ASCII.issuperset(component_types(backend.normalizer))
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
