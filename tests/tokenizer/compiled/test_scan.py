"""A scan table finds the words of an automaton."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderers.tokenizer.compiled.automaton import Automaton, build_automaton
from renderers.tokenizer.compiled.block import ACCEPT
from renderers.tokenizer.compiled.pattern import parse_pattern
from renderers.tokenizer.compiled.scan import ENDS, ENDS_BEFORE, ENDS_EARLIER, ENDS_HERE, MATCHES, STOPS, build_scan
from renderers.tokenizer.compiled.splitting import Stage, compile_splitting
from tests.tokenizer.compiled.test_automaton import LETTERS, contains, match_length

ENTRY_FLAGS = ENDS_EARLIER | ENDS_BEFORE | ENDS_HERE | MATCHES | STOPS | ENDS
ASCII_CLASSES = [LETTERS.index(chr(code)) if chr(code) in LETTERS else 0 for code in range(128)]
QWEN = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def automaton_of(source: str) -> Automaton:
    return build_automaton(parse_pattern(source), classes=len(LETTERS), contains=contains)


def ends_by_scan(table: Sequence[int], text: bytes) -> list[int]:
    """Return the ends of words that a table finds, up to the first character that stops it."""
    columns = array("H", array("I", table[1:129]).tobytes())
    entry = kept = 0
    ends: list[int] = []
    for at, byte in enumerate(text):
        entry = table[129 + ((entry & ~ENTRY_FLAGS) + columns[byte]) // 4]
        if entry & STOPS:
            break
        places = ((ENDS_EARLIER, kept), (ENDS_BEFORE, at - 1), (ENDS_HERE, at))
        assert bool(entry & ENDS) is any(entry & flag for flag, _ in places)
        ends += [place for flag, place in places if entry & flag]
        kept = at if entry & MATCHES else kept
    return ends


def ends_by_automaton(automaton: Automaton, text: str) -> list[int]:
    ends = [0]
    while ends[-1] < len(text):
        length = match_length(automaton, text[ends[-1] :])
        assert length
        ends.append(ends[-1] + length)
    return ends[1:]


@pytest.mark.parametrize(
    ("source", "is_scanned"),
    [
        ("a|b|c", True),
        ("a+|b+|c+", True),
        ("a+(?!b)|a|b|c+", True),
        (" ?[ab]+|c+(?!a)|c", True),
        ("(?:a|ab)(?:c|bcd|b)|a|b|c", False),
        ("ab*c|a|b|c", False),
        ("ab{1,2}c|a|b|c", False),
        ("a{1,3}b?|b|c(?:ab)?", False),
    ],
)
def test_it_finds_the_words_of_the_automaton(source: str, is_scanned: bool) -> None:
    automaton = automaton_of(source)
    table = build_scan(automaton, ascii_classes=ASCII_CLASSES)
    assert table

    @given(st.text(LETTERS, max_size=24))
    def check(text: str) -> None:
        due, found = ends_by_automaton(automaton, text), ends_by_scan(table, text.encode())
        assert found == due[: len(found)]
        # The end of the last words is known only at the end of the text.
        assert not is_scanned or len(found) >= len(due) - 2

    check()


def test_it_stops_at_other_bytes() -> None:
    table = build_scan(automaton_of("a|b|c"), ascii_classes=ASCII_CLASSES)
    assert ends_by_scan(table, "abcé".encode()) == [1, 2]
    assert ends_by_scan(table, "aéabc".encode()) == []


def test_words_that_do_not_follow_each_other_have_no_table() -> None:
    assert not build_scan(automaton_of("a+|b"), ascii_classes=ASCII_CLASSES)


def test_a_table_that_would_be_too_large_is_not_built() -> None:
    source = "[ab]*a" + "[ab]" * 9 + "c|a|b|c"
    assert not build_scan(automaton_of(source), ascii_classes=ASCII_CLASSES)


def test_only_some_words_that_may_begin_are_followed() -> None:
    table = build_scan(automaton_of("a*b|[abc]"), ascii_classes=ASCII_CLASSES)
    assert ends_by_scan(table, b"aabcbcc") == [3, 4, 5, 6]
    assert ends_by_scan(table, b"bbaaaac") == [1, 2]


def test_entries_are_within_the_table() -> None:
    table = build_scan(automaton_of(" ?[ab]+|c+(?!a)|c"), ascii_classes=ASCII_CLASSES)
    count, entries = table[0], table[129:]
    assert len(entries) == count
    columns = array("H", table[1:129].tobytes())
    assert all((entry & ~ENTRY_FLAGS) + max(columns) <= 4 * (count - 1) for entry in entries)


@pytest.mark.parametrize("source", ["a|b|c", " ?[ab]+|c+(?!a)|c", "a{1,3}b?|b|c(?:ab)?", "ab{1,2}c|a|b|c", QWEN])
def test_the_scan_goes_on_after_the_end_of_a_word_as_at_the_start_of_a_text(source: str) -> None:
    qwen = compile_splitting([Stage(parse_pattern(QWEN))], composes=False).scans
    table = qwen if source == QWEN else build_scan(automaton_of(source), ascii_classes=ASCII_CLASSES)
    entries = table[129:]
    width = max(array("H", table[1:129].tobytes())) // 4 + 1
    pairs = [(entry, entries[at % width]) for at, entry in enumerate(entries) if entry & ENDS_HERE]
    assert pairs
    assert all(entry & ~ENTRY_FLAGS == first & ~ENTRY_FLAGS and not (entry | first) & STOPS for entry, first in pairs)


def test_ascii_text_is_scanned_whole_with_a_pattern_of_a_model() -> None:
    splitting = compile_splitting([Stage(parse_pattern(QWEN))], composes=False)
    text = "def f(x):\r\n\tit's  12.50 \n\n  #   don't!\n" * 3
    ends = ends_by_scan(splitting.scans, text.encode())
    assert len(text) - ends[-1] < 4


def test_a_match_ends_before_the_character_that_shows_it() -> None:
    automaton = automaton_of("a+(?!b)|a|b|c")
    assert automaton.transitions[automaton.start] & ACCEPT == 0
    table = build_scan(automaton, ascii_classes=ASCII_CLASSES)
    assert ends_by_scan(table, b"aaabc") == [2, 3, 4]
