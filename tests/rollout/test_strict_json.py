"""Tests of `renderers.rollout.strict_json`."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderers.rollout.strict_json import dump_json, load_json

KEYS = st.sampled_from(["$float", "$$float", "$$$float", "float", "a"])
DATA = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["nan", "inf", "x", '$float"']),
    lambda items: st.lists(items, max_size=3) | st.dictionaries(KEYS, items, max_size=2),
    max_leaves=12,
)


def refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


@given(DATA)
def test_every_value_is_written_as_json_and_read_again(value: Any) -> None:
    text = dump_json(value)
    json.loads(text, parse_constant=refuse_constant)
    # Two values that are NaN are not equal.
    assert repr(load_json(text)) == repr(value)


def test_finite_data_is_written_as_it_is() -> None:
    assert dump_json({"a": [1, 2.5, None, "é"]}) == '{"a":[1,2.5,null,"é"]}'


@pytest.mark.parametrize("text", ["[NaN]", '{"$float": 5}', '{"$float": "nan", "b": 1}'])
def test_other_json_is_read_as_it_is(text: str) -> None:
    assert repr(load_json(text)) == repr(json.loads(text))
