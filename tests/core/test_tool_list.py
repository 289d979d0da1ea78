"""Calls with the same tools share one normalised list."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from pydantic import BaseModel

from renderers.core import tool_list
from renderers.core.bounded_table import BoundedTable
from renderers.core.messages import normalise_tools
from renderers.core.tool_list import ToolList


def tool(name: str = "search", **fields: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object"}, **fields}}


@pytest.fixture(autouse=True)
def nothing_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool_list, "_SHARED", BoundedTable(keep=4))


def test_the_same_tools_are_one_list_whatever_the_objects() -> None:
    class Tool(BaseModel):
        name: str

    first = normalise_tools([tool()])
    assert normalise_tools(copy.deepcopy([tool()])) is first
    assert normalise_tools((tool(),)) is first
    assert normalise_tools([Tool(name="f")]) is normalise_tools([{"name": "f"}])


def test_nothing_is_shared_with_the_caller() -> None:
    tools = [tool(description="old")]
    first = normalise_tools(tools)
    tools[0]["function"]["description"] = "new"
    assert first == [tool(description="old")]
    assert normalise_tools(tools) == [tool(description="new")]
    assert normalise_tools([tool(description="old")]) is first


@pytest.mark.parametrize("values", [(1, True, 1.0), (0.0, -0.0), ("1", 1), (None, False)])
def test_values_that_look_alike_are_other_tools(values: tuple[Any, ...]) -> None:
    for _ in range(2):
        for value in values:
            (normalised,) = normalise_tools([tool(strict=value)]) or [{}]
            assert repr(normalised["function"]["strict"]) == repr(value)


def test_the_order_of_keys_counts() -> None:
    first, second = {"name": "f", "x": 1}, {"x": 1, "name": "f"}
    for _ in range(2):
        assert [list(*map(dict.keys, normalise_tools([value]) or [])) for value in (first, second)] == [
            ["name", "x"],
            ["x", "name"],
        ]


def test_the_number_of_shared_lists_is_bounded() -> None:
    for number in range(50):
        normalise_tools([tool(f"f{number}")])
        normalise_tools([tool(strict=number)])
    assert len(tool_list._SHARED) <= 8
    assert all(len(variants) <= 2 for variants in tool_list._SHARED._recent.values())
    many = [tool()] * 300
    assert normalise_tools(many) == many
    assert normalise_tools(many) is not normalise_tools(many)


@pytest.mark.parametrize("tools", [[], [{"name": "f", "type": "web_search"}], [{"type": "web_search"}]])
def test_empty_lists_and_tools_without_a_function_are_shared_too(tools: list[Any]) -> None:
    assert normalise_tools(tools) == tools
    assert normalise_tools(tools) is normalise_tools(copy.deepcopy(tools))


def test_a_derived_value_is_computed_once() -> None:
    tools, runs = ToolList([tool()]), []
    assert tools.derive("x", lambda: runs.append(1)) is tools.derive("x", lambda: runs.append(1)) is None
    assert runs == [1]
