"""A window knows which token each character is of, and finds marks in order."""

from __future__ import annotations

import itertools
import random

from hypothesis import example, given
from hypothesis import strategies as st

from renderers.parse.pieces import Pieces
from renderers.parse.tables import Watch
from renderers.parse.window import Window

PIECES = st.lists(st.sampled_from(["", "a", "bc", "\u0101", "\u0102", "def"]), max_size=20)
MARKS = Watch.of("\u0101", "bca")


def filled(pieces: list[str]) -> Window:
    window = Window()
    window.add(Pieces.of(pieces))
    return window


@given(PIECES, st.randoms())
def test_a_characters_token_is_the_first_that_begins_there_or_later(pieces: list[str], chance: random.Random) -> None:
    window = filled(pieces)
    starts = [0, *itertools.accumulate(map(len, pieces))]
    places = list(range(len(window.wire) + 1))
    chance.shuffle(places)
    for at in places:
        expected = next(number for number, start in enumerate(starts) if start >= at)
        assert window.token(at) == expected


@given(PIECES)
@example(["def", "bc", "a"])
def test_marks_are_found_one_after_the_other(pieces: list[str]) -> None:
    window = filled(pieces)
    found, at = [], 0
    while (one := window.find(MARKS, at)) is not None:
        found.append(one)
        at = one[0] + 1
    expected = [
        (at, mark) for at in range(len(window.wire)) for mark in MARKS.marks if window.wire.startswith(mark, at)
    ]
    assert found == expected


@given(PIECES, st.integers(0, 30))
def test_what_is_read_is_forgotten_and_numbers_stay(pieces: list[str], at: int) -> None:
    window = filled(pieces)
    window.at = min(at, len(window.wire))
    rest, numbers = window.wire[window.at :], [window.token(place) for place in range(window.at, len(window.wire) + 1)]
    window.shrink()
    assert window.wire[window.at :] == rest
    assert [window.token(place) for place in range(window.at, len(window.wire) + 1)] == numbers


def test_nothing_is_read_before_what_is_awaited_comes() -> None:
    window = filled(["x", "bc"])
    window.hold(MARKS)
    assert not window.add(Pieces.of(["d"]))
    assert not window.add(Pieces.of(["b"]))
    assert window.wire == ""
    # The mark is cut in two by the chunks.
    assert not window.add(Pieces.of(["c"]))
    assert window.add(Pieces.of(["a"]))
    assert window.wire == "xbcdbca"


def test_what_is_put_aside_can_be_taken_back() -> None:
    window = filled(["x"])
    window.hold(Watch.of())
    assert not window.add(Pieces.of(["y"]))
    window.release()
    assert (window.wire, window.token(2)) == ("xy", 2)


def test_spaces_are_skipped_up_to_a_number() -> None:
    window = filled(["  \n", "x"])
    assert [window.skip_spaces(most) for most in (1, 3, 9)] == [1, 3, 3]
