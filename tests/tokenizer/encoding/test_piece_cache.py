"""Pieces that were encoded before are not encoded again, as long as there is room for them."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

from hypothesis import given
from hypothesis import strategies as st

from renderers.tokenizer.encoding.piece_cache import PackedIds, PieceCache, pack_ids

CAPACITY = 8 * (sys.getsizeof("") + 20)
"""Room for some eight short texts."""


class Counting:
    """Encodes a text to its letters, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, texts: list[str]) -> list[list[int]]:
        self.asked += sorted(texts)
        return list(map(letters, texts))


def letters(text: str) -> list[int]:
    return list(map(ord, text))


def test_a_piece_is_encoded_once() -> None:
    encode = Counting()
    cache = PieceCache(encode, size=len, capacity=1_000)
    assert cache.lookup(["a", "b", "a"]) == [[97], [98], [97]]
    assert cache.lookup(["b", "c"]) == [[98], [99]]
    assert encode.asked == ["a", "b", "c"]


def test_what_is_used_stays_and_the_rest_goes() -> None:
    encode = Counting()
    cache = PieceCache(encode, size=len, capacity=CAPACITY)
    for number in range(200):
        cache.lookup(["often", f"once {number}"])
    assert encode.asked.count("often") == 1
    assert len(cache._young) + len(cache._old) < 40


def test_a_long_piece_is_not_kept() -> None:
    encode = Counting()
    cache = PieceCache(encode, size=len, capacity=CAPACITY)
    cache.lookup(["x" * 21])
    cache.lookup(["x" * 21])
    assert len(encode.asked) == 2


def test_many_pieces_at_once_do_not_exceed_the_capacity() -> None:
    cache = PieceCache(Counting(), size=len, capacity=CAPACITY)
    texts = list(map(str, range(500)))
    assert cache.lookup(texts) == list(map(letters, texts))
    assert 0 < len(cache._young) + len(cache._old) < 40


@given(st.lists(st.lists(st.text("ab", max_size=3), max_size=5), max_size=20))
def test_the_ids_are_always_those_of_the_text(batches: list[list[str]]) -> None:
    cache = PieceCache(Counting(), size=len, capacity=CAPACITY)
    for batch in batches:
        assert cache.lookup(batch) == list(map(letters, batch))


def test_threads_share_it() -> None:
    cache = PieceCache(Counting(), size=len, capacity=CAPACITY)

    def run(thread: int) -> bool:
        texts = [f"{(thread * 7 + at) % 40}" for at in range(500)]
        return all(cache.lookup([text])[0] == letters(text) for text in texts)

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(run, range(8)))


def test_the_bytes_of_texts_and_ids_are_bounded() -> None:
    def encode(texts: list[str]) -> list[PackedIds]:
        return [pack_ids(map(ord, text)) for text in texts]

    cache = PieceCache(encode, size=sys.getsizeof)
    for number in range(150):
        cache.lookup([f"{number} " + "x" * 100_000])
    kept = {**cache._young, **cache._old}
    size = sum(sys.getsizeof(text) + len(piece) for text, piece in kept.items())
    assert 2**24 < size <= 2 * 2**24 + 1_400_000
