"""Data is wrapped when it is read, every value has the owner of its field, and the caller's data stays as it is."""

from __future__ import annotations

import copy
import gc
import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderers.core.native import COMPILED, native
from renderers.core.plain_json import is_plain
from renderers.templating import wrapping
from renderers.templating.values import (
    DataDict,
    DataList,
    FieldFloat,
    FieldInt,
    FieldText,
    LazyDict,
    LazyList,
    MessageList,
)
from renderers.templating.wrapping import open_data, wrap, wrap_message

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4)
DATA = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def check_owners(value: Any, message: int, path: tuple[str | int, ...]) -> None:
    """Check the owner of a value and, after opening it, of its parts."""
    open_data(value)
    assert type(value) not in (LazyDict, LazyList)
    if value is None or isinstance(value, bool):
        return
    assert isinstance(value, FieldText | FieldInt | FieldFloat | DataDict | DataList)
    assert value._owner == (message, path)
    if isinstance(value, DataDict):
        for key, item in value.items():
            check_owners(item, message, (*path, key))
    elif isinstance(value, DataList):
        for index, item in enumerate(value):
            check_owners(item, message, (*path, index))


@given(DATA)
def test_every_part_of_a_value_has_the_owner_of_its_field(data: Any) -> None:
    before = copy.deepcopy(data)
    wrapped = wrap(data, (2, ("x",)))
    assert wrapped == data
    check_owners(wrapped, 2, ("x",))
    assert wrapped == data == before
    assert str(data) == str(before)


def test_containers_in_a_message_are_wrapped_when_they_are_read() -> None:
    message = wrap_message({"role": "user", "calls": [{"arguments": {"a": [1]}}]}, 3)
    assert type(message["role"]) is FieldText
    assert type(message["calls"]) is LazyList
    call = open_data(message["calls"])[0]
    assert type(call) is LazyDict
    assert type(open_data(call)["arguments"]) is LazyDict
    assert call["arguments"]._owner == (3, ("calls", 0, "arguments"))
    assert type(call["arguments"]["a"]) is list


def test_opening_twice_changes_nothing() -> None:
    data = wrap({"a": "x", "b": {"c": 1}}, (0, ()))
    first = dict(open_data(data))
    assert all(open_data(data)[key] is value for key, value in first.items())


def test_values_of_other_types_are_copied_to_plain_ones() -> None:
    class Text(str):
        pass

    wrapped = wrap({Text("k"): (Text("v"), True)}, (0, ("x",)))
    assert wrapped == {"k": ["v", True]}
    assert type(next(iter(wrapped))) is str
    check_owners(wrapped, 0, ("x",))


# ==================
# The twins in C
# ==================

needs_c = pytest.mark.skipif(not COMPILED, reason="the part in C was not built")


class OtherText(str):
    pass


class OtherDict(dict[str, Any]):
    pass


ODD: list[Any] = [OtherText("a"), OtherDict(a=1), (1, 2), {1: 2}, {OtherText("a"): 1}, b"a", {1, 2}, object(), 1j]
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=9,
)


def described(value: Any) -> Any:
    """Return the types, the contents and the owners of a wrapped value and its parts."""
    parts: Any = None
    if isinstance(value, dict):
        parts = [(key, described(part)) for key, part in value.items()]
    elif isinstance(value, list):
        parts = list(map(described, value))
    return type(value), repr(value), getattr(value, "_owner", None), parts


@needs_c
@given(st.lists(ANY_JSON | st.sampled_from(ODD), max_size=4), st.integers(-1, 3))
def test_contents_are_wrapped_alike_in_c_and_in_python(items: list[Any], message: int) -> None:
    for container in (
        items,
        {str(index): item for index, item in enumerate(items)},
        DataList(items),
        LazyDict(a=items),
    ):
        copies = copy.copy(container), copy.copy(container)
        native.wrap_contents(copies[0], message, ("x", 1), wrapping._TYPES)
        wrapping._wrap_contents(copies[1], message, ("x", 1), wrapping._TYPES)
        assert described(copies[0]) == described(copies[1])
        native.wrap_contents(copies[0], 7, (), wrapping._TYPES)
        assert described(copies[0]) == described(copies[1]), "a second call changes nothing"


@needs_c
def test_contents_are_wrapped_in_c_only_with_suitable_arguments() -> None:
    wrap_contents: Any = native.wrap_contents
    for arguments in [
        ((1, 2), 0, (), wrapping._TYPES),
        ([1], "0", (), wrapping._TYPES),
        ([1], 0, [], wrapping._TYPES),
        ([1], 0, (), wrapping._TYPES[:4]),
        (["a"], 0, (), (int, *wrapping._TYPES[1:])),
        (["a"], 0, (), ("str", *wrapping._TYPES[1:])),
        ([1], 0, (), (FieldText, 1, *wrapping._TYPES[2:])),
        (["a"], 0, (), (str, *wrapping._TYPES[1:])),
        ([1],),
    ]:
        with pytest.raises((TypeError, AttributeError)):
            wrap_contents(*arguments)


@needs_c
def test_the_garbage_collector_does_not_visit_messages() -> None:
    message = wrap_message({"role": "user", "content": [{"type": "text", "text": "a"}], "n": 1}, 0)
    content = open_data(message["content"])
    parts = [message, content, open_data(content[0]), *message.values(), *content[0].values()]
    keys = [wrapping.key_text(content[0], key) for key in content[0]]
    assert not any(map(gc.is_tracked, [*parts, *keys]))


@needs_c
@given(st.lists(st.dictionaries(st.text(max_size=4), ANY_JSON, max_size=4) | st.sampled_from(ODD), max_size=5))
def test_messages_of_exact_types_are_wrapped_at_once(messages: list[Any]) -> None:
    wrapped = MessageList()
    wrapping.wrap_plain_messages(messages, wrapped)
    plain = list(itertools.takewhile(lambda message: type(message) is dict and is_plain(message), messages))
    assert list(map(described, wrapped)) == [described(wrap_message(each, at)) for at, each in enumerate(plain)]
    assert not any(map(gc.is_tracked, wrapped))


@needs_c
@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ([{}], (), DataDict, wrapping._TYPES),
        ([{}], [], DataDict, ()),
        ([{}], [], DataDict, (int, *wrapping._TYPES[1:])),
        ([{}], [], list, wrapping._TYPES),
        ([{}], [], "type", wrapping._TYPES),
    ],
)
def test_other_arguments_are_no_messages(arguments: Any) -> None:
    from renderers.core._native import wrap_messages

    with pytest.raises(TypeError):
        wrap_messages(*arguments)
