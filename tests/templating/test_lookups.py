"""Look-ups follow Jinja and reach no attribute of a Python object."""

from __future__ import annotations

from typing import Any

import pytest
from jinja2 import Undefined
from jinja2.exceptions import SecurityError, TemplateRuntimeError, UndefinedError

from renderers.templating.limits import LIMITS, Budget
from renderers.templating.lookups import METHOD_NAMES, attribute, item, loop_attribute, set_attribute, slice_of
from renderers.templating.sandbox import ChatEnvironment
from renderers.templating.texts import field_text
from renderers.templating.values import LoopValue, MethodValue, NamespaceValue, Owner
from renderers.templating.wrapping import wrap

OWNER: Owner = (0, ("content",))
MISSING = Undefined(name="missing")


@pytest.fixture
def budget() -> Budget:
    return Budget(LIMITS)


def test_an_attribute_is_a_method_before_an_item_and_an_index_the_reverse() -> None:
    data = {"items": "I", "a": 1}
    assert isinstance(attribute(data, "items", MISSING), MethodValue)
    assert item(data, "items", MISSING) == "I"
    assert attribute(data, "a", MISSING) == item(data, "a", MISSING) == 1
    assert attribute(data, "b", MISSING) is item(data, "b", MISSING) is MISSING


@pytest.mark.parametrize("value", ["a", 1, 1.5, [1], (1,), {"a": 1}, range(2), NamespaceValue({}), None])
@pytest.mark.parametrize("name", ["__class__", "__dict__", "__init__", "_runs", "_owner", "mro", "encode"])
def test_no_attribute_of_a_python_object_can_be_reached(value: Any, name: str) -> None:
    assert attribute(value, name, MISSING) is MISSING
    assert item(value, name, MISSING) is MISSING


def test_no_method_that_templates_may_call_starts_with_an_underscore() -> None:
    assert not any(name.startswith("_") for names in METHOD_NAMES.values() for name in names)


def test_a_look_up_in_an_undefined_value_raises_its_error() -> None:
    for look_up in (attribute, item):
        with pytest.raises(UndefinedError, match="'missing' is undefined"):
            look_up(MISSING, "x", Undefined(name="x"))


@pytest.mark.parametrize(("key", "expected"), [(0, "a"), (-1, "c"), (3, None), (-4, None)])
def test_an_index_out_of_range_is_undefined(key: int, expected: str | None) -> None:
    for value in ("abc", ["a", "b", "c"], ("a", "b", "c"), field_text("abc", OWNER), wrap(["a", "b", "c"], OWNER)):
        found = item(value, key, MISSING)
        assert found is MISSING if expected is None else found == expected


def test_the_attributes_of_a_loop() -> None:
    source = "{% for x in 'abc' %}" + "".join(
        f"{{{{ loop.{name} }}}} "
        for name in "index index0 revindex revindex0 first last length depth depth0 previtem nextitem".split()
    )
    expected = ChatEnvironment().from_string(source + "|{% endfor %}").render().split("|")
    for index in range(3):
        loop = LoopValue(list("abc"), 0, None, index0=index)
        names = "index index0 revindex revindex0 first last length depth depth0 previtem nextitem".split()
        values = [loop_attribute(loop, name, Undefined()) for name in names]
        assert "".join(f"{value} " for value in values) == expected[index]
        assert loop_attribute(loop, "nope", MISSING) is MISSING


def test_only_namespaces_have_attributes_that_can_be_set() -> None:
    namespace = NamespaceValue({})
    set_attribute(namespace, "x", 1)
    assert namespace.values == {"x": 1}
    with pytest.raises(SecurityError):
        set_attribute(namespace, "_x", 1)
    others: list[Any] = [{}, [], "a", None]
    for value in others:
        with pytest.raises(TemplateRuntimeError, match="non-namespace"):
            set_attribute(value, "x", 1)


@pytest.mark.parametrize("cut", [(None, 2, None), (1, None, None), (None, None, -1), (-2, None, None), (5, 1, None)])
def test_slices_of_texts_and_lists(budget: Budget, cut: tuple[Any, ...]) -> None:
    expected = "abcd"[slice(*cut)]
    assert slice_of(budget, "abcd", *cut) == slice_of(budget, field_text("abcd", OWNER), *cut) == expected
    assert slice_of(budget, wrap(list("abcd"), OWNER), *cut) == list(expected)
