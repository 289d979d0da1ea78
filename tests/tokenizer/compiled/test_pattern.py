"""Patterns are parsed as Oniguruma reads them, or refused."""

from __future__ import annotations

import pytest

from renderers.tokenizer.compiled.block import UnfitVocabularyError
from renderers.tokenizer.compiled.pattern import (
    Alternation,
    Atom,
    Complement,
    Intersection,
    Lookahead,
    Range,
    Repeat,
    Sequence,
    Union,
    is_nullable,
    parse_literal,
    parse_pattern,
)

A, B = Range(97, 97), Range(98, 98)
LETTER, SPACE = Atom(r"\p{L}"), Atom(r"\s")


@pytest.mark.parametrize(
    ("source", "node"),
    [
        ("a", A),
        ("ab", Sequence((A, B))),
        ("a|b", Alternation((A, B))),
        (r"\p{L}", LETTER),
        (r"\P{L}", Complement(LETTER)),
        (r"[^\s\p{L}]", Complement(Union((SPACE, LETTER)))),
        (r"[a-z\-]", Union((Range(97, 122), Range(45, 45)))),
        (r"[\p{L}&&[^a]]", Intersection((LETTER, Complement(A)))),
        (r"[ab&&\s]", Intersection((Union((A, B)), SPACE))),
        ("a?", Repeat(A, 0, 1, greedy=True)),
        ("a*?", Repeat(A, 0, None, greedy=False)),
        ("a{2}", Repeat(A, 2, 2, greedy=True)),
        ("a{1,3}", Repeat(A, 1, 3, greedy=True)),
        ("a{2,}", Repeat(A, 2, None, greedy=True)),
        ("a++b", Sequence((Repeat(A, 1, None, greedy=True), Lookahead(A, negated=True), B))),
        (r"a(?!\S)", Sequence((A, Lookahead(Complement(SPACE), negated=True)))),
        ("(?:a|b)", Alternation((A, B))),
        ("(?i:'a)", Sequence((Range(39, 39), Atom("(?i:a)")))),
        (r"\r\n\\", Sequence((Range(13, 13), Range(10, 10), Range(92, 92)))),
    ],
)
def test_a_pattern_is_parsed(source: str, node: object) -> None:
    assert parse_pattern(source) == node


@pytest.mark.parametrize(
    "source",
    [
        "^a",
        "a$",
        ".",
        r"\b",
        r"(a)\1",
        "(?<=a)b",
        "(?>a)",
        "(?<n>a)",
        "(a|)*",
        "(?!ab)",
        "a{1,3}+",
        "a?+",
        "(?:ab)++",
        "a**",
        "a{3,1}",
        "a{100}",
        "(a",
        "a)",
        "[a",
        "[]",
        "[a-]",
        r"[a-\s]",
        "[z-a]",
        "[[:alpha:]]",
        "[a&&]",
        "(?i:ss)",
        "(?i:[a-z])",
        "(?i:é)",
        "\\",
        r"\x41",
    ],
)
def test_another_one_is_refused(source: str) -> None:
    with pytest.raises(UnfitVocabularyError, match="its split pattern is not"):
        parse_pattern(source)


def test_a_text_is_a_pattern_of_its_characters() -> None:
    assert parse_literal("ab") == Sequence((A, B))


def test_what_matches_the_empty_text_is_nullable() -> None:
    assert [is_nullable(parse_pattern(source)) for source in ("a", "a?", "a|b?", "ab?", "a?b?", "(?!a)")] == [
        False,
        True,
        True,
        False,
        True,
        True,
    ]
