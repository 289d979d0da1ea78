"""The regions of a completion are joined to parts in C as in Python."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderers.core.completions import ParsedPart, Region
from renderers.core.native import COMPILED, native
from renderers.parsing.collected_turn import join_regions_in_python

pytestmark = pytest.mark.skipif(not COMPILED, reason="the C extension was not built")
REGIONS = (Region.MARKER, Region.CONTENT, Region.CALL)


@given(st.lists(st.tuples(st.sampled_from(REGIONS), st.integers(0, 9))), st.sampled_from(REGIONS))
def test_regions_are_joined_alike(rows: list[tuple[Region, int]], first: Region) -> None:
    regions, tokens = [region for region, _ in rows], [token for _, token in rows]
    parts = native.join_regions(regions, tokens, first, ParsedPart)
    assert parts == join_regions_in_python(regions, tokens, first, ParsedPart)
    assert all(type(part) is ParsedPart for part in parts)


@pytest.mark.parametrize(
    "arguments",
    [
        ([], [1], "a", ParsedPart),
        (["a"], ["1"], "a", ParsedPart),
        (["a"], [2**70], "a", ParsedPart),
        (("a",), [1], "a", ParsedPart),
        (["a"], [1], "a", list),
        (["a"], [1], "a", None),
    ],
)
def test_regions_that_do_not_fit_are_refused(arguments: tuple[Any, ...]) -> None:
    with pytest.raises((TypeError, ValueError, OverflowError)):
        native.join_regions(*arguments)
