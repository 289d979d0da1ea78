"""The texts that a template looks for in what it is given: only by these can words change what it does."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import NamedTuple

from jinja2 import nodes

from renderers.templating.sandbox import ChatEnvironment

__all__ = ["Searches", "searches_of"]

_COMPARED = frozenset({"in", "notin", "eq", "ne"})
_WITHIN = frozenset({"in", "notin"})


class Searches(NamedTuple):
    """The texts that a template looks for."""

    within: frozenset[str]
    """Those that count wherever they stand in a text."""
    whole: frozenset[str]
    """Names, such as those of roles and fields: those that count where they are all that there is."""

    def matter(self, text: str) -> bool:
        """Says whether the template may do something else because of a text."""
        return text.strip() in self.whole or any(one in text for one in self.within)


@functools.lru_cache(maxsize=256)
def searches_of(source: str) -> Searches:
    """Returns the texts that a template compares with others, or passes to a method, a filter or a test.

    >>> found = searches_of("{{ '<a>' in messages[0].content or messages[0].role == 'user' }}")
    >>> found.within, found.whole
    (frozenset({'<a>'}), frozenset({'user'}))
    """
    tree = ChatEnvironment().parse(source)
    found = {
        (text, within)
        for node in tree.find_all((nodes.Compare, nodes.Call, nodes.Filter, nodes.Test))
        for text, within in _of(node)
        if text.strip()
    }
    fields = frozenset(_fields(tree))
    inside = {text for text, within in found if not text.isidentifier() or (within and text not in fields)}
    return Searches(frozenset(inside), frozenset(text for text, _ in found) - inside)


def _fields(tree: nodes.Template) -> Iterator[str]:
    """Yields the names of fields that a template reads."""
    yield from (node.attr for node in tree.find_all(nodes.Getattr))
    for item in tree.find_all(nodes.Getitem):
        yield from _texts(item.arg)
    for call in tree.find_all(nodes.Call):
        if _reads_field(call) and call.args:
            yield from _texts(call.args[0])


def _reads_field(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Call) and isinstance(node.node, nodes.Getattr) and node.node.attr == "get"


def _of(node: nodes.Node) -> Iterator[tuple[str, bool]]:
    """Yields the texts that a part of a template looks for, and whether they count within others."""
    if isinstance(node, nodes.Compare):
        operands = [one for one in node.ops if one.op in _COMPARED]
        # In a list, a text is one of some; in anything else it may be a part.
        within = any(one.op in _WITHIN and not isinstance(one.expr, nodes.List | nodes.Tuple) for one in operands)
        parts: list[nodes.Node] = [node.expr, *(one.expr for one in operands)] if operands else []
    else:
        parts = [*(getattr(node, "args", None) or ()), *(getattr(node, "kwargs", None) or ())]
        within = not _reads_field(node) and not isinstance(node, nodes.Test)
    for part in parts:
        for text in _texts(part):
            yield text, within


def _texts(node: nodes.Node) -> Iterator[str]:
    for constant in [node] if isinstance(node, nodes.Const) else node.find_all(nodes.Const):
        if isinstance(constant.value, str):
            yield constant.value
