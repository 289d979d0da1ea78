"""An alternation pattern finds the same texts as a search for each of them. Texts are compared from their starts."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from renderers.core.text import LEXEME, common_prefix_length, compile_alternation, first_difference

LETTERS = "ab<|-]^["


@given(st.sets(st.text(LETTERS, min_size=1, max_size=4), min_size=1, max_size=8), st.text(LETTERS, max_size=20))
def test_the_pattern_finds_the_longest_text_at_each_position(texts: set[str], searched: str) -> None:
    flat = re.compile("|".join(map(re.escape, sorted(texts, key=len, reverse=True))))
    tree = compile_alternation(frozenset(texts))
    assert tree is not None
    assert tree.findall(searched) == flat.findall(searched)


def test_no_texts_have_no_pattern() -> None:
    assert compile_alternation(frozenset()) is None


def test_long_texts_are_matched() -> None:
    texts = frozenset({"<image>" * 2000, "<image>" * 2000 + "<end>", "<video>"})
    pattern = compile_alternation(texts)
    assert pattern is not None
    assert all(pattern.fullmatch(text) for text in texts)
    assert not pattern.fullmatch("<image>" * 1999)


def test_numbered_texts_have_a_short_pattern() -> None:
    numbered = frozenset(f"<unused{number}>" for number in range(5000))
    pattern = compile_alternation(numbered)
    assert pattern is not None
    assert len(pattern.pattern) < 200
    assert all(pattern.fullmatch(text) for text in numbered)
    assert not any(pattern.search(text) for text in ("<unused>", "<unused5000>", "<unused01>", "unused1"))


@given(st.text("ab< >[/]A_", max_size=12), st.text("ab< >[/]A_", max_size=12), st.text("ab< >[/]A_", max_size=12))
def test_texts_are_compared_by_characters_and_by_lexemes(common: str, end: str, other_end: str) -> None:
    text, other = common + end, common + other_end
    length = common_prefix_length(text, other)
    assert length == common_prefix_length(list(text), list(other))
    lexemes = [lexeme.start() for lexeme in LEXEME.finditer(text) if lexeme.end() > length]
    assert first_difference(text, other) == min(lexemes, default=len(text))
