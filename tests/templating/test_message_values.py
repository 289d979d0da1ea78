"""The values of a template are followed from the messages through variables, loops, macros and namespaces."""

from __future__ import annotations

import pytest
from jinja2 import nodes

from renderers.templating.limits import LIMITS
from renderers.templating.message_values import (
    ANY,
    CLEAN,
    COUNT,
    LIST,
    MESSAGE,
    Form,
    MessageValues,
    fields_of,
    increments,
    leaves_text,
    names_of,
)
from renderers.templating.syntax import parse_template

LOOP = "{% for m in messages %}{% set x = EXPRESSION %}{% endfor %}"


def values_of(source: str, name: str = "x") -> set[tuple[str, Form]]:
    """Return the values that a variable of a template may hold."""
    return set(MessageValues(parse_template(source, LIMITS)).value(nodes.Name(name, "load")))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("messages", {(LIST, Form.DATA)}),
        ("messages[1:]", {(LIST, Form.DATA)}),
        ("messages[0]", {(MESSAGE, Form.DATA)}),
        ("m", {(MESSAGE, Form.DATA)}),
        ("m.content", {("content", Form.DATA)}),
        ("m['content']", {("content", Form.DATA)}),
        ("m.get('content')", {("content", Form.DATA)}),
        ("m[key]", {(ANY, Form.DATA)}),
        ("m.content | trim", {("content", Form.DATA)}),
        ("m.content.strip()", {("content", Form.DATA)}),
        ("m.content.split('x')", {("content", Form.PIECES)}),
        ("m.content.split('x')[0]", {("content", Form.DATA)}),
        ("m.content | upper", {("content", Form.CHANGED)}),
        ("m.content | length", {("content", Form.LENGTH)}),
        ("m.content.startswith('x')", set()),
        ("m.tool_calls | length", set()),
        ("messages | length", {(COUNT, Form.LENGTH)}),
        ("m.content | default('x')", {("content", Form.DATA)}),
        ("'constant'", set()),
        ("tools", set()),
    ],
)
def test_the_value_of_an_expression(expression: str, expected: set[tuple[str, Form]]) -> None:
    assert values_of(LOOP.replace("EXPRESSION", expression)) == expected


@pytest.mark.parametrize(
    "source",
    [
        "{% set y = messages %}{% for m in y %}{% set x = m.content %}{% endfor %}",
        "{% for m in messages %}{% with y = m %}{% set x = y.content %}{% endwith %}{% endfor %}",
        "{% macro f(y) %}{% set x = y.content %}{% endmacro %}{% for m in messages %}{{ f(m) }}{% endfor %}",
        "{% macro f(y) %}{% set x = y.content %}{% endmacro %}{% for m in messages %}{{ f(y=m) }}{% endfor %}",
        "{% set ns = namespace(y=0) %}{% for m in messages %}{% set ns.y = m %}{% endfor %}{% set x = ns.y.content %}",
        "{% set x = y.content %}{% set y = messages[0] %}",
    ],
)
def test_a_message_is_followed_through_the_template(source: str) -> None:
    assert values_of(source) == {("content", Form.DATA)}


def test_a_variable_holds_everything_that_is_assigned_to_its_name() -> None:
    source = "{% for m in messages %}{% set x = m.content %}{% set x = m.name %}{% endfor %}{% set x = 1 %}"
    assert values_of(source) == {("content", Form.DATA), ("name", Form.DATA)}


def test_a_block_and_a_macro_contain_the_texts_that_they_write() -> None:
    block = "{% for m in messages %}{% set x %}<{{ m.content }}>{% endset %}{% endfor %}"
    macro = "{% macro f(m) %}<{{ m.content }}>{% endmacro %}{% for m in messages %}{% set x = f(m) %}{% endfor %}"
    assert values_of(block) == values_of(macro) == {("content", Form.JOINED)}


def test_a_counter_in_a_namespace_is_a_number_of_messages() -> None:
    source = (
        "{% set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = ns.n + 1 %}{% endfor %}{% set x = ns.n %}"
    )
    values = frozenset(values_of(source))
    assert (names_of(values), fields_of(values)) == ({COUNT}, CLEAN)


@pytest.mark.parametrize(
    ("arguments", "expected"), [("'a', 'b'", True), ("'a', ''", False), ("'a', x", False), ("x, 'b'", False)]
)
def test_replace_leaves_text_if_it_writes_a_constant(arguments: str, expected: bool) -> None:
    call = parse_template("{{ x.replace(" + arguments + ") }}", LIMITS).find(nodes.Call)
    assert call is not None
    assert leaves_text(call.args) is expected


@pytest.mark.parametrize(
    ("expression", "expected"), [("ns.n + 1", True), ("1 + ns.n", True), ("ns.m + 1", False), ("ns.n", False)]
)
def test_a_sum_that_contains_the_attribute_increments_it(expression: str, expected: bool) -> None:
    assign = parse_template("{% set ns.n = " + expression + " %}", LIMITS).find(nodes.Assign)
    assert assign is not None
    assert increments(assign.node, "n") is expected
