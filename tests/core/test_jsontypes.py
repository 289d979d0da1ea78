"""Keys of caches distinguish values that are equal and of different types."""

from __future__ import annotations

import copy
from types import MappingProxyType

from renderers.core.jsontypes import exact_key, hashable


def test_equal_values_of_different_types_have_different_keys() -> None:
    keys = {exact_key((("x", value),)) for value in (1, True, 1.0, "1", None)}
    assert len(keys) == 5
    assert exact_key((("x", 1), ("y", "a"))) == (("x", "1", 1), ("y", "'a'", "a"))
    assert exact_key((("x", 0.0),)) != exact_key((("x", -0.0),))


def test_json_data_is_hashable_by_its_contents() -> None:
    data = {"a": [1, {"b": None}], "c": "text"}
    assert hash(hashable(data)) == hash(hashable(copy.deepcopy(data)))
    assert hashable(data) == data
    assert hashable(MappingProxyType({"a": (1, 2)})) == {"a": [1, 2]}
