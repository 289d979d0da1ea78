"""The variables that can change how a chat template writes turns, from its syntax tree.

A variable that is read only before the first message, such as a list of documents, cannot. The analysis follows
variables through assignments, macros and conditions, and counts a use too many rather than one too few.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Iterator

from jinja2 import nodes

from renderers.templating.lookups import MUTATORS
from renderers.templating.message_values import ANY, COUNT, LIST, MESSAGE, MessageValues
from renderers.templating.syntax import find_in, stored_names, syntax_tree
from renderers.templating.tree import find_all

TYPE_TESTS = frozenset("defined undefined none string boolean number mapping sequence iterable".split())
"""Tests that have the same result for all lists, and for all texts."""
_LENGTHS = frozenset({"length", "count"})
_EXISTENCE = frozenset({("gt", 0), ("ne", 0), ("eq", 0), ("gteq", 1), ("lt", 1)})
"""Comparisons of a length that have the same result for all lists that are not empty."""


@functools.lru_cache(maxsize=256)
def turn_variables(source: str) -> frozenset[str]:
    """Return the variables that a template reads within or after the first loop that writes messages.

    If there is no such loop, all variables are returned.

    >>> template = "{{ documents }}{% for m in messages %}{{ style ~ m.content }}{% endfor %}{{ end }}"
    >>> sorted(turn_variables(template) - {"m", "messages"})
    ['end', 'style']
    """
    tree = syntax_tree(source)
    uses = _TurnUses(tree)
    return frozenset(uses.closure() if uses.has_started else uses.names_in([tree]))


@functools.lru_cache(maxsize=256)
def turns_read_items(source: str, names: frozenset[str]) -> bool:
    """Return True if turns can depend on the items of lists with some names. No list is empty.

    >>> template, names = "{{ x }}{% for m in messages %}{{ m.content if x }}{% endfor %}", frozenset({"x"})
    >>> turns_read_items(template, names), turns_read_items(template + "{{ x }}", names)
    (False, True)
    """
    tree = syntax_tree(source)
    uses = _TurnUses(tree, ignored=frozenset(map(id, _existence_tests(tree, names))))
    # If a variable of this name is made of the items, so is a test of it.
    is_replaced = any(name in uses.sources_of(name) for name in names)
    return is_replaced or not uses.has_started or not names.isdisjoint(uses.closure())


def _existence_tests(tree: nodes.Template, names: Collection[str]) -> Iterator[nodes.Node]:
    """Yield the nodes that read one of some lists only to test whether it exists."""
    for node in find_all(tree, (nodes.If, nodes.CondExpr, nodes.Not, nodes.Test, nodes.Compare)):
        if isinstance(node, nodes.If | nodes.CondExpr):
            tested = [*_conditions(node.test)]
        elif isinstance(node, nodes.Not):
            tested = [*_conditions(node.node)]
        elif isinstance(node, nodes.Test):
            tested = [node.node] if node.name in TYPE_TESTS else []
        else:
            tested = [*_conditions(node.expr)] if is_emptiness_test(node) else []
        yield from (each for each in tested if isinstance(each, nodes.Name) and each.name in names)


def _conditions(test: nodes.Node) -> Iterator[nodes.Node]:
    """Yield the operands of a condition, of which only the truth counts."""
    if isinstance(test, nodes.And | nodes.Or):
        yield from _conditions(test.left)
        yield from _conditions(test.right)
    else:
        # A list is true if its length is.
        yield test.node if isinstance(test, nodes.Filter) and test.node is not None and is_length(test) else test


def is_emptiness_test(comparison: nodes.Compare) -> bool:
    """Return True if a comparison only finds out whether a length is zero."""
    constant = comparison.ops[0].expr if len(comparison.ops) == 1 else None
    is_known = isinstance(constant, nodes.Const) and (comparison.ops[0].op, constant.value) in _EXISTENCE
    return is_known and is_length(comparison.expr)


def is_length(node: nodes.Node) -> bool:
    """Return True if a node is the length of a value."""
    return isinstance(node, nodes.Filter) and node.name in _LENGTHS


class _TurnUses:
    """Reads the statements of a template in order. The nodes with the identities in `ignored` do not count."""

    def __init__(self, tree: nodes.Template, ignored: Collection[int] = ()) -> None:
        self.has_started = False
        self._ignored = ignored
        self._read: set[str] = set()
        """The names that are read within or after the loop."""
        self._sources: dict[str, set[str]] = {}
        """The names that the value of a variable or a macro can depend on."""
        self._changes: list[tuple[str, set[str]]] = []
        """The names with a value that a method changes, and the names that the change can depend on."""
        self._conditions: list[set[str]] = []
        """The names in the conditions and loops around a statement."""
        self._values = MessageValues(tree)
        self._writers = {macro.name for macro in find_all(tree, nodes.Macro) if self._writes_list(macro)}
        """The macros that write messages of a list."""
        self._visit_all(tree.body)
        self._follow_changes()

    def closure(self) -> set[str]:
        """Return the names that are read, and all names that their values can depend on."""
        return self._follow(self._read)

    def sources_of(self, name: str) -> set[str]:
        """Return the names that the value of a variable can depend on, if the template sets it."""
        return self._follow(self._sources.get(name, set()))

    def names_in(self, body: Iterable[nodes.Node]) -> set[str]:
        """Return the variables that statements or expressions read."""
        names = find_in(body, nodes.Name)
        return {name.name for name in names if name.ctx == "load" and id(name) not in self._ignored}

    def _follow(self, start: set[str]) -> set[str]:
        names, pending = set(start), list(start)
        while pending:
            new = self._sources.get(pending.pop(), set()) - names
            names |= new
            pending += new
        return names

    def _follow_changes(self) -> None:
        """Record that a change of a value is one of all variables that may hold it."""
        for _ in self._changes:
            for changed, read in self._changes:
                for name in self._follow({changed}):
                    self._sources.setdefault(name, set()).update(read)

    def _visit_all(self, body: Iterable[nodes.Node]) -> None:
        for node in body:
            self._visit(node)

    def _visit(self, node: nodes.Node) -> None:
        if self.has_started:
            self._bind(node)
            self._read |= self.names_in([node])
        elif isinstance(node, nodes.If):
            self._visit_branches(node)
        else:
            self.has_started = self._writes_messages(node)
            if self.has_started:
                self._read |= set().union(self.names_in([node]), *self._conditions)
            self._bind(node)

    def _visit_branches(self, node: nodes.If) -> None:
        self._conditions.append(self.names_in([node.test, *(branch.test for branch in node.elif_)]))
        for body in (node.body, *(branch.body for branch in node.elif_), node.else_):
            self._visit_all(body)
        self._conditions.pop()

    def _bind(self, node: nodes.Node) -> None:
        """Record the names that variables assigned by a statement can depend on: all names in the statement.

        Variables that are assigned within a loop or a macro do not exist after it.
        """
        targets = {*stored_names([node]), *(reference.name for reference in find_in([node], nodes.NSRef))}
        read = set().union(self.names_in([node]), *self._conditions)
        for call in find_in([node], nodes.Call):
            changed = _changed_name(call)
            if changed is not None:
                targets.add(changed)
                self._changes.append((changed, read))
        for target in targets:
            self._sources.setdefault(target, set()).update(read)

    def _writes_messages(self, node: nodes.Node) -> bool:
        """Return True if a statement contains a loop over messages, or over a value made of them, that writes text."""
        if isinstance(node, nodes.Macro):
            return False
        for loop in find_in([node], nodes.For):
            if (
                _writes(loop)
                and "messages" in self._follow(self.names_in([loop.iter]))
                and not self._is_in_message(loop)
            ):
                return True
        return not self._writers.isdisjoint(self.names_in([node]))

    def _writes_list(self, macro: nodes.Macro) -> bool:
        """Return True if a macro writes text in a loop over a list of messages."""
        return any(_writes(loop) and LIST in self._fields(loop) for loop in find_all(macro, nodes.For))

    def _is_in_message(self, loop: nodes.For) -> bool:
        """Return True if a loop is over a field of a message, such as the parts of its content."""
        fields = self._fields(loop)
        return bool(fields) and fields.isdisjoint({LIST, MESSAGE, ANY, COUNT})

    def _fields(self, loop: nodes.For) -> set[str]:
        return {name for name, _ in self._values.value(loop.iter)}


def _writes(loop: nodes.For) -> bool:
    return any(
        not isinstance(part, nodes.TemplateData) or part.data.strip()
        for output in find_in(loop.body, nodes.Output)
        for part in output.nodes
    )


def _changed_name(call: nodes.Call) -> str | None:
    """Return the variable with a value, or a part of one, that a method changes; None if no method does."""
    if not isinstance(call.node, nodes.Getattr) or call.node.attr not in MUTATORS:
        return None
    owner = call.node.node
    while isinstance(owner, nodes.Getattr | nodes.Getitem):
        owner = owner.node
    return owner.name if isinstance(owner, nodes.Name) else None
