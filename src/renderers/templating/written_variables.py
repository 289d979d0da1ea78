"""The variables of a chat template that are free text: it writes them, and depends on nothing else of their text.

The analysis follows a variable through expressions, assignments and macros. It does not depend on the order of
statements: every use of a name counts as a use of the variable.
"""

from __future__ import annotations

import functools

from jinja2 import nodes

from renderers.templating.syntax import syntax_tree
from renderers.templating.tree import children, find_all

_TYPE_TESTS = frozenset("defined undefined none string boolean number mapping sequence iterable".split())
_DEFAULTS = frozenset({"default", "d"})
_CAPTURING = (nodes.AssignBlock, nodes.FilterBlock, nodes.CallBlock, nodes.For)
"""Statements that use a written text, or write it once per item."""


@functools.lru_cache(maxsize=256)
def written_variables(source: str) -> frozenset[str]:
    """Return the variables that a template may write outside of loops, and uses for nothing else.

    It may also test whether they are defined, what type they have, and whether they are empty. The function
    `strftime_now` counts if its results are used like that, and its arguments are constant.

    >>> sorted(written_variables("{{ 'Date: ' + date if date }}{{ 'a' if mode == 'b' }}{{ name | upper }}"))
    ['date']
    """
    uses = _Uses(syntax_tree(source))
    return frozenset(filter(uses.only_writes, uses.names))


class _Uses:
    """The places of a template that read a variable, and the nodes around each node."""

    def __init__(self, tree: nodes.Template) -> None:
        around = (tree, *find_all(tree, nodes.Node))
        self._parents = {child: node for node in around for child in children(node)}
        self._reads: dict[str, list[nodes.Name]] = {}
        for name in find_all(tree, nodes.Name):
            if name.ctx == "load":
                self._reads.setdefault(name.name, []).append(name)
        self._in_progress: set[str] = set()
        self._macros: set[str] = set()

    @property
    def names(self) -> list[str]:
        return list(self._reads)

    def only_writes(self, name: str) -> bool:
        """Return True if every use of a variable is harmless. One that depends on itself is not checked twice."""
        if name in self._in_progress:
            return True
        self._in_progress.add(name)
        try:
            return all(map(self._is_harmless, self._reads.get(name, ())))
        finally:
            self._in_progress.remove(name)

    def _is_harmless(self, value: nodes.Node) -> bool:
        """Return True if a value that is a text is only written, or tested for its type or for being empty."""
        parent = self._parents[value]
        match parent:
            case nodes.Output():
                return self._is_written_once(parent)
            case nodes.Add() | nodes.Concat() | nodes.And() | nodes.Or():
                return self._is_harmless(parent)
            case nodes.CondExpr():
                return parent.test is value or self._is_harmless(parent)
            case nodes.If() | nodes.Not():
                return True
            case nodes.Test():
                return parent.node is value and parent.name in _TYPE_TESTS
            case nodes.Call(node=nodes.Name(name="strftime_now")):
                return parent.node is value and _has_constant_arguments(parent) and self._is_harmless(parent)
            case nodes.Filter():
                return parent.name in _DEFAULTS and self._is_harmless(parent)
            case nodes.Assign(target=nodes.Name(name=name)):
                return self.only_writes(name)
        return False

    def _is_written_once(self, output: nodes.Node) -> bool:
        """Return True if a statement writes to the output of the template, outside of loops."""
        parent = self._parents.get(output)
        while parent is not None:
            if isinstance(parent, _CAPTURING):
                return False
            if isinstance(parent, nodes.Macro):
                return self._writes_macro(parent.name)
            parent = self._parents.get(parent)
        return True

    def _writes_macro(self, name: str) -> bool:
        """Return True if the output of a macro is written by each of its calls, which are not within itself."""
        if name in self._macros:
            return False
        self._macros.add(name)
        try:
            calls = [self._parents[read] for read in self._reads.get(name, ())]
            return all(isinstance(call, nodes.Call) and self._is_written(call) for call in calls)
        finally:
            self._macros.remove(name)

    def _is_written(self, value: nodes.Node) -> bool:
        parent = self._parents[value]
        return isinstance(parent, nodes.Output) and self._is_written_once(parent)


def _has_constant_arguments(call: nodes.Call) -> bool:
    is_plain = not call.kwargs and call.dyn_args is None and call.dyn_kwargs is None
    return is_plain and all(isinstance(argument, nodes.Const) for argument in call.args)
