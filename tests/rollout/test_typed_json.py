"""Tests of `renderers.rollout.typed_json`."""

from __future__ import annotations

import dataclasses
import enum
import json
from typing import Any, Literal, NamedTuple

import pytest

from renderers.rollout.typed_json import read_typed


class Color(enum.StrEnum):
    RED = "red"


class Place(NamedTuple):
    color: Color
    row: int = 0


@dataclasses.dataclass(frozen=True)
class Inner:
    places: tuple[Place, ...] = ()
    pair: tuple[int, int] | None = None


@dataclasses.dataclass(frozen=True)
class Outer:
    ids: list[int]
    inner: Inner = dataclasses.field(default_factory=Inner)
    color: Color | None = None
    inners: list[Inner] = dataclasses.field(default_factory=list)
    value: dict[str, Any] | str | None = None
    anything: Any = None


FULL = Outer(
    [1, 2],
    Inner((Place(Color.RED, 3), Place(Color.RED)), (4, 5)),
    Color.RED,
    [Inner(), Inner((Place(Color.RED),))],
    {"x": [1]},
    [None, {"y": 2.5}],
)


@pytest.mark.parametrize("value", [FULL, Outer([])])
def test_an_object_is_read_as_it_was(value: Outer) -> None:
    read = read_typed(Outer, json.loads(json.dumps(dataclasses.asdict(value))))
    assert read == value
    assert repr(read) == repr(value)


def test_missing_fields_have_their_defaults() -> None:
    assert read_typed(Outer, {"ids": [1]}) == Outer([1])
    assert read_typed(Place, ["red"]) == Place(Color.RED)


@pytest.mark.parametrize(
    "data",
    [
        None,
        3,
        [],
        {},
        {"ids": None},
        {"ids": 3},
        {"ids": [], "unknown": 1},
        {"ids": [], "color": "blue"},
        {"ids": [], "inner": {"pair": [1]}},
        {"ids": [], "inner": {"places": [["blue"]]}},
        {"ids": [], "inners": [3]},
    ],
)
def test_data_that_does_not_fit_is_an_error(data: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        read_typed(Outer, data)


def test_errors_name_the_field() -> None:
    with pytest.raises(TypeError, match=r"^inner: places: an int does not fit Place"):
        read_typed(Outer, {"ids": [], "inner": {"places": [3]}})
    with pytest.raises(TypeError, match=r"^ids is missing"):
        read_typed(Outer, {})
    with pytest.raises(TypeError, match=r"^other is not a known field"):
        read_typed(Outer, {"ids": [], "other": 1})


def test_numbers_and_literals_are_checked() -> None:
    @dataclasses.dataclass
    class Values:
        ratio: float = 0.0
        flag: bool = False
        side: Literal["left", "right"] = "left"

    assert read_typed(Values, {"ratio": 1, "flag": True, "side": "right"}) == Values(1, True, "right")
    for wrong in ({"ratio": "1"}, {"ratio": True}, {"flag": 1}, {"side": "up"}):
        with pytest.raises(TypeError):
            read_typed(Values, wrong)
