"""The variables of a chat template that are free text: it writes them, and depends on nothing else of their text.

The analysis follows a variable through expressions, assignments and macros. It does not depend on the order of
statements: every use of a name counts as a use of the variable.
"""

from __future__ import annotations

import functools
from collections.abc import Hashable, Iterable

from jinja2 import nodes

from renderers.templating.syntax import syntax_tree
from renderers.templating.tree import children, find_all
from renderers.templating.turn_variables import TYPE_TESTS, is_emptiness_test, is_length

_FILTERS = frozenset("trim upper lower capitalize title string safe e escape forceescape".split())
_METHODS = frozenset("strip lstrip rstrip upper lower capitalize title".split())
"""Filters and methods that, without arguments, keep the letters of a text, apart from their case."""
_CAPTURING = (nodes.AssignBlock, nodes.Macro, nodes.FilterBlock, nodes.CallBlock)
"""Statements that make a text of the outputs within them."""
_DEFAULTS = frozenset({"default", "d"})


@functools.lru_cache(maxsize=256)
def written_variables(source: str) -> frozenset[str]:
    """Return the variables that a template may write, and uses for nothing else.

    It writes them outside of loops, or in the first iteration of one. It may also change the case of the text, remove
    whitespace at its ends, and test whether the variable is defined, what type it has, and whether it is empty. The
    function `strftime_now` counts if its results are used like that, and its arguments are constant.

    >>> source = "{{ 'Date: ' + date if date }}{{ 'a' if mode == 'b' }}{{ name | upper }}{{ note | length }}"
    >>> sorted(written_variables(source))
    ['date', 'name']
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
        self._macros: dict[str, list[nodes.Macro]] = {}
        for macro in find_all(tree, nodes.Macro):
            self._macros.setdefault(macro.name, []).append(macro)
        self._in_progress: set[Hashable] = set()
        self._written_macros: set[str] = set()

    @property
    def names(self) -> list[str]:
        return list(self._reads)

    def only_writes(self, name: str) -> bool:
        """Return True if every use of a variable is harmless. One that depends on itself is not checked twice."""
        return self._are_harmless(name, self._reads.get(name, ()))

    def _are_harmless(self, key: Hashable, values: Iterable[nodes.Node]) -> bool:
        if key in self._in_progress:
            return True
        self._in_progress.add(key)
        try:
            return all(map(self._is_harmless, values))
        finally:
            self._in_progress.remove(key)

    def _is_harmless(self, value: nodes.Node) -> bool:
        """Return True if a value that is a text is only written, or tested for its type or for being empty."""
        parent = self._parents[value]
        match parent:
            case nodes.Output():
                return self._is_written(parent)
            case nodes.Add() | nodes.Concat() | nodes.And() | nodes.Or():
                return self._is_harmless(parent)
            case nodes.CondExpr():
                return parent.test is value or self._is_harmless(parent)
            case nodes.If() | nodes.Not():
                return True
            case nodes.Test():
                return parent.node is value and parent.name in TYPE_TESTS
            case nodes.Call():
                return self._is_harmless_call(parent, value)
            case nodes.Keyword():
                call = self._parents[parent]
                is_parameter = isinstance(call, nodes.Call) and parent.key in self._parameters(call)
                return is_parameter and self.only_writes(parent.key)
            case nodes.Filter():
                if is_length(parent):
                    return self._tests_emptiness(parent)
                is_kept = parent.name in _FILTERS and parent.node is value and not (parent.args or parent.kwargs)
                return (is_kept or parent.name in _DEFAULTS) and self._is_harmless(parent)
            case nodes.Getattr():
                call = self._parents[parent]
                is_call = isinstance(call, nodes.Call) and call.node is parent and not (call.args or call.kwargs)
                return is_call and parent.attr in _METHODS and self._is_harmless(call)
            case nodes.Assign():
                return self._is_harmless_target(parent)
        return False

    def _is_harmless_call(self, call: nodes.Call, value: nodes.Node) -> bool:
        """Return True if a call writes a value that it is made of: the time, or an argument of a macro."""
        if call.node is value:
            is_time = isinstance(value, nodes.Name) and value.name == "strftime_now"
            return is_time and _has_constant_arguments(call) and self._is_harmless(call)
        # The output of the macro is followed from the places that write the parameter.
        pairs = zip(call.args, self._parameters(call), strict=False)
        return any(argument is value and self.only_writes(name) for argument, name in pairs)

    def _parameters(self, call: nodes.Call) -> list[str]:
        """Return the parameters of the only macro with the name that a call has; none if there are several."""
        macros = self._macros.get(call.node.name, []) if isinstance(call.node, nodes.Name) else []
        return [parameter.name for parameter in macros[0].args] if len(macros) == 1 else []

    def _is_harmless_target(self, assignment: nodes.Assign | nodes.AssignBlock) -> bool:
        """Return True if the variable, or the attribute of a namespace, that gets a value is only written."""
        target = assignment.target
        if isinstance(target, nodes.Name):
            return self.only_writes(target.name)
        if not isinstance(target, nodes.NSRef):
            return False
        if self._statement_around(assignment) is not None or not self._runs_once(assignment):
            return False
        uses = [self._parents[read] for read in self._reads.get(target.name, ())]
        reads = [use for use in uses if isinstance(use, nodes.Getattr)]
        # A namespace that is passed on may be read under another name.
        is_known = len(reads) == len(uses)
        return is_known and self._are_harmless(
            (target.name, target.attr), [read for read in reads if read.attr == target.attr]
        )

    def _tests_emptiness(self, length: nodes.Node) -> bool:
        """Return True if only the truth of a length counts."""
        parent = self._parents[length]
        match parent:
            case nodes.If() | nodes.Not():
                return True
            case nodes.CondExpr():
                return parent.test is length
            case nodes.And() | nodes.Or():
                return self._tests_emptiness(parent)
            case nodes.Compare():
                return is_emptiness_test(parent)
        return False

    def _is_written(self, output: nodes.Node) -> bool:
        """Return True if the text of a statement is part of the output of the template once, and of nothing else."""
        if not self._runs_once(output):
            return False
        statement = self._statement_around(output)
        match statement:
            case nodes.AssignBlock():
                return statement.filter is None and self._is_harmless_target(statement)
            case nodes.Macro():
                return self._is_written_macro(statement.name)
        return statement is None

    def _statement_around(self, node: nodes.Node) -> nodes.Node | None:
        """Return the innermost statement around a node that makes a text of its output; None if there is none."""
        parent = self._parents.get(node)
        while parent is not None and not isinstance(parent, _CAPTURING):
            parent = self._parents.get(parent)
        return parent

    def _runs_once(self, node: nodes.Node) -> bool:
        """Return True if a node, up to the statement that makes a text of it, is in no loop or in a first iteration.

        Whether a text comes before all messages is found out by runs. They cannot reach each branch of a loop.
        """
        is_first = False
        parent = self._parents.get(node)
        while parent is not None and not isinstance(parent, _CAPTURING):
            match parent:
                case nodes.If():
                    is_in_body = any(child is node for child in parent.body)
                    is_first = is_first or (is_in_body and _requires_first(parent.test))
                case nodes.For():
                    if not is_first:
                        return False
                    is_first = False
            node, parent = parent, self._parents.get(parent)
        return True

    def _is_written_macro(self, name: str) -> bool:
        """Return True if the output of each call of a macro is only written. Recursive macros are not followed."""
        if name in self._written_macros:
            return False
        self._written_macros.add(name)
        try:
            calls = [(read, self._parents[read]) for read in self._reads.get(name, ())]
            return all(
                isinstance(call, nodes.Call) and call.node is read and self._is_harmless(call) for read, call in calls
            )
        finally:
            self._written_macros.remove(name)


def _requires_first(test: nodes.Node) -> bool:
    """Return True if a condition holds in the first iteration of a loop only."""
    match test:
        case nodes.And():
            return _requires_first(test.left) or _requires_first(test.right)
        case nodes.Getattr(node=nodes.Name(name="loop"), attr="first"):
            return True
    return False


def _has_constant_arguments(call: nodes.Call) -> bool:
    is_plain = not call.kwargs and call.dyn_args is None and call.dyn_kwargs is None
    return is_plain and all(isinstance(argument, nodes.Const) for argument in call.args)
