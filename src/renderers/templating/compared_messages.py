"""Whether a chat template compares messages, or texts of messages, with each other, from its syntax tree."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator

from jinja2 import nodes

from renderers.templating.message_values import APPENDING, MessageValues, fields_of, names_of
from renderers.templating.syntax import syntax_tree
from renderers.templating.tree import find_all

_IDS = frozenset({"id", "tool_call_id", "name"})
"""Fields that link results with calls. Those of different turns are taken to differ."""
_NOT_COMPARING = frozenset({*APPENDING, "get", "join", "format", "replace"})
"""Methods that only write or store their arguments, or look up a key."""
_SELECTING = frozenset({"selectattr", "rejectattr", "select", "reject"})
_DISTINGUISHING = frozenset({"unique", "groupby"})
"""Filters that compare the items of a list with each other."""
_COMPARING = (nodes.Compare, nodes.Test, nodes.Filter, nodes.Call, nodes.Getitem)
"""The nodes that may compare values."""


@functools.lru_cache(maxsize=256)
def compares_messages(source: str) -> bool:
    """Return True if a template may compare messages, or texts of them other than ids and names, with each other.

    >>> compares_messages("{% for m in messages %}{{ 'again' if m == messages[0] }}{% endfor %}")
    True
    >>> compares_messages("{% for m in messages %}{{ 'first' if m.content == 'Hi' }}{% endfor %}")
    False
    """
    tree = syntax_tree(source)
    return any(_Comparisons(tree).found())


class _Comparisons(MessageValues):
    """The comparisons of a template."""

    def __init__(self, tree: nodes.Template) -> None:
        super().__init__(tree)
        self._tree = tree

    def found(self) -> Iterator[bool]:
        """Yield for each place that may compare two values whether both come from messages."""
        for node in find_all(self._tree, _COMPARING):
            match node:
                case nodes.Compare():
                    left: nodes.Node = node.expr
                    for operand in node.ops:
                        yield self._both([left], [operand.expr])
                        left = operand.expr
                case nodes.Test():
                    yield self._both([node.node], node.args)
                case nodes.Filter() if node.node is not None and node.name in _SELECTING:
                    yield self._both([node.node], node.args)
                case nodes.Filter() if node.node is not None and node.name in _DISTINGUISHING:
                    yield self._both([node.node], [node.node])
                case nodes.Call(node=nodes.Getattr(attr="changed") as method):
                    yield self._both(node.args, node.args) and isinstance(method.node, nodes.Name)
                case nodes.Call(node=nodes.Getattr() as method) if method.attr not in _NOT_COMPARING:
                    yield self._both([method.node], node.args)
                case nodes.Getitem() if not isinstance(node.arg, nodes.Slice):
                    yield self._both([node.node], [node.arg])

    def _both(self, left: Iterable[nodes.Node], right: Iterable[nodes.Node]) -> bool:
        values = [fields_of(frozenset().union(*map(self.value, side))) for side in (left, right)]
        return all(values) and not names_of(values[0] | values[1]) <= _IDS
