"""Calls in the syntax of Python are parsed as models write them, in linear time."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from renderers.parsing.python_calls import PythonCall, PythonError, read_call

LITERALS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.sampled_from(["a", "b_1", "größe"]), LITERALS), st.booleans())
def test_python_literals_are_parsed_back(arguments: dict[str, Any], spaced: bool) -> None:
    separator = " , \n" if spaced else ","
    text = f"f({separator.join(f'{key}={value!r}' for key, value in arguments.items())})"
    assert repr(read_call(text)) == repr(PythonCall("f", arguments, len(text)))


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("f()", {}),
        (" a.b-c ( x = 1 , )", {"x": 1}),
        ("f(x=true, y=null, z=None)", {"x": True, "y": None, "z": None}),
        ("f(x=(1, 2), y={'u', 'v'}, z={}, w=[])", {"x": [1, 2], "y": ["u", "v"], "z": {}, "w": []}),
        ("f(x=007, y=-.5, z=1_000, w=+2)", {"x": 7, "y": -0.5, "z": 1000, "w": 2}),
        (r"f(x='it\'s', y=\"\x41\u00e9\")".replace('\\"', '"'), {"x": "it's", "y": "Aé"}),
        ("f(x='two\nlines')", {"x": "two\nlines"}),
    ],
)
def test_a_call_is_parsed(text: str, arguments: dict[str, Any]) -> None:
    assert read_call(text)[1:] == (arguments, len(text), ())


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("f(x='it's', y=2)", {"x": "it's", "y": 2}),
        ("f(x='a', 'b'), g()", {"x": "a', 'b"}),
        ("f(x=['don't', 'x'])", {"x": ["don't", "x"]}),
        ("f(x=New York, y=3 days)", {"x": "New York", "y": "3 days"}),
    ],
)
def test_the_lenient_mode_accepts_quotes_within_strings_and_values_without_quotes(
    text: str, arguments: dict[str, Any]
) -> None:
    with pytest.raises(PythonError):
        read_call(text)
    assert read_call(text, lenient=True)[1] == arguments


@pytest.mark.parametrize(
    "text",
    [
        *("", "f", "f(", "f(x", "f(x=", "f(1)", "f(x=1", "f(x='a", "f(x={1: 2, 3})", "f(x=[1)"),
        *(f"f(x={'9' * 5000})", f"f(x={'[' * 200}{']' * 200})"),
    ],
)
def test_a_text_that_is_not_a_call_is_rejected(text: str) -> None:
    for lenient in (False, True):
        with pytest.raises(PythonError):
            read_call(text, lenient=lenient)


@pytest.mark.parametrize("word", ["'", "', ", "x, ", "[", "{", "')", " ", "\\", "a=1,", '"', "(", "1", "a="])
def test_the_work_is_linear(word: str) -> None:
    for before in ("f(x=", "f(x='", "f("):
        for lenient in (False, True):
            few, many = (_calls(before + word * count, lenient=lenient) for count in (100, 1600))
            assert many < 20 * few + 100, (before, lenient)


def _calls(text: str, *, lenient: bool) -> int:
    """Return the number of function calls that parsing takes."""
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        read_call(text, lenient=lenient)
    except PythonError:
        pass
    finally:
        sys.setprofile(None)
    return calls
