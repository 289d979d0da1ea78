"""Sizes of tokens are looked up once, and add up to the size of a text."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, normalizers

from renderers.tokenizer.encoding.byte_text import TokenTexts, text_of_pieces
from renderers.tokenizer.encoding.token_sizes import TokenSizes, entries_in_python, entries_of, replaces_only_spaces


def test_spaces_of_gemma_are_one_byte() -> None:
    tokens = {"<unk>": 0, "▁": 1, "a": 2, "▁a": 3, **{f"<0x{byte:02X}>": 4 + byte for byte in range(256)}}
    backend = Tokenizer(models.BPE(tokens, [("▁", "a")], byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    backend.normalizer = normalizers.Replace(" ", "▁")
    backend.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    assert replaces_only_spaces(backend)
    sizes = TokenSizes(TokenTexts(text_of_pieces(backend)))
    assert [sizes[number] for number in backend.encode("a a é").ids] == [1, 2, 1, 1, 1]
    for change in (normalizers.Lowercase(), normalizers.Sequence([backend.normalizer, normalizers.NFC()])):
        backend.normalizer = change
        assert not replaces_only_spaces(backend)


def test_sizes_are_looked_up_once() -> None:
    asked: list[int] = []

    class Texts(dict[int, str]):
        def __missing__(self, number: int) -> str:
            asked.append(number)
            return "x" * number

    sizes = TokenSizes(Texts())
    assert [sizes[5], sizes[0], sizes[5], sizes[2]] == [5, 0, 5, 2]
    assert asked == [5, 0, 2]
    assert sizes.table == array("I", [1, 0, 3, 0, 0, 6])
    sizes.learn([7, 7, 1])
    assert sizes.table[:8] == array("I", [1, 2, 3, 0, 0, 6, 0, 8])


def test_sizes_with_known_ends_are_read_at_once() -> None:
    sizes = TokenSizes({9: "added"}, array("I", [0, 1, 3, 6]))
    assert sizes.table == array("I", [1, 2, 3, 4])
    assert [sizes[number] for number in (0, 3, 9)] == [0, 3, 5]


@given(st.lists(st.integers(0, 50) | st.just(2**31)).map(sorted))
def test_c_computes_sizes_as_python_does(ends: list[int]) -> None:
    assert entries_of(array("I", ends)) == entries_in_python(array("I", ends))


@pytest.mark.parametrize("entries", [entries_of, entries_in_python])
@pytest.mark.parametrize("ends", [[3, 2], [2**32 - 1]])
def test_ends_that_are_no_ends_are_refused(ends: list[int], entries: Callable[[array[int]], bytes]) -> None:
    with pytest.raises(OverflowError):
        entries(array("I", ends))


def test_a_size_is_right_if_another_thread_replaces_the_table() -> None:
    class Texts(dict[int, str]):
        def __missing__(self, number: int) -> str:
            # As if another thread had copied the table just before this size is added to it.
            sizes.table = array("I")
            return "x" * number

    sizes = TokenSizes(Texts())
    learn = sizes.learn

    def race(ids: Iterable[int]) -> dict[int, int]:
        learned = learn(ids)
        sizes.table = array("I", [0] * 9)
        return learned

    sizes.learn = race  # type: ignore[method-assign]
    assert [sizes[3], sizes[5]] == [3, 5]
