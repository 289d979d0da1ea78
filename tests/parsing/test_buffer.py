"""An input buffer maps characters to tokens, and finds markers in order."""

from __future__ import annotations

import itertools
import random
from array import array
from bisect import bisect_left
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from renderers.core.native import COMPILED, native
from renderers.parsing.buffer import InputBuffer, MarkerSet, find_mark_in_python, find_starts_in_python
from renderers.parsing.pieces import Pieces
from renderers.tokenizer.encoding.byte_text import FREE

PIECES = st.lists(st.sampled_from(["", "a", "bc", FREE[0], FREE[1], "def"]), max_size=20)
MARKERS = MarkerSet.of(FREE[0], "bca")


def filled(pieces: list[str]) -> InputBuffer:
    buffer = InputBuffer()
    buffer.add(Pieces.of(pieces))
    return buffer


def add(buffer: InputBuffer, *pieces: str) -> bool:
    return buffer.add(Pieces.of(pieces, buffer.end))


def unread_tokens(buffer: InputBuffer) -> list[int]:
    return [buffer.token_at(position) for position in range(buffer.position, len(buffer.byte_text) + 1)]


@given(PIECES, st.randoms())
def test_the_token_of_a_position_is_the_first_that_begins_there_or_later(
    pieces: list[str], chance: random.Random
) -> None:
    buffer = filled(pieces)
    starts = [0, *itertools.accumulate(map(len, pieces))]
    positions = list(range(len(buffer.byte_text) + 1))
    chance.shuffle(positions)
    for position in positions:
        expected = next(number for number, start in enumerate(starts) if start >= position)
        assert buffer.token_at(position) == expected


@given(PIECES)
@example(["def", "bc", "a"])
def test_markers_are_found_one_after_the_other(pieces: list[str]) -> None:
    buffer = filled(pieces)
    matches, start = [], 0
    while (match := buffer.find(MARKERS, start)) is not None:
        matches.append(match)
        start = match[0] + 1
    text = buffer.byte_text
    expected = [
        (start, marker) for start in range(len(text)) for marker in MARKERS.markers if text.startswith(marker, start)
    ]
    assert matches == expected


@given(PIECES, st.integers(0, 30))
def test_read_tokens_are_discarded_and_numbers_stay(pieces: list[str], position: int) -> None:
    buffer = filled(pieces)
    buffer.position = min(position, len(buffer.byte_text))
    unread, numbers = buffer.byte_text[buffer.position :], unread_tokens(buffer)
    buffer.discard_read()
    assert buffer.byte_text[buffer.position :] == unread
    assert unread_tokens(buffer) == numbers


@given(st.lists(PIECES, max_size=4), st.integers(0, 60))
def test_markers_are_found_after_earlier_tokens_were_discarded(parts: list[list[str]], position: int) -> None:
    buffer = InputBuffer()
    for part in parts:
        add(buffer, *part)
        buffer.position = min(position, len(buffer.byte_text))
        buffer.discard_read()
        expected = [
            (start, marker)
            for start in range(buffer.position, len(buffer.byte_text))
            for marker in MARKERS.markers
            if buffer.byte_text.startswith(marker, start)
        ]
        assert buffer.find(MARKERS) == (expected[0] if expected else None)


def test_tokens_are_deferred_until_a_marker_arrives_even_in_parts() -> None:
    buffer = filled(["x", "bc"])
    buffer.defer(MARKERS)
    assert not add(buffer, "d")
    assert not add(buffer, "b")
    assert buffer.byte_text == ""
    assert buffer.deferred
    # The chunks split the marker.
    assert not add(buffer, "c")
    assert add(buffer, "a")
    assert buffer.byte_text == "xbcdbca"


def test_deferred_tokens_can_be_resumed() -> None:
    buffer = filled(["x"])
    buffer.defer(MarkerSet.of())
    assert not add(buffer, "y")
    buffer.resume()
    assert (buffer.byte_text, buffer.token_at(2)) == ("xy", 2)


def test_spaces_are_skipped_up_to_a_limit() -> None:
    buffer = filled(["  \n", "x"])
    assert [buffer.skip_spaces(limit) for limit in (1, 3, 9)] == [1, 3, 3]


def test_the_beginning_of_a_marker_at_the_end_of_a_text_is_measured() -> None:
    markers = MarkerSet.of("</think>", "x", "")
    texts = ("a", "a<", "a</thi", "a</think>", "</thinx")
    assert [markers.partial_suffix_length(text, 0) for text in texts] == [0, 1, 5, 0, 0]
    assert markers.partial_suffix_length("a</thi", 2) == 0
    assert (markers.markers, markers.texts) == (("</think>", "x"), ("</think>", "x"))
    assert MarkerSet.of(FREE[0], "</think>").tokens == FREE[0]


def test_a_marker_of_several_tokens_is_not_one_token() -> None:
    markers = MarkerSet.of(FREE[0], FREE[1], FREE[0] + FREE[1])
    assert (sorted(markers.tokens), markers.texts) == (sorted(FREE[:2]), (FREE[0] + FREE[1],))


def test_a_marker_occurs_in_a_text_or_does_not() -> None:
    assert MarkerSet.of("ab").occurs_in("cab")
    assert not MarkerSet.of("ab").occurs_in("cba")
    assert not MarkerSet.of().occurs_in("a")


needs_c = pytest.mark.skipif(not COMPILED, reason="the part in C was not built")


@needs_c
@given(
    st.lists(st.integers(0, 20) | st.integers(0, 2**64 - 1), max_size=30), st.integers(0, 2**64 - 1), st.integers(0, 30)
)
@example([], 0, 0)
@example([1, 1, 2], 1, 3)
def test_the_first_start_in_c_is_that_of_bisect(starts: list[int], position: int, low: int) -> None:
    positions = array("Q", sorted(starts))
    low = min(low, len(positions))
    for wanted in (position, position % 21):
        expected = bisect_left(positions, wanted, low, len(positions))
        assert native.find_start(positions, wanted, low, len(positions)) == expected


@needs_c
@given(st.lists(st.integers(0, 20), max_size=30), st.lists(st.integers(0, 21) | st.integers(0, 2**64 - 1), max_size=9))
def test_the_first_starts_in_c_are_those_in_python(starts: list[int], wanted: list[int]) -> None:
    positions = array("Q", sorted(starts))
    assert native.find_starts(positions, wanted) == find_starts_in_python(positions, wanted)


@needs_c
@given(
    st.lists(st.tuples(st.sampled_from("ab|/\u0100"), st.booleans())),
    st.text("|/\u0100", max_size=3),
    st.integers(0, 9),
    st.integers(0, 9),
)
@example([("a", True), ("|", True), ("/", True)], "/", 0, 0)
def test_the_next_mark_in_c_is_that_in_python(
    pieces: list[tuple[str, bool]], characters: str, start: int, offset: int
) -> None:
    text = "".join(character for character, _ in pieces)
    marks = [offset + at for at, (_, is_mark) in enumerate(pieces) if is_mark]
    arguments = text, marks, characters, start, offset
    assert native.find_mark(*arguments) == find_mark_in_python(*arguments)


@needs_c
@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("a", [0], "a", 0),
        (b"a", [0], "a", 0, 0),
        ("a", (0,), "a", 0, 0),
        ("a", [0], None, 0, 0),
        ("a", [0], "a", "0", 0),
        ("a", [0], "a", -1, 0),
        ("a", [0], "a", 0, -1),
        ("a", [0], "a", 2**63 - 1, 1),
        ("a", [0], "a", 2**64, 0),
        ("a", ["0"], "a", 0, 0),
        ("a", [2**64], "a", 0, 0),
        ("a", [1], "a", 0, 0),
        ("aaaaaa", [5, 5, 0], "b", 0, 1),
    ],
)
def test_marks_of_other_types_or_outside_of_a_text_are_errors(arguments: tuple[Any, ...]) -> None:
    with pytest.raises((TypeError, ValueError, OverflowError, IndexError)):
        native.find_mark(*arguments)


@needs_c
@pytest.mark.parametrize(
    "arguments",
    [
        (),
        (array("Q", [1]),),
        (array("Q", [1]), (1,)),
        (array("Q", [1]), [-1]),
        (array("Q", [1]), [2**64]),
        (array("Q", [1]), [0, "1"]),
        (array("Q", [1]), [None]),
        ([1], [1]),
        ("1", [1]),
    ],
)
def test_several_positions_of_other_types_are_errors(arguments: tuple[Any, ...]) -> None:
    with pytest.raises((TypeError, ValueError, OverflowError)):
        native.find_starts(*arguments)


@needs_c
@pytest.mark.parametrize(
    "arguments",
    [
        (),
        (array("Q", [1]), 1, 0),
        (array("Q", [1]), 1, 0, 2),
        (array("Q", [1]), 1, -1, 1),
        (array("Q", [1]), -1, 0, 1),
        (array("Q", [1]), 2**64, 0, 1),
        (array("Q", [1]), "1", 0, 1),
        (array("Q", [1]), 1, None, 1),
        ([1], 1, 0, 1),
        (b"1234567", 1, 0, 1),
    ],
)
def test_bounds_beyond_the_starts_and_other_types_are_errors(arguments: tuple[Any, ...]) -> None:
    with pytest.raises((TypeError, ValueError, OverflowError)):
        native.find_start(*arguments)


def test_a_text_is_found_before_and_after_other_markers() -> None:
    """A search up to another marker is continued from there, and does not begin again."""
    chance = random.Random(1)
    markers = MarkerSet.of("<a>", "ab", "b", FREE[0])
    for _ in range(300):
        text = "".join(chance.choices(["<a>", "a", "b", "x", FREE[0]], k=chance.randrange(12)))
        buffer = InputBuffer(Pieces.of(list(text)))
        for start in range(len(text) + 1):
            subset = MarkerSet.of(*chance.sample(markers.markers, chance.randrange(1, 5)))
            places = [(text.find(marker, start), -len(marker), marker) for marker in subset.markers]
            expected = min((place for place in places if place[0] >= 0), default=None)
            assert buffer.find(subset, start) == (expected and (expected[0], expected[2]))
