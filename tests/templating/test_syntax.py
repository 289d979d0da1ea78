"""Questions about the syntax tree of a template: names, loops, steps and the generation prompt."""

from __future__ import annotations

from typing import Any

import pytest
from jinja2 import nodes

from renderers.templating.limits import LIMITS
from renderers.templating.syntax import (
    iteration_steps,
    loop_uses,
    names_read_first,
    parse_template,
    prompt_condition,
    stored_names,
)


def body(source: str) -> list[nodes.Node]:
    return parse_template(source, LIMITS).body


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{% set a = 1 %}{{ a }}", ""),
        ("{{ a }}{% set a = 1 %}", "a"),
        ("{% set a = a + 1 %}", "a"),
        ("{% set a, b = b, 1 %}{{ a + b }}", "b"),
        ("{% if x %}{% set a = 1 %}{% endif %}{{ a }}", "ax"),
        ("{% if x %}{% set a = 1 %}{{ a }}{% endif %}", "x"),
        ("{% if x %}{% set a = 1 %}{% else %}{% set a = 2 %}{% endif %}{{ a }}", "x"),
        ("{% if x %}{% set a = 1 %}{% elif a %}{% endif %}", "ax"),
        ("{% macro f() %}{{ a }}{% endmacro %}{% set a = 1 %}{{ f() }}", "a"),
        ("{% macro f(a, b=c) %}{% set d = a %}{{ d + b }}{% endmacro %}{{ f() }}", "c"),
        ("{% macro f() %}{{ f() }}{% endmacro %}", "f"),
        ("{% for i in x %}{% set a = i %}{{ a }}{% endfor %}{{ a }}", "ax"),
        ("{% for i in x if i == a %}{% set a = 1 %}{% else %}{{ i }}{% endfor %}", "aix"),
        ("{% for i in x %}{{ a }}{% set a = 1 %}{% endfor %}", "ax"),
        ("{% set b %}{{ a }}{% endset %}{{ b }}", "a"),
        ("{% set n.a = 1 %}{% set n = 2 %}", "n"),
        ("{% set b %}{% set a = 1 %}{% endset %}{{ a }}", "a"),
    ],
)
def test_names_that_may_be_read_before_they_are_set(source: str, expected: str) -> None:
    assert names_read_first(body(source)) == set(expected)


def test_names_that_are_bound_have_a_value() -> None:
    assert names_read_first(body("{{ a + b }}"), ["a"]) == {"b"}


def test_the_bindings_of_a_scope_are_counted_without_those_of_inner_scopes() -> None:
    source = "{% set a = 1 %}{% if x %}{% set a = 2 %}{% endif %}{% macro f() %}{% set b = 1 %}{% endmacro %}"
    assert stored_names(body(source + "{% for c in x %}{% set d = 1 %}{% endfor %}")) == {"a": 2, "f": 1}


def test_the_uses_of_a_loop_do_not_include_those_of_inner_loops() -> None:
    inner = "{% for j in range(loop.index) if loop.first %}{{ loop.last }}{% else %}{{ loop.length }}{% endfor %}"
    assert loop_uses(body(inner)) == {"index", "first", "length"}
    assert loop_uses(body("{{ f(loop) }}{{ loop.cycle(1) }}")) == {"", "cycle"}


def test_only_the_longest_branch_counts_as_steps() -> None:
    branches = "{% if x %}{{ a }}{% elif y %}{{ a | b }}{{ c() }}{% endif %}"
    source = branches.replace("| b", "| trim")
    assert iteration_steps(body(source)) == 1 + 4
    assert iteration_steps(body("a" * 1000)) == 1
    assert iteration_steps(body("{% if x < 0 %}{% endif %}" * 500)) > 10


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("add_generation_prompt", True),
        ("not add_generation_prompt", False),
        ("add_generation_prompt and x", True),
        ("add_generation_prompt or x", None),
        ("x or not add_generation_prompt", False),
        ("x", None),
    ],
)
def test_a_condition_on_the_generation_prompt(test: str, expected: bool | None) -> None:
    (node,) = body("{% if " + test + " %}{% endif %}")
    condition: Any = node
    assert prompt_condition(condition.test) is expected
