"""JSON of a model is parsed like Python's json does, or gives a `JsonError`, for any text."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from renderers.core.messages import MAX_JSON_DEPTH
from renderers.core.native import native
from renderers.parsing.lenient_json import JsonError, is_simple_in_python, read_json, read_json_prefix

LENGTH = 1_000_000
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)
DUMPED = st.builds(
    lambda value, indent, ascii_only: json.dumps(value, indent=indent, ensure_ascii=ascii_only),
    VALUES,
    st.sampled_from([None, 0, "\t"]),
    st.booleans(),
)
SOUP = st.text(alphabet='{}[]",:\\/ \t\n\x00019.-+eEntrufalsNIiy\ud83d\ude00é\u2028', max_size=12)
PIECES = st.lists(st.sampled_from([*'{}[]":,', '"a"', "1", "\\", '\\"', "\\ud83d", "\\ude00", " "]), max_size=14)
CUT = st.tuples(DUMPED, st.integers(0, 30), SOUP).map(lambda case: case[0][: case[1]] + case[2] + case[0][case[1] :])
TEXTS = DUMPED | SOUP | PIECES.map("".join) | CUT | st.text()


def has_surrogate(value: Any) -> bool:
    """Return True if a value contains a string without a UTF-8 form."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


def by_python(text: str, at: int) -> tuple[Any, int] | None:
    """Parse a value as Python does. None if there is none that may be parsed."""
    start = at + len(text[at:]) - len(text[at:].lstrip(" \t\n\r"))
    try:
        value, end = json.JSONDecoder(strict=False).raw_decode(text, start)
    except ValueError:
        return None
    return None if has_surrogate(value) or has_surrogate(text[start:end]) else (value, end)


def ours(text: str, at: int) -> tuple[Any, int] | None:
    try:
        return read_json_prefix(text, at)
    except JsonError:
        return None


@settings(max_examples=500, deadline=None)
@given(TEXTS, st.integers(0, 5))
@example('{"a": 1, "a": [NaN, -Infinity]}', 0)
@example('"\\ud83d\\ude00"', 0)
@example('"\\ud83d\\\\ude00"', 0)
@example("-", 0)
@example("01", 0)
@example("1.e5", 0)
@example("[1}", 0)
@example("", 3)
def test_a_value_is_what_python_reads_and_ends_where_it_does(text: str, at: int) -> None:
    expected = by_python(text, at)
    # By their texts: NaN is not equal to itself, and 1 is equal to True.
    assert repr(ours(text, at)) == repr(expected)


@settings(max_examples=500, deadline=None)
@given(TEXTS)
@example("\ufeff1")
@example("1 2")
@example(" 1 \n")
@example("\u00a01")
def test_a_whole_text_is_one_value_or_an_error_with_a_reason(text: str) -> None:
    try:
        expected = json.loads(text, strict=False)
        is_value = not has_surrogate(expected) and not has_surrogate(text)
    except ValueError:
        is_value = False
    if is_value:
        assert repr(read_json(text)) == repr(expected)
    else:
        with pytest.raises(JsonError) as caught:
            read_json(text)
        assert str(caught.value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "has no value at character 0"),
        ("  hello", "has no value at character 2"),
        (" nil", "is not JSON at character 1: Expecting value"),
        (" 1 2", "goes on after the value, at character 2"),
        ("[" * 101 + "]" * 101 + "1", "is nested more than 100 levels deep"),
        ("[1, 2", "is not JSON at character 5: Expecting ',' delimiter"),
        ("[]" * 101, "goes on after the value, at character 2"),
        ("[1," + "[]," * 101 + '"a', "is broken or cut off after character 305"),
        (" [1 2]", "is not JSON at character 4: Expecting ',' delimiter"),
        ('"\\ud800"', "has a string with a lone surrogate, which has no UTF-8 form"),
        ('{"\\udc00": 1}', "has a string with a lone surrogate, which has no UTF-8 form"),
        ('[[{"a": "\\uD83Dx"}]]', "has a string with a lone surrogate, which has no UTF-8 form"),
        ('"\ud800"', "has a string with a lone surrogate, which has no UTF-8 form"),
        ('"\ud83d\ude00"', "has a string with a lone surrogate, which has no UTF-8 form"),
        ("[" + "1" * 5000 + "]", "has an integer with too many digits"),
    ],
)
def test_an_error_has_the_reason(text: str, reason: str) -> None:
    with pytest.raises(JsonError) as caught:
        read_json(text)
    assert str(caught.value) == reason


def test_raw_control_characters_in_strings_are_read() -> None:
    assert read_json('{"code": "a\n\tb\x00"}') == {"code": "a\n\tb\x00"}


def test_integers_are_read_as_far_as_python_converts_them() -> None:
    most = sys.get_int_max_str_digits()
    assert read_json("9" * most) == int("9" * most)
    with pytest.raises(JsonError, match="too many digits"):
        read_json("-" + "9" * (most + 1))


@pytest.mark.parametrize(("start", "end"), [("[", "]"), ('{"[":', "}"), (' [ "]" , ', " ] ")])
def test_the_largest_depth_is_the_one_for_messages(start: str, end: str) -> None:
    assert read_json(start * MAX_JSON_DEPTH + "1" + end * MAX_JSON_DEPTH) is not None
    for depth in (MAX_JSON_DEPTH + 1, 100_000):
        with pytest.raises(JsonError, match="nested more than 100 levels deep"):
            read_json(start * depth + "1" + end * depth)


def test_brackets_in_strings_and_side_by_side_are_not_deep() -> None:
    assert read_json(json.dumps(["[{" * 1000])) == ["[{" * 1000]
    assert len(read_json("[" + "[],{}," * 1000 + "[]]")) == 2001


@pytest.mark.parametrize(
    "unit", ["[", "]", "{", '{"a":', "[],", '"",', "\\", '\\"', '"', "'", " ", "1", "-1", "a", "\\u", "\\ud83d", "{x "]
)
@pytest.mark.parametrize("start", ["", "[", '"', '["', '{"a": "'])
def test_a_million_characters_are_read_or_refused_at_once(start: str, unit: str) -> None:
    text = start + unit * (LENGTH // len(unit))
    for closed in (text, text + '1"]'):
        assert ours(closed, 0) is None or isinstance(read_json_prefix(closed, 0), tuple)


@pytest.mark.parametrize("unit", ["null", "[]", '{"a": [1]}\n', '"\\""', "0", "-1 "])
def test_values_in_a_row_are_read_one_by_one(unit: str) -> None:
    text = unit * (LENGTH // 4 // len(unit))
    at = 0
    for _ in range(LENGTH // 4 // len(unit)):
        value, at = read_json_prefix(text, at)
        assert value == json.loads(unit)
    assert text[at:].strip() == ""


def test_text_after_a_value_is_not_examined() -> None:
    class Counted(str):
        """A text that counts the characters of its slices."""

        taken = 0

        def __getitem__(self, key: Any) -> str:
            piece = super().__getitem__(key)
            self.taken += len(piece)
            return piece

    text = Counted('{"a": "}"} ' + "[" * LENGTH + '"')
    assert read_json_prefix(text, 0) == ({"a": "}"}, 10)
    assert text.taken < 20


@given(text=TEXTS | st.text(alphabet="[{\\u", max_size=600), brackets=st.integers(-1, 600))
@example(text="{" * 300, brackets=299)
@example(text="a" * 239 + "\\u0041", brackets=0)
@example(text="\\", brackets=0)
@example(text="\ud800", brackets=0)
def test_texts_that_need_no_checks_are_the_same_in_c(text: str, brackets: int) -> None:
    is_simple = is_simple_in_python if native is None else native.is_simple_json
    assert is_simple(text, brackets) is is_simple_in_python(text, brackets)


@pytest.mark.skipif(native is None, reason="the part in C was not built")
@pytest.mark.parametrize("arguments", [(), ("",), (b"", 1), ("", "1"), ("", 1, 2), ("", 2**80)])
def test_arguments_of_another_kind_are_errors(arguments: tuple[Any, ...]) -> None:
    with pytest.raises((TypeError, OverflowError)):
        native.is_simple_json(*arguments)
