"""`BpeEngine`: the interface of everything that encodes text to token ids."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Protocol, cast

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
    kept = texts if unless is None else ["" if unless.search(text) else text for text in texts]
    encoded = engine.encode(kept)
    if kept is texts and None not in encoded:
        return cast("list[PackedIds]", encoded)
    rest = [at for at, ids in enumerate(encoded) if ids is None or len(kept[at]) != len(texts[at])]
    if rest:
        for at, ids in zip(rest, otherwise(rest), strict=True):
            encoded[at] = pack_ids(ids)
    return [ids for ids in encoded if ids is not None]
