"""Texts of fields are the same in C and in Python."""

from __future__ import annotations

import gc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderers.core.native import COMPILED
from renderers.templating import texts
from renderers.templating.values import FieldText

needs_c = pytest.mark.skipif(not COMPILED, reason="the part in C was not built")


class OtherText(str):
    pass


@needs_c
@given(st.text(max_size=9), st.integers(-1, 3))
def test_a_text_of_a_field_is_the_same_in_c_and_in_python(text: str, message: int) -> None:
    owner = (message, ("content",))
    for given_text in (text, OtherText(text), texts.field_text(text, (0, ()))):
        made = texts.field_text(given_text, owner)
        same = texts._field_text(given_text, owner)
        assert (type(made), str(made), made._owner) == (type(same), str(same), same._owner)
        assert not gc.is_tracked(made)


@needs_c
def test_other_values_are_no_text_of_a_field() -> None:
    from renderers.core._native import field_text

    wrong: list[Any] = [(), (int, "_owner", "a", None), (FieldText, 1, "a", None), (FieldText, "_owner", 1, None)]
    for arguments in wrong:
        with pytest.raises(TypeError):
            field_text(*arguments)
    with pytest.raises(AttributeError):
        field_text(FieldText, "other", "a", (0, ()))
