"""Each text goes to an engine that is exact for it, and all ids are in order."""

from __future__ import annotations

from collections.abc import Sequence

from renderers.tokenizer.encoding.piece_cache import PackedIds, pack_ids, unpack_ids
from renderers.tokenizer.engines.base import BpeEngine, encode_with


class Letters(BpeEngine):
    """Encodes ASCII texts to their letters."""

    name = "letters"
    version = "1"

    def encode(self, texts: Sequence[str]) -> list[PackedIds | None]:
        return [pack_ids(list(text.encode())) if text.isascii() else None for text in texts]


def unpacked(found: list[PackedIds]) -> list[list[int]]:
    return [list(unpack_ids(ids)) for ids in found]


def indices(rest: list[int]) -> list[list[int]]:
    return [[at + 5_000] for at in rest]


def test_others_are_encoded_otherwise_and_all_are_in_order() -> None:
    found = encode_with(Letters(), ["é", "a", "ü", "", "bc"], indices)
    assert unpacked(found) == [[5_000], [97], [5_002], [], [98, 99]]


def test_without_an_engine_all_are() -> None:
    assert unpacked(encode_with(None, ["a", "b"], indices)) == [[5_000], [5_001]]


def test_nothing_is_asked_for_if_an_engine_takes_all() -> None:
    def never(rest: list[int]) -> list[list[int]]:
        raise AssertionError

    assert unpacked(encode_with(Letters(), ["a", "b"], never)) == [[97], [98]]
