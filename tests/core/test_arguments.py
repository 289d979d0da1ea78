"""Tests of `renderers.core.arguments`."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from renderers.core.arguments import check_int, check_mapping, check_renderer


class Custom:
    """A renderer with two methods."""

    def render(self) -> None: ...
    def render_ids(self) -> None: ...


def test_an_object_with_the_methods_is_a_renderer() -> None:
    check_renderer(Custom())
    with pytest.raises(TypeError, match="renderer must be the result of create_renderer, not a Custom"):
        check_renderer(Custom(), ["get_stop_token_ids"])
    with pytest.raises(TypeError, match="not the class Custom"):
        check_renderer(Custom)


def test_any_mapping_becomes_a_new_dict() -> None:
    given = {"a": 1}
    for mapping in (given, MappingProxyType(given)):
        assert check_mapping("extras", mapping) == given
        assert check_mapping("extras", mapping) is not mapping
    assert check_mapping("extras", None) == {}


@pytest.mark.parametrize("value", [5, "x", ["x"], [("a", 1)], b"", ()])
def test_other_values_are_no_mapping(value: Any) -> None:
    with pytest.raises(TypeError, match="extras must be a dict, not "):
        check_mapping("extras", value)


def test_an_int_of_another_class_becomes_an_int() -> None:
    number = check_int("retries", np.int64(3), least=0)
    assert (number, type(number)) == (3, int)
    assert check_int("limit", -3) == -3


@pytest.mark.parametrize("value", ["5", 5.0, None, True, [5], -1])
def test_other_values_are_no_int_from_0_on(value: Any) -> None:
    with pytest.raises(ValueError, match="retries must be an int from 0 on, not "):
        check_int("retries", value, least=0)
