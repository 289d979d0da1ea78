"""The filter `tojson` gives the text of `json.dumps`, and every field in it keeps its owner."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderers.core.native import COMPILED
from renderers.templating.limits import LIMITS, Budget
from renderers.templating.texts import plain, runs_of
from renderers.templating.tojson import to_json
from renderers.templating.values import Owner
from renderers.templating.wrapping import open_data, wrap

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


def pieces_of(text: str) -> list[tuple[Owner | None, str]]:
    """Return the parts of a text with their owners."""
    starts = [0, *(end for end, _ in runs_of(text))]
    return [(owner, plain(text)[start:end]) for start, (end, owner) in zip(starts, runs_of(text), strict=False)]


def half_traced(value: Any, choices: st.DataObject) -> Any:
    """Wrap some parts of a value, as if a template had built it from fields of a message and constants."""
    if choices.draw(st.booleans()):
        return wrap(value, (0, choices.draw(st.sampled_from([(), ("x",), ("tool_calls", 0)]))))
    if isinstance(value, dict):
        return {key: half_traced(item, choices) for key, item in value.items()}
    if isinstance(value, list):
        return [half_traced(item, choices) for item in value]
    return value


@given(VALUES, st.sampled_from(OPTIONS), st.data())
def test_the_text_equals_that_of_json_dumps(value: Any, options: dict[str, Any], choices: st.DataObject) -> None:
    mixed = half_traced(value, choices)
    expected = json.dumps(value, **options)
    got = to_json(Budget(LIMITS), mixed, **options)
    assert plain(got) == expected
    assert all(owner[0] == 0 for owner, _ in pieces_of(got) if owner is not None)


@pytest.mark.parametrize("options", OPTIONS)
def test_fields_in_a_container_that_the_template_built_keep_their_owners(options: dict[str, Any]) -> None:
    message = open_data(wrap({"name": 'f"é', "arguments": {"a": [1]}, "n": 7}, (2, ())))
    value = {"name": message["name"], "arguments": message["arguments"], "n": message["n"], "own": True}
    parts = {owner[1]: text for owner, text in pieces_of(to_json(Budget(LIMITS), value, **options)) if owner}
    assert parts["name",] == json.dumps('f"é', ensure_ascii=options["ensure_ascii"])[1:-1]
    assert json.loads(parts["arguments",]) == {"a": [1]}
    assert parts["n",] == "7"
    assert set(parts) == {("name",), ("arguments",), ("n",)}


@pytest.mark.parametrize("options", OPTIONS)
def test_fields_of_a_tool_call_keep_their_owners_and_the_rest_belongs_to_the_call(options: dict[str, Any]) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "name", "arguments": {"name": "x", "n": [1]}}}
    path = ("tool_calls", 0)
    text = json.dumps(call, **options)
    got = to_json(Budget(LIMITS), wrap(call, (1, path)), **options)
    parts: dict[Any, str] = {}
    for owner, piece in pieces_of(got):
        assert owner is not None
        parts[owner[1]] = parts.get(owner[1], "") + piece
    assert sum(map(len, parts.values())) == len(text)
    assert parts[*path, "id"] == "c1"
    assert parts[*path, "function", "name"] == "name"
    assert json.loads(parts[*path, "function", "arguments"]) == {"name": "x", "n": [1]}
    assert "arguments" in parts[*path, "function"]
    assert "name" in parts[*path, "function"]


def test_a_text_that_differs_from_its_pieces_has_their_common_owner() -> None:
    data = open_data(wrap({"a": {"b": "x", "c": "y"}}, (1, ())))
    inner = open_data(data["a"])
    # JSON writes the key as the text "1.5", and the pieces do not.
    got = to_json(Budget(LIMITS), {1.5: inner["b"], None: inner["c"]})
    assert plain(got) == json.dumps({1.5: "x", None: "y"})
    assert pieces_of(got)[0][0] in (None, (1, ("a",)))


def test_the_json_of_tools_is_kept_and_that_of_messages_is_not() -> None:
    tools, field = wrap([{"name": "f"}], (-1, ("tools",))), wrap({"a": 1}, (0, ("x",)))
    assert to_json(Budget(LIMITS), tools) is to_json(Budget(LIMITS), tools)
    assert to_json(Budget(LIMITS), tools, indent=2) == json.dumps([{"name": "f"}], indent=2)
    assert to_json(Budget(LIMITS), field) is not to_json(Budget(LIMITS), field)


# ==================
# The twin in C
# ==================

needs_c = pytest.mark.skipif(not COMPILED, reason="the part in C was not built")
_ANY_TEXT = st.text(st.characters(min_codepoint=0), max_size=90) | st.sampled_from(
    ["\x00\x1f\x7f\x80", '"\\\n\r\t\f\b/'] * 2
)
_ANY_DATA = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_ANY_TEXT, inner, max_size=4),
    max_leaves=12,
)


def dumped_in_python(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


@needs_c
@given(_ANY_DATA, st.integers(0, 70))
def test_json_in_c_is_that_of_the_standard_library(value: Any, padding: int) -> None:
    from renderers.core._native import json_text

    for one in (value, {"x" * padding: value}, ["\n" + "x" * padding + '"', value]):
        assert json_text(one) in (dumped_in_python(one), None)
        assert json_text(open_data(wrap(one, (0, ("arguments",))))) in (dumped_in_python(one), None)


@needs_c
@given(st.text(st.characters(max_codepoint=0x7F), max_size=300))
def test_json_of_ascii_texts_is_written_in_c(text: str) -> None:
    from renderers.core._native import json_text

    assert json_text(text) == dumped_in_python(text)
    assert json_text({text: [text]}) == dumped_in_python({text: [text]})


class Deceptive(str):
    def isascii(self) -> bool:
        raise AssertionError("no Python code may run")


@needs_c
def test_json_in_c_leaves_everything_else_to_python() -> None:
    from renderers.core._native import json_text

    cyclic: list[Any] = []
    cyclic.append(cyclic)
    deep: Any = 1
    for _ in range(200):
        deep = [deep]
    for value in (object(), {1: 2}, (1, 2), {"a": {2}}, b"a", "\ud800", "é" * 100, 10**5000, cyclic, deep):
        assert json_text(value) is None
    assert json_text(Deceptive("a" * 100)) == dumped_in_python("a" * 100)
    assert json_text({"a": float("-inf"), "b": float("nan"), "c": -0.0}) == '{"a": -Infinity, "b": NaN, "c": -0.0}'
