"""A kind holds for every value that an expression has at run time, or none is inferred."""

from __future__ import annotations

from typing import Any

import pytest
from jinja2 import nodes

from renderers.templating.kinds import Kind, KindInference, Loop, Names, Variable
from renderers.templating.limits import LIMITS
from renderers.templating.sandbox import ChatEnvironment
from renderers.templating.syntax import parse_template

TYPES: dict[Kind, Any] = {
    Kind.TEXT: str,
    Kind.INTEGER: int,
    Kind.NUMBER: (int, float),
    Kind.TRUTH: bool,
    Kind.CONTAINER: (list, tuple, dict),
    Kind.MESSAGES: list,
}
MESSAGES = [{"role": "user", "content": "Hi"}]
EXPRESSIONS: dict[str, Kind | None] = {
    "'a'": Kind.TEXT,
    "1": Kind.INTEGER,
    "true": Kind.TRUTH,
    "1.5": None,
    "none": None,
    "[1]": Kind.CONTAINER,
    "(1, 2)": Kind.CONTAINER,
    "{'a': 1}": Kind.CONTAINER,
    "'a' ~ 1": Kind.TEXT,
    "'a' + x": Kind.TEXT,
    "1 + 2": Kind.INTEGER,
    "1 + n": Kind.NUMBER,
    "x + y": None,
    "3 - 1": Kind.INTEGER,
    "n - 1": Kind.NUMBER,
    "6 / 2": Kind.NUMBER,
    "7 // 2": Kind.NUMBER,
    "-n": Kind.NUMBER,
    "x == 'b'": Kind.TRUTH,
    "not x": Kind.TRUTH,
    "x is defined": Kind.TRUTH,
    "x and y": None,
    "x | trim": Kind.TEXT,
    "messages | tojson": Kind.TEXT,
    "messages | length": Kind.INTEGER,
    "messages | list": Kind.CONTAINER,
    "messages | first": None,
    "x.strip()": Kind.TEXT,
    "x.split()": None,
    "dict(a=1)": Kind.CONTAINER,
    "messages": Kind.MESSAGES,
    "messages[1:]": Kind.MESSAGES,
    "messages[0]": None,
    "'abc'[1:]": Kind.TEXT,
    "'a' if x else 'b'": Kind.TEXT,
    "'a' if x else 1": None,
    "'a' if x": None,
}


def expression(source: str) -> nodes.Node:
    output = parse_template("{{ " + source + " }}", LIMITS).body[0]
    assert isinstance(output, nodes.Output)
    return output.nodes[0]


def names(*variables: str) -> Names:
    return Names(None, {name: Variable(f"v_{name}") for name in variables}, {})


@pytest.mark.parametrize(("source", "kind"), EXPRESSIONS.items())
def test_the_kind_of_an_expression(source: str, kind: Kind | None) -> None:
    assert KindInference(markup=False).of(expression(source), names()) is kind
    value = ChatEnvironment().compile_expression(source)(messages=MESSAGES, x="b", y="c", n=2.5)
    assert kind is None or isinstance(value, TYPES[kind])


@pytest.mark.parametrize("source", ["'a' + x", "x | trim", "x | upper", "x.strip()"])
def test_a_text_that_may_be_safe_has_no_kind_in_a_template_with_safe_texts(source: str) -> None:
    assert KindInference(markup=True).of(expression(source), names()) is None
    assert KindInference(markup=True).of(expression(source.replace("x", "'b'")), names()) is Kind.TEXT


def test_the_attributes_of_a_loop_have_kinds_in_a_loop_only() -> None:
    inside = names()
    inside.loop = Loop("items", "index", "count", None)
    for source, kind in (("loop.index0", Kind.INTEGER), ("loop.last", Kind.TRUTH), ("loop.previtem", None)):
        assert KindInference(markup=False).of(expression(source), inside) is kind
        assert KindInference(markup=False).of(expression(source), names()) is None


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("{% set a = 1 %}{% set a = 2 %}", Kind.INTEGER),
        ("{% set a = 1 %}{% set a = 'x' %}", None),
        ("{% set a = 1 %}{% set a = a + 1 %}", Kind.INTEGER),
        ("{% set a = 1 %}{% set a = a + n %}", None),
        ("{% set a = '' %}{% if n %}{% set a = a ~ n %}{% endif %}", Kind.TEXT),
        ("{% set a %}x{% endset %}", None),
        ("{% set a, b = n %}", None),
        ("{% set a = namespace(b=1) %}", Kind.NAMESPACE),
        ("{% set a = b %}{% set b = 1 %}{% set b = 'x' %}", None),
    ],
)
def test_a_variable_has_a_kind_if_all_its_values_have_it(source: str, kind: Kind | None) -> None:
    scope = names("a", "b")
    KindInference(markup=False).infer_variables(scope, parse_template(source, LIMITS).body, {})
    assert scope.variables["a"].kind is kind


def test_the_value_before_an_assignment_counts() -> None:
    scope = names("a")
    body = parse_template("{% set a = 1 %}", LIMITS).body
    KindInference(markup=False).infer_variables(scope, body, {"a": Kind.TEXT})
    assert scope.variables["a"].kind is None


def test_a_variable_hides_a_name_of_an_outer_scope() -> None:
    outer = names("messages")
    inner = Names(outer, {"x": Variable("v_x", Kind.TEXT)}, {})
    inference = KindInference(markup=False)
    assert inference.of(expression("messages"), inner) is None
    assert inference.of(expression("x"), inner) is Kind.TEXT
    assert inference.of(expression("x"), outer) is None


@pytest.mark.parametrize(
    ("source", "kind"), [("range(3)", Kind.INTEGER), ("messages[::-1]", Kind.MESSAGE), ("'abc'", None), ("[1]", None)]
)
def test_the_items_of_a_loop_have_kinds(source: str, kind: Kind | None) -> None:
    assert KindInference(markup=False).of_items(expression(source), names()) is kind
    assert KindInference(markup=False).of_items(expression(source), names("range", "messages")) is None
