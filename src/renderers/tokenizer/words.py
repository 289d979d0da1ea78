"""ASCII text to ids, word by word: most words of a text are known from others.

A BPE vocabulary turns each word into ids for itself. Splitting a text with `re` and looking its words up is several
times as fast as the Rust library, which does more for each of them.
"""

from __future__ import annotations

import itertools
import json
import random
from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tokenizers import Tokenizer, models, pre_tokenizers

from renderers.core.patterns import compile_alternation
from renderers.tokenizer.batch import encode_batch
from renderers.tokenizer.splits import Split, ascii_split

__all__ = ["WordEncoder", "word_encoder"]

_KEPT = 2**18
"""How many characters of words are kept with their ids: some ten megabytes."""


class WordEncoder:
    """Encodes ASCII texts; made by `word_encoder`.

    Threads share it without a lock: what is known is only added to, until there is too much and it starts anew.
    """

    def __init__(self, backend: Tokenizer, split: Split, *, unless: frozenset[str]) -> None:
        self._split = split
        self._unless = compile_alternation(unless)
        self._backend = Tokenizer(backend.model)
        self._backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        self._known: dict[str, tuple[int, ...]] = {}
        self._size = 0

    def takes(self, text: str) -> bool:
        """Says whether a text is ASCII, and without the tokens that are more than words."""
        return text.isascii() and (self._unless is None or self._unless.search(text) is None)

    def encode(self, texts: Iterable[str]) -> list[array[int]]:
        """Returns the ids of texts that it takes."""
        split = list(map(self._split, texts))
        known = self._known
        missing = list(set(itertools.chain.from_iterable(split)).difference(known))
        if missing:
            # Tuples of numbers are nothing that the garbage collector has to go through.
            known.update(zip(missing, map(tuple, encode_batch(self._backend, missing)), strict=True))
            self._size += sum(map(len, missing))
            if self._size > _KEPT:
                self._known, self._size = {}, 0
        return [array("I", itertools.chain.from_iterable(map(known.__getitem__, words))) for words in split]


def encode_by_words(
    words: WordEncoder | None, texts: Sequence[str], otherwise: Callable[[list[int]], Sequence[Sequence[int]]]
) -> list[Sequence[int]]:
    """Returns the ids of texts: by words where that can be, and of the others, by their numbers, in another way."""
    if words is None:
        return list(otherwise(list(range(len(texts)))))
    taken = {at: text for at, text in enumerate(texts) if words.takes(text)}
    rest = [at for at in range(len(texts)) if at not in taken]
    found: dict[int, Sequence[int]] = dict(zip(taken, words.encode(taken.values()), strict=True))
    found.update(zip(rest, otherwise(rest) if rest else (), strict=True))
    return [found[at] for at in range(len(texts))]


def word_encoder(backend: Tokenizer, *, unless: frozenset[str]) -> WordEncoder | None:
    """Makes an encoder by words for a tokenizer; None where its words cannot be told, or are not for themselves.

    It does not take texts that hold one of the texts in `unless`.

    >>> from renderers import EMBEDDED
    >>> backend = Tokenizer.from_file(str(EMBEDDED / "tokenizer.json"))
    >>> word_encoder(backend, unless=frozenset()).encode(["Hi there"])[0].tolist() == backend.encode("Hi there").ids
    True
    """
    model = backend.model
    if not isinstance(model, models.BPE) or model.dropout or not _keeps_ascii(_json(backend.normalizer)):
        return None
    split = ascii_split(_json(backend.pre_tokenizer))
    if split is None or not _agrees(backend.pre_tokenizer, split):
        return None
    return WordEncoder(backend, split, unless=unless)


def _json(part: Any) -> Any:
    """Returns a part of a tokenizer as its JSON; None for one that it lacks."""
    return None if part is None else json.loads(part.__getstate__())


def _keeps_ascii(normalizer: Any) -> bool:
    match normalizer:
        case None | {"type": "NFC" | "NFD" | "NFKC" | "NFKD"}:
            return True
        case {"type": "Sequence", "normalizers": parts}:
            return all(map(_keeps_ascii, parts))
    return False


def _agrees(pre_tokenizer: Any, split: Split) -> bool:
    """Says whether a text of all sorts is split as the tokenizer itself splits it."""
    chance = random.Random(0)
    kinds = ["aeiost", "AEIOST", "0123456789", " ", " \n", "\r\n\t", "'", ".,-_/<>", "".join(map(chr, range(128)))]
    probe = "".join(chance.choice(kind) for kind in chance.choices(kinds, k=3_000) for _ in range(chance.randrange(4)))
    expected = [probe[start:end] for _, (start, end) in pre_tokenizer.pre_tokenize_str(probe)]
    return split(probe) == expected
