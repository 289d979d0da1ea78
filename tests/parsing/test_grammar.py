"""The same characters are removed from the ends of a field whether its end is known at once or later."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from renderers.parsing.grammar import MOST_TRIMMED, SPACES, Edges

EDGES = st.builds(Edges, trail=st.sampled_from(["", "\n", "\n\n", " \n"]), right=st.sampled_from(["", "\n", SPACES]))


def test_padding_is_removed_once() -> None:
    assert Edges(trail="\n").end_in("a\n\n", 0, 3) == 2
    assert Edges(trail="\n\n").end_in("a\n", 0, 2) == 2


def test_trimming_removes_all_whitespace_up_to_a_limit() -> None:
    text = "a" + " " * 1000
    assert Edges(right=SPACES).end_in("a \n ", 0, 4) == 1
    assert Edges(right=SPACES).end_in(text, 0, len(text)) == len(text) - MOST_TRIMMED


def test_a_field_does_not_end_before_it_begins() -> None:
    assert Edges(right=SPACES).end_in("   ", 2, 3) == 2


@given(EDGES, st.text(alphabet="a \n", max_size=12), st.integers(0, 12))
def test_text_that_is_sure_is_never_removed(edges: Edges, text: str, cut: int) -> None:
    sure = edges.sure_in(text, 0, min(cut, len(text)))
    assert sure <= edges.end_in(text, 0, len(text))
    assert edges.end_in(text, sure, len(text)) == edges.end_in(text, 0, len(text))
