"""Every filter gives the result of Jinja's on plain values, and texts keep their owners."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any

import pytest
from jinja2.exceptions import TemplateRuntimeError

from renderers.templating.filters import FILTERS, apply_filter
from renderers.templating.limits import LIMITS, Budget
from renderers.templating.sandbox import ChatEnvironment
from renderers.templating.texts import field_text, join_texts, plain, runs_of
from renderers.templating.values import Owner
from renderers.templating.wrapping import wrap

OWNER: Owner = (0, ("content",))
TEXT = "  Hello wide\nWORLD <b> 12  "
ROWS = [{"name": "b", "n": 2}, {"name": "A", "n": 1}, {"name": "b", "n": 3}]
CALLS: list[tuple[str, Any, tuple[Any, ...], dict[str, Any]]] = [
    *((name, TEXT, (), {}) for name in "trim upper lower capitalize title string length count wordcount".split()),
    *((name, TEXT, (), {}) for name in "e escape forceescape safe striptags list first last reverse".split()),
    *((name, [3, 1, 2], (), {}) for name in "sum max min sort list first last reverse length join".split()),
    *((name, {"b": 1, "a": [2, {"c": "é"}]}, (), {}) for name in "tojson items dictsort length pprint xmlattr".split()),
    ("trim", "xxHix", ("x",), {}),
    ("center", "Hi", (7,), {}),
    ("replace", TEXT, ("l", "L"), {}),
    ("replace", TEXT, ("l", "", 1), {}),
    ("format", "%s-%s", ("a", 1), {}),
    ("join", ["a", 1, "b"], (", ",), {}),
    ("join", ROWS, ("-",), {"attribute": "name"}),
    ("indent", "a\n\nb", (2,), {"first": True}),
    ("indent", "a\n\nb", (), {"blank": True}),
    ("truncate", "one two three four", (9,), {"leeway": 0}),
    ("wordwrap", "one two three four", (7,), {}),
    ("urlize", "see https://example.com now", (), {}),
    ("urlencode", "a b&é", (), {}),
    ("filesizeformat", 123456, (), {}),
    ("default", "", ("x", True), {}),
    ("d", "y", ("x",), {}),
    ("items", {"a": 1}, (), {}),
    ("dictsort", {"b": 1, "A": 2}, (True, "value"), {}),
    ("tojson", {"b": [1, 2]}, (), {"indent": 2, "sort_keys": True}),
    ("map", ROWS, (), {"attribute": "n"}),
    ("map", ["a", "b"], ("upper",), {}),
    ("select", [1, 2, 3], ("odd",), {}),
    ("reject", [1, 2, 3], ("odd",), {}),
    ("selectattr", ROWS, ("n", "gt", 1), {}),
    ("rejectattr", ROWS, ("name", "equalto", "b"), {}),
    ("groupby", ROWS, ("name",), {}),
    ("unique", ROWS, (), {"attribute": "name"}),
    ("sort", ROWS, (), {"attribute": "name", "reverse": True}),
    ("max", ROWS, (), {"attribute": "n"}),
    ("sum", ROWS, (), {"attribute": "n", "start": 10}),
    ("batch", [1, 2, 3], (2, 0), {}),
    ("slice", [1, 2, 3], (2,), {}),
    ("attr", 3, ("real",), {}),
    *((name, "42.6", (), {}) for name in ("int", "float")),
    ("abs", -3, (), {}),
    ("round", 2.567, (1, "floor"), {}),
    ("random", ["only"], (), {}),
]


def expanded(value: Any) -> Any:
    """Return a result with iterators as lists, and texts and containers as plain ones."""
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, Iterator | types.GeneratorType):
        return [expanded(item) for item in value]
    if isinstance(value, dict):
        return {plain(key): expanded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [expanded(item) for item in value]
    return value


def test_the_filters_are_those_of_jinja_and_each_is_tried() -> None:
    assert FILTERS.keys() == ChatEnvironment().filters.keys()
    assert {name for name, *_ in CALLS} == FILTERS.keys()


@pytest.mark.parametrize(("name", "value", "args", "kwargs"), CALLS)
def test_the_result_is_that_of_jinja(name: str, value: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    environment = ChatEnvironment()
    context = environment.from_string("").new_context()
    expected = expanded(environment.call_filter(name, value, args, kwargs, context))
    for given in (value, wrap(value, OWNER)):
        assert expanded(apply_filter(Budget(LIMITS), name, given, *args, **kwargs)) == expected


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("trim", (), [("ab\nc", OWNER), ("<", None)]),
        ("upper", (), [("  AB\nC", OWNER), ("< ", None)]),
        ("replace", ("b", "x"), [("  a", OWNER), ("x", OWNER), ("\nc", OWNER), ("< ", None)]),
        ("replace", ("b", "|"), [("  a", OWNER), ("|", None), ("\nc", OWNER), ("< ", None)]),
        ("string", (), [("  ab\nc", OWNER), ("< ", None)]),
    ],
)
def test_characters_keep_their_owners(name: str, args: tuple[Any, ...], expected: list[tuple[str, Any]]) -> None:
    text = join_texts([field_text("  ab\nc", OWNER), "< "])
    result = apply_filter(Budget(LIMITS), name, text, *args)
    runs, start = [], 0
    for end, owner in runs_of(result):
        runs.append((plain(result)[start:end], owner))
        start = end
    assert runs == expected


def test_a_joined_list_keeps_the_owners_of_its_items() -> None:
    other: Owner = (1, ("content",))
    joined = apply_filter(Budget(LIMITS), "join", [field_text("a", OWNER), field_text("b", other)], ", ")
    assert (plain(joined), list(runs_of(joined))) == ("a, b", [(1, OWNER), (3, None), (4, other)])


def test_lazy_filters_do_nothing_before_their_first_item_is_read() -> None:
    budget = Budget(LIMITS)
    for name in ("map", "batch", "slice"):
        result = apply_filter(budget, name, 5, *(("upper",) if name == "map" else (2,)))
        with pytest.raises(TypeError):
            next(result)


def test_an_unknown_filter_is_an_error() -> None:
    with pytest.raises(TemplateRuntimeError, match="No filter named 'nope'"):
        apply_filter(Budget(LIMITS), "nope", "x")
