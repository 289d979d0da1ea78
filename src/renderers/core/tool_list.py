"""`ToolList`: normalised tools, shared by all calls with the same tools."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from renderers.core.bounded_table import BoundedTable
from renderers.core.jsontypes import JsonObject
from renderers.core.plain_json import same_json

_MOST_TOOLS = 256
"""Longer lists are not shared."""
_VARIANTS = 2
"""How many lists with the same names of tools are shared."""

T = TypeVar("T")


class ToolList(list[JsonObject]):
    """Tools as plain JSON data. Nothing may change it, because calls with the same tools share one list.

    >>> tools = ToolList([{"name": "search"}])
    >>> tools.derive("names", lambda: [tool["name"] for tool in tools])
    ['search']
    """

    __slots__ = ("_derived",)

    def __init__(self, tools: list[JsonObject]) -> None:
        super().__init__(tools)
        self._derived: dict[str, Any] = {}

    def derive(self, name: str, compute: Callable[[], T]) -> T:
        """Return a value that depends on the tools alone, computed once."""
        if name not in self._derived:
            self._derived.setdefault(name, compute())
        value: T = self._derived[name]
        return value


_SHARED: BoundedTable[list[tuple[list[JsonObject], ToolList]]] = BoundedTable(keep=64)
"""The shared lists by the names of the tools, each with its items as a plain list."""


_last: tuple[list[JsonObject], ToolList] | None = None
"""The shared list that was found last. Most calls have its tools, so it is compared before names are read."""


def find_shared(tools: list[Any]) -> ToolList | None:
    """Return the shared list with the same content as a caller's tools; None if there is none."""
    global _last
    last = _last
    if last is not None and same_json(tools, last[0]):
        return last[1]
    names = _names_of(tools)
    if names is not None:
        for entry in _SHARED.get(names, list):
            if same_json(tools, entry[0]):
                _last = entry
                return entry[1]
    return None


def share(tools: list[JsonObject]) -> ToolList:
    """Return the shared list with the same content as normalised tools. Without one, share these."""
    known = find_shared(tools)
    if known is not None:
        return known
    shared, names = ToolList(tools), _names_of(tools)
    if names is not None:
        variants = _SHARED.get(names, list)
        variants[:] = [(tools, shared), *variants[: _VARIANTS - 1]]
    return shared


def _names_of(tools: list[Any]) -> tuple[str | None, ...] | None:
    """Return the names of tools. None if the list is too long, or a tool is not a dict."""
    if len(tools) > _MOST_TOOLS:
        return None
    names = []
    for tool in tools:
        if type(tool) is not dict:
            return None
        function = tool.get("function")
        name = (function if type(function) is dict else tool).get("name")
        names.append(name if type(name) is str else None)
    return tuple(names)
