"""Operators and the texts of values follow Jinja, and keep owners."""

from __future__ import annotations

from typing import Any

import pytest
from jinja2 import Undefined
from jinja2.exceptions import UndefinedError

from renderers.templating.limits import LIMITS, Budget
from renderers.templating.operators import (
    add,
    concatenate,
    emit_sum,
    make_safe,
    modulo,
    multiply,
    need_text,
    power,
    to_text,
    without_owners,
)
from renderers.templating.sandbox import ChatEnvironment
from renderers.templating.texts import field_text, plain, runs_of
from renderers.templating.values import Owner
from renderers.templating.wrapping import wrap

OWNER: Owner = (0, ("content",))
MISSING = Undefined(name="missing")


@pytest.fixture
def budget() -> Budget:
    return Budget(LIMITS)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(1, "1"), (1.0, "1.0"), (True, "True"), (None, "None"), ([1, "a"], "[1, 'a']")],
)
def test_the_text_of_a_value_is_that_of_jinja(budget: Budget, value: Any, expected: str) -> None:
    assert to_text(budget, value) == expected == ChatEnvironment().from_string("{{ x }}").render(x=value)
    assert to_text(budget, MISSING) == ""


@pytest.mark.parametrize("value", [7, 1.5, {"a": 1}, ["x"], "text"])
def test_the_text_of_data_has_its_owner(budget: Budget, value: Any) -> None:
    text = to_text(budget, wrap(value, OWNER))
    assert (plain(text), list(runs_of(text))) == (str(value), [(len(str(value)), OWNER)])


def test_a_sum_of_texts_needs_texts() -> None:
    assert need_text("a") == "a"
    with pytest.raises(TypeError, match="str"):
        need_text(1)
    with pytest.raises(UndefinedError):
        need_text(MISSING)


def test_plain_texts_stay_plain_and_owners_are_kept(budget: Budget) -> None:
    assert type(concatenate(budget, "a", "b")) is str
    assert list(runs_of(concatenate(budget, "a", field_text("b", OWNER)))) == [(1, None), (2, OWNER)]


def test_a_safe_text_escapes_the_texts_that_it_is_added_to(budget: Budget) -> None:
    safe = make_safe(budget, "<b>")
    assert make_safe(budget, safe) is safe
    assert plain(add(budget, safe, "<i>")) == "<b>&lt;i&gt;"
    assert plain(add(budget, "<i>", safe)) == "&lt;i&gt;<b>"
    output: list[str] = []
    emit_sum(budget, output, "<i>", safe)
    assert "".join(output) == "&lt;i&gt;<b>"
    assert type(without_owners(safe)).__name__ == "Markup"


@pytest.mark.parametrize(
    ("function", "left", "right", "expected"),
    [
        (add, 1, 2, 3),
        (add, [1], [2], [1, 2]),
        (add, (1,), (2,), (1, 2)),
        (multiply, "ab", 2, "abab"),
        (multiply, 2, "ab", "abab"),
        (multiply, "ab", -1, ""),
        (multiply, [1], 2, [1, 1]),
        (multiply, 3, 4, 12),
        (power, 2, 10, 1024),
        (modulo, 7, 3, 1),
        (modulo, "%s-%s", ("a", 1), "a-1"),
        (modulo, "%(x)s%%", {"x": 1}, "1%"),
        (modulo, "%05.1f", 2.25, "002.2"),
    ],
)
def test_operators(budget: Budget, function: Any, left: Any, right: Any, expected: Any) -> None:
    assert function(budget, left, right) == expected
    if not isinstance(left, tuple):
        assert function(budget, wrap(left, OWNER), wrap(right, OWNER) if isinstance(right, dict) else right) == expected


@pytest.mark.parametrize(("function", "left", "right"), [(add, "a", 1), (add, 1, "a"), (multiply, "a", "b")])
def test_operands_of_the_wrong_type_are_an_error_as_in_python(
    budget: Budget, function: Any, left: Any, right: Any
) -> None:
    with pytest.raises(TypeError):
        function(budget, left, right)
