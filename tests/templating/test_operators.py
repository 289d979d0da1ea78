"""Look-ups, iteration, operators and global functions follow Jinja and reach no attribute of a Python object."""

from __future__ import annotations

from typing import Any

import pytest
from jinja2 import Undefined
from jinja2.exceptions import SecurityError, TemplateRuntimeError, UndefinedError

from renderers.errors import TemplateLimitError
from renderers.templating.limits import LIMITS, Budget
from renderers.templating.operators import (
    GLOBAL_FUNCTIONS,
    METHOD_NAMES,
    add,
    attribute,
    characters,
    concatenate,
    emit_sum,
    item,
    iterate,
    loop_attribute,
    loop_pairs,
    make_dict,
    make_namespace,
    make_range,
    make_safe,
    mapping_pairs,
    modulo,
    multiply,
    need_text,
    power,
    set_attribute,
    slice_of,
    to_text,
    type_name,
    without_owners,
)
from renderers.templating.sandbox import ChatEnvironment
from renderers.templating.values import (
    LoopValue,
    MethodValue,
    NamespaceValue,
    Owner,
    field_text,
    plain,
    runs_of,
    wrap,
)

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


@pytest.mark.parametrize("cut", [(None, 2, None), (1, None, None), (None, None, -1), (-2, None, None), (5, 1, None)])
def test_slices_of_texts_and_lists(budget: Budget, cut: tuple[Any, ...]) -> None:
    expected = "abcd"[slice(*cut)]
    assert slice_of(budget, "abcd", *cut) == slice_of(budget, field_text("abcd", OWNER), *cut) == expected
    assert slice_of(budget, wrap(list("abcd"), OWNER), *cut) == list(expected)


def test_a_long_range_is_refused(budget: Budget) -> None:
    assert make_range(budget, 3) == range(3)
    assert make_range(budget, 5, 1, -2) == range(5, 1, -2)
    for bounds in ((LIMITS.range + 1,), (10**30,), (0, -(10**30), -1)):
        with pytest.raises(TemplateLimitError, match="range"):
            make_range(budget, *bounds)
    with pytest.raises(ValueError, match="zero"):
        make_range(budget, 0, 1, 0)


def test_dicts_and_namespaces_are_made_of_pairs_and_names(budget: Budget) -> None:
    assert make_dict(budget, {"a": 1}, b=2) == make_dict(budget, [("a", 1)], b=2) == {"a": 1, "b": 2}
    assert make_namespace(budget, wrap({"a": 1}, OWNER), b=2).values == {"a": 1, "b": 2}
    with pytest.raises(SecurityError):
        make_namespace(budget, _a=1)


def test_the_global_functions_are_those_of_the_environment() -> None:
    refused = {"lipsum", "cycler", "joiner"}
    assert GLOBAL_FUNCTIONS.keys() == ChatEnvironment().globals.keys() - refused
