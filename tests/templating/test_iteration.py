"""Loops iterate over the same items as in Jinja."""

from __future__ import annotations

from typing import Any

import pytest
from jinja2 import Undefined
from jinja2.exceptions import UndefinedError

from renderers.templating.iteration import characters, iterate, loop_pairs, mapping_pairs, type_name
from renderers.templating.limits import LIMITS, Budget
from renderers.templating.texts import field_text, runs_of
from renderers.templating.values import Owner
from renderers.templating.wrapping import wrap

OWNER: Owner = (0, ("content",))
MISSING = Undefined(name="missing")


@pytest.fixture
def budget() -> Budget:
    return Budget(LIMITS)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([1, 2], [1, 2]),
        ((1, 2), [1, 2]),
        (range(2), [0, 1]),
        ({"a": 1, "b": 2}, ["a", "b"]),
        (wrap({"a": 1, "b": 2}, OWNER), ["a", "b"]),
        (wrap([1, [2]], OWNER), [1, [2]]),
        ("ab", ["a", "b"]),
        (field_text("ab", OWNER), ["a", "b"]),
    ],
)
def test_iteration(budget: Budget, value: Any, expected: list[Any]) -> None:
    assert list(iterate(budget, value)) == expected


def test_iterators_and_undefined_values_can_be_iterated_over(budget: Budget) -> None:
    assert list(iterate(budget, iter([1, 2]))) == [1, 2]
    assert list(iterate(budget, MISSING)) == []


@pytest.mark.parametrize("value", [1, 1.5, None, True, wrap(3, OWNER)])
def test_a_value_that_is_not_iterable_is_an_error_as_in_python(budget: Budget, value: Any) -> None:
    with pytest.raises(TypeError, match=rf"'{type_name(value)}' object is not iterable"):
        iterate(budget, value)


def test_characters_have_the_owner_of_their_text() -> None:
    assert [list(runs_of(character)) for character in characters(field_text("ab", OWNER))] == [[(1, OWNER)]] * 2


def test_loops_over_pairs_accept_mappings_only(budget: Budget) -> None:
    data = wrap({"a": 1}, OWNER)
    assert mapping_pairs(data) == list(loop_pairs(budget, data)) == [("a", 1)]
    assert mapping_pairs(MISSING) == []
    with pytest.raises(TypeError, match="item pairs"):
        mapping_pairs([1])
    with pytest.raises(UndefinedError):
        loop_pairs(budget, [1])
