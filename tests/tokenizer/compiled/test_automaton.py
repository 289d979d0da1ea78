"""An automaton finds the match that backtracking finds first."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderers.tokenizer.compiled.automaton import Automaton, build_automaton
from renderers.tokenizer.compiled.block import ACCEPT, UnfitVocabularyError
from renderers.tokenizer.compiled.pattern import CharacterSet, Complement, Range, Union, parse_pattern

LETTERS = "abc"


def contains(characters: CharacterSet, number: int) -> bool:
    match characters:
        case Range(first, last):
            return first <= ord(LETTERS[number]) <= last
        case Complement(of):
            return not contains(of, number)
        case Union(members):
            return any(contains(member, number) for member in members)
    raise AssertionError


def match_length(automaton: Automaton, text: str) -> int | None:
    width, state, length = len(LETTERS) + 1, automaton.start, None
    for at, column in enumerate([*map(LETTERS.index, text), width - 1]):
        entry = automaton.transitions[state + column]
        if entry & ACCEPT:
            length = at
        state = entry & ~ACCEPT
        if not state:
            break
    return length


@pytest.mark.parametrize(
    "source",
    ["a|ab", "ab|a", "(?:a|ab)(?:c|bcd|b)", "a*b|a", "[ab]+?c|a", "a{1,3}b?", "[^a]+(?!b)", "a+(?=b)|c", "(?:ab?)+c?"],
)
def test_it_finds_what_re_finds(source: str) -> None:
    automaton = build_automaton(parse_pattern(source), classes=len(LETTERS), contains=contains)

    @given(st.text(LETTERS, max_size=12))
    def check(text: str) -> None:
        match = re.match(source, text)
        assert match_length(automaton, text) == (None if match is None else match.end())

    check()


def test_a_pattern_with_too_many_states_is_refused() -> None:
    node = parse_pattern("[ab]*?a" + "[ab]" * 14 + "c")
    with pytest.raises(UnfitVocabularyError, match="too many states"):
        build_automaton(node, classes=len(LETTERS), contains=contains)
