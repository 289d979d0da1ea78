"""`BpeEngine`: the interface of everything that encodes text to token ids."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from renderers.tokenizer.encoding.piece_cache import PackedIds, pack_ids


class BpeEngine(Protocol):
    """Encode texts to the ids that the model's own tokenizer gives."""

    @property
    def name(self) -> str:
        """The name of the engine."""

    @property
    def version(self) -> str:
        """The version of the engine."""

    def encode(self, texts: Sequence[str]) -> list[PackedIds | None]:
        """Encode each text on its own, adding no special tokens. None for a text that the engine is not exact for."""


def encode_with(
    engine: BpeEngine | None, texts: Sequence[str], otherwise: Callable[[list[int]], Sequence[Sequence[int]]]
) -> list[PackedIds]:
    """Return the ids of each text: by the engine if it takes the text, else by `otherwise`, which gets the indices."""
    if engine is None:
        return list(map(pack_ids, otherwise(list(range(len(texts))))))
    encoded = engine.encode(texts)
    rest = [at for at, ids in enumerate(encoded) if ids is None]
    if rest:
        for at, ids in zip(rest, otherwise(rest), strict=True):
            encoded[at] = pack_ids(ids)
    return [ids for ids in encoded if ids is not None]
