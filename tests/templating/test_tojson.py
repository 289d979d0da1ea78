"""The filter `tojson` gives the text of `json.dumps`, and every field in it keeps its owner."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderers.templating.runs import Owner, runs_of
from renderers.templating.tojson import trace_json
from renderers.templating.traced_str import plain
from renderers.templating.traced_values import trace_value

OPTIONS: list[dict[str, Any]] = [
    {"ensure_ascii": False, "indent": None, "separators": None, "sort_keys": False},
    {"ensure_ascii": True, "indent": 2, "separators": None, "sort_keys": True},
    {"ensure_ascii": False, "indent": "\t", "separators": (",", ":"), "sort_keys": False},
    {"ensure_ascii": False, "indent": 0, "separators": None, "sort_keys": False},
]
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def half_traced(value: Any, choices: st.DataObject) -> Any:
    """Wrap some parts of a value, as if a template had built it from fields of a message and constants."""
    if choices.draw(st.booleans()):
        return trace_value(value, Owner(0, choices.draw(st.sampled_from([(), ("x",), ("tool_calls", 0)]))))
    if isinstance(value, dict):
        return {key: half_traced(item, choices) for key, item in value.items()}
    if isinstance(value, list):
        return [half_traced(item, choices) for item in value]
    return value


@given(VALUES, st.sampled_from(OPTIONS), st.data())
def test_the_text_equals_that_of_json_dumps(value: Any, options: dict[str, Any], choices: st.DataObject) -> None:
    mixed = half_traced(value, choices)
    expected = json.dumps(value, **options)
    got = trace_json(mixed, expected, **options)
    assert plain(got) == expected
    assert all(run.owner == Owner(0, run.owner.path) for run in runs_of(got) if isinstance(run.owner, Owner))


@pytest.mark.parametrize("options", OPTIONS)
def test_fields_in_a_container_that_the_template_built_keep_their_owners(options: dict[str, Any]) -> None:
    message = trace_value({"name": 'f"é', "arguments": {"a": [1]}, "n": 7}, Owner(2, ()))
    value = {"name": message["name"], "arguments": message["arguments"], "n": message["n"], "own": True}
    text = json.dumps(value, **options)
    got = trace_json(value, text, **options)
    parts = {run.owner.path: plain(got)[run.start : run.end] for run in runs_of(got) if isinstance(run.owner, Owner)}
    assert parts["name",] == json.dumps('f"é', ensure_ascii=options["ensure_ascii"])[1:-1]
    assert json.loads(parts["arguments",]) == {"a": [1]}
    assert parts["n",] == "7"
    assert set(parts) == {("name",), ("arguments",), ("n",)}


@pytest.mark.parametrize("options", OPTIONS)
def test_fields_of_a_tool_call_keep_their_owners_and_the_rest_belongs_to_the_call(options: dict[str, Any]) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "name", "arguments": {"name": "x", "n": [1]}}}
    path = ("tool_calls", 0)
    text = json.dumps(call, **options)
    got = trace_json(trace_value(call, Owner(1, path)), text, **options)
    parts: dict[Any, str] = {}
    for run in runs_of(got):
        assert isinstance(run.owner, Owner)
        parts[run.owner.path] = parts.get(run.owner.path, "") + text[run.start : run.end]
    assert sum(map(len, parts.values())) == len(text)
    assert parts[*path, "id"] == "c1"
    assert parts[*path, "function", "name"] == "name"
    assert json.loads(parts[*path, "function", "arguments"]) == {"name": "x", "n": [1]}
    assert "arguments" in parts[*path, "function"]
    assert "name" in parts[*path, "function"]


def test_a_text_that_differs_from_its_pieces_has_their_common_owner() -> None:
    message = trace_value({"a": {"b": "x", "c": "y"}}, Owner(1, ()))
    got = trace_json([message["a"]["b"], message["a"]["c"]], "other text", **OPTIONS[0])
    assert runs_of(got) == ((0, 10, Owner(1, ("a",))),)
