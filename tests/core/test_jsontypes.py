"""Keys of caches distinguish values that are equal and of different types."""

from __future__ import annotations

from renderers.core.jsontypes import exact_key


def test_equal_values_of_different_types_have_different_keys() -> None:
    keys = {exact_key((("x", value),)) for value in (1, True, 1.0, "1", None)}
    assert len(keys) == 5
    assert exact_key((("x", 1), ("y", "a"))) == (("x", "int", 1), ("y", "str", "a"))
