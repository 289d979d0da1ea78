"""`BpeEngine`: the interface of everything that encodes text to token ids."""

from __future__ import annotations

import itertools
import re
from array import array
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from renderers.tokenizer.encoding.piece_cache import PackedIds, pack_ids


class EncodedTexts(NamedTuple):
    """The ids of several texts in one buffer."""

    ids: array[int]
    """The ids of all texts, one text after the other."""
    ends: Sequence[int]
    """The number of ids up to the end of each text."""

    def split(self) -> list[PackedIds]:
        """Return the ids of each text.

        >>> EncodedTexts(array("I", [7, 8, 9]), [2, 3]).split() == [pack_ids([7, 8]), pack_ids([9])]
        True
        """
        packed, size = self.ids.tobytes(), self.ids.itemsize
        return [packed[size * start : size * end] for start, end in itertools.pairwise((0, *self.ends))]


class BpeEngine(Protocol):
    """Encode texts to the ids that the model's own tokenizer gives, if `takes` returns True for them."""

    @property
    def name(self) -> str:
        """The name of the library."""

    @property
    def version(self) -> str:
        """The version of the library."""

    def takes(self, text: str) -> bool:
        """Return True if the engine is exact for a text."""

    def encode(self, texts: Sequence[str]) -> EncodedTexts:
        """Encode each text on its own, adding no special tokens."""


def encode_with(
    engine: BpeEngine | None,
    texts: Sequence[str],
    otherwise: Callable[[list[int]], Sequence[Sequence[int]]],
    *,
    unless: re.Pattern[str] | None = None,
) -> list[PackedIds]:
    """Return the ids of each text: by the engine if it takes the text, else by `otherwise`, which gets the indices.

    Texts with a match of `unless` also go to `otherwise`.
    """
    if engine is None:
        return list(map(pack_ids, otherwise(list(range(len(texts))))))
    takes = [engine.takes(text) and (unless is None or unless.search(text) is None) for text in texts]
    if all(takes):
        return engine.encode(texts).split()
    taken = iter(engine.encode(list(itertools.compress(texts, takes))).split())
    others = iter(otherwise([at for at, is_taken in enumerate(takes) if not is_taken]))
    return [next(taken) if is_taken else pack_ids(next(others)) for is_taken in takes]
