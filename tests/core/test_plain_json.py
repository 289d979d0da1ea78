"""JSON data of exact types is copied and compared, in C as in Python."""

from __future__ import annotations

import copy
import enum
import gc
import math
from array import array
from collections import OrderedDict, UserDict
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderers.core import plain_json
from renderers.core.native import COMPILED
from renderers.core.plain_json import copy_json_in_python, is_plain_in_python, same_json_in_python

needs_c = pytest.mark.skipif(not COMPILED, reason="the part in C was not built")
COPIERS = [copy_json_in_python, pytest.param(plain_json.copy_json, marks=needs_c)]
RECOGNISERS = [is_plain_in_python, pytest.param(plain_json.is_plain, marks=needs_c)]
COMPARERS = [same_json_in_python, pytest.param(plain_json.same_json, marks=needs_c)]


class Text(str):
    """A text that equals everything."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = str.__hash__


class Level(enum.IntEnum):
    LOW = 1


CIRCULAR: list[Any] = []
CIRCULAR.append(CIRCULAR)
NOT_PLAIN: list[Any] = [
    Text("a"),
    Level.LOW,
    b"a",
    bytearray(b"a"),
    array("B", b"a"),
    memoryview(b"a"),
    np.int64(1),
    np.float64(1),
    np.str_("a"),
    np.array(1),
    1j,
    {1},
    frozenset({1}),
    object(),
    print,
    ...,
    NotImplemented,
    StopIteration,
    compile("1", "", "eval"),
    OrderedDict(a=1),
    UserDict(a=1),
    SimpleNamespace(),
    {1: 2},
    {Text("a"): 1},
    {None: 1},
    {("a",): 1},
    CIRCULAR,
]
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=5)
PLAIN = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=12,
)
ANY = st.recursive(
    SCALARS | st.sampled_from(NOT_PLAIN),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=3) | st.integers(), inner, max_size=3)
    ),
    max_leaves=12,
)
LOOK_ALIKES: list[tuple[Any, Any]] = [
    (1, True),
    (1, 1.0),
    (0, False),
    (0.0, -0.0),
    ("1", 1),
    ([], {}),
    ([], ()),
    (None, False),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ({"a": 1}, {"a": 1, "b": 2}),
    ([1], [1, 2]),
    (2**70, 2**70 + 1),
    ("\ud800", "\udc00"),
    ("é", "e\u0301"),
    (Text("a"), "b"),
    (array("B", b"a"), b"a"),
    (np.int64(5), 5),
    (np.float64(5e-324), np.int64(1)),
]


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def types_in(value: Any) -> Any:
    if isinstance(value, dict):
        return dict, [(type(key), key, types_in(item)) for key, item in value.items()]
    return (list, [types_in(item) for item in value]) if isinstance(value, list) else (type(value), repr(value))


def with_lists(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: with_lists(item) for key, item in value.items()}
    return [with_lists(item) for item in value] if isinstance(value, list | tuple) else value


@pytest.mark.parametrize("copy_json", COPIERS)
@given(value=PLAIN)
def test_a_copy_is_the_same_and_shares_no_container(copy_json: Any, value: Any) -> None:
    copied = copy_json(value, 20, False)
    assert types_in(copied) == types_in(value)
    before = types_in(value)
    stack = [copied]
    while stack:
        container = stack.pop()
        if isinstance(container, dict | list):
            stack.extend(container.values() if isinstance(container, dict) else container)
            container.clear()
    assert types_in(value) == before


@needs_c
@given(value=ANY, depth=st.integers(-1, 8))
def test_a_copy_in_c_equals_that_in_python(value: Any, depth: int) -> None:
    expected = copy_json_in_python(value, depth, False)
    copied = plain_json.copy_json(value, depth, False)
    assert types_in(plain_json.copy_json(value, depth, True)) == types_in(copied)
    assert (copied is NotImplemented) == (expected is NotImplemented)
    assert types_in(copied) == types_in(expected)
    if copied is not NotImplemented:
        assert types_in(copied) == types_in(with_lists(value))


@needs_c
def test_the_garbage_collector_does_not_visit_an_untracked_copy() -> None:
    value: Any = [{"a": [{"b": ["c"]}]}]
    for untracked in (False, True):
        copied = plain_json.copy_json(value, 20, untracked)
        inner = [copied, copied[0], copied[0]["a"], copied[0]["a"][0]]
        assert [gc.is_tracked(container) for container in inner] == [not untracked] * 4
    assert gc.is_tracked(value)
    assert plain_json.untrack(value) is value
    assert not gc.is_tracked(value)
    # A value that is never visited, and one that is not visited any more.
    assert plain_json.untrack("a") == "a"
    assert plain_json.untrack(value) == [{"a": [{"b": ["c"]}]}]


@pytest.mark.parametrize("copy_json", COPIERS)
@pytest.mark.parametrize("value", NOT_PLAIN, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize(
    "around", [lambda value: value, lambda value: [1, (value,)], lambda value: {"a": {"b": value}}]
)
def test_other_types_are_not_copied_at_any_depth(copy_json: Any, value: Any, around: Any) -> None:
    assert copy_json(around(value), 100, False) is NotImplemented


@pytest.mark.parametrize("copy_json", COPIERS)
def test_containers_are_copied_up_to_a_depth(copy_json: Any) -> None:
    assert copy_json(nested(3), 3, False) == nested(3)
    assert copy_json(nested(4), 3, False) is NotImplemented
    assert copy_json(1, 0, False) == 1
    assert copy_json([], 0, False) is NotImplemented


@needs_c
def test_a_depth_that_the_stack_has_no_room_for_is_limited() -> None:
    assert plain_json.copy_json(nested(100_000), 2**31 - 1, False) is NotImplemented
    deep = nested(100_000)
    assert plain_json.same_json(deep, deep) is False
    assert plain_json.same_json(CIRCULAR, CIRCULAR) is False


@pytest.mark.parametrize("same_json", COMPARERS)
@given(value=PLAIN)
def test_equal_copies_are_the_same(same_json: Any, value: Any) -> None:
    assert same_json(copy.deepcopy(value), value)


@needs_c
@given(value=ANY, plain=PLAIN)
def test_values_are_compared_in_c_as_in_python(value: Any, plain: Any) -> None:
    assert plain_json.same_json(value, plain) == same_json_in_python(value, plain)
    copied = copy_json_in_python(value, 20, False)
    if copied is not NotImplemented:
        assert plain_json.same_json(value, copied) == same_json_in_python(value, copied)


@pytest.mark.parametrize("same_json", COMPARERS)
@pytest.mark.parametrize(("value", "other"), LOOK_ALIKES, ids=repr)
def test_values_that_look_alike_are_not_the_same(same_json: Any, value: Any, other: Any) -> None:
    for first, second in ((value, other), (other, value)):
        if copy_json_in_python(second, 20, False) is not NotImplemented:
            assert not same_json(first, second)
            assert not same_json([{"x": first}], [{"x": second}])


@pytest.mark.parametrize("same_json", COMPARERS)
def test_a_number_that_is_not_a_number_is_the_same_as_itself(same_json: Any) -> None:
    assert same_json([math.nan], [math.nan])


@needs_c
@pytest.mark.parametrize("arguments", [(), (1,), (1, 2), (1, "2", True), (1, 2, True, 3), (1, 2**40, True)])
def test_wrong_arguments_are_errors(arguments: Any) -> None:
    with pytest.raises((TypeError, OverflowError)):
        plain_json.copy_json(*arguments)


@needs_c
@given(ANY)
def test_json_data_is_recognised_alike_in_c_and_in_python(value: Any) -> None:
    assert plain_json.is_plain(value) == is_plain_in_python(value)


@pytest.mark.parametrize("is_plain", RECOGNISERS)
def test_data_that_is_too_deep_is_not_recognised(is_plain: Any) -> None:
    deep: list[Any] = []
    for _ in range(plain_json._DEEPEST - 1):
        deep = [deep]
    assert is_plain(deep)
    assert not is_plain([deep])
    assert not is_plain(CIRCULAR)
