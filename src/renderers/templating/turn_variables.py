"""The variables that can change how a chat template writes turns, from its syntax tree.

A variable that is read only before the first message, such as a list of documents, cannot. The analysis follows
variables through assignments, macros and conditions, and counts a use too many rather than one too few.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable

from jinja2 import nodes

from renderers.templating.syntax import find_in, syntax_tree


@functools.lru_cache(maxsize=256)
def turn_variables(source: str) -> frozenset[str]:
    """Return the variables that a template reads within or after the first loop that writes messages.

    If there is no such loop, all variables are returned.

    >>> template = "{{ documents }}{% for m in messages %}{{ style ~ m.content }}{% endfor %}{{ end }}"
    >>> sorted(turn_variables(template) - {"m", "messages"})
    ['end', 'style']
    """
    tree = syntax_tree(source)
    uses = _TurnUses()
    uses.visit_all(tree.body)
    if not uses.has_started:
        return frozenset(_names_in([tree]))
    return frozenset(uses.closure())


class _TurnUses:
    """Reads the statements of a template in order."""

    def __init__(self) -> None:
        self.has_started = False
        self._read: set[str] = set()
        """The names that are read within or after the loop."""
        self._sources: dict[str, set[str]] = {}
        """The names that the value of a variable or a macro can depend on."""
        self._conditions: list[set[str]] = []
        """The names in the conditions and loops around a statement."""

    def closure(self) -> set[str]:
        """Return the names that are read, and all names that their values can depend on."""
        return self._follow(self._read)

    def _follow(self, start: set[str]) -> set[str]:
        names, pending = set(start), list(start)
        while pending:
            new = self._sources.get(pending.pop(), set()) - names
            names |= new
            pending += new
        return names

    def visit_all(self, body: Iterable[nodes.Node]) -> None:
        for node in body:
            self._visit(node)

    def _visit(self, node: nodes.Node) -> None:
        if self.has_started:
            self._bind(node)
            self._read |= _names_in([node])
            return
        if isinstance(node, nodes.For) and self._writes_messages(node):
            self.has_started = True
            self._read |= set().union(_names_in([node]), *self._conditions)
            self._bind(node)
        elif isinstance(node, nodes.If):
            self._visit_branches(node)
        else:
            self._bind(node)

    def _visit_branches(self, node: nodes.If) -> None:
        self._conditions.append(_names_in([node.test, *(branch.test for branch in node.elif_)]))
        for body in (node.body, *(branch.body for branch in node.elif_), node.else_):
            self.visit_all(body)
        self._conditions.pop()

    def _bind(self, node: nodes.Node) -> None:
        """Record the names that variables assigned within a statement can depend on: all names in the statement."""
        targets = {name.name for name in find_in([node], nodes.Name) if name.ctx != "load"}
        targets |= {reference.name for reference in find_in([node], nodes.NSRef)}
        targets |= {macro.name for macro in find_in([node], nodes.Macro)}
        for call in find_in([node], nodes.Call):
            # A method such as `append` changes the value of a variable.
            if isinstance(call.node, nodes.Getattr) and isinstance(call.node.node, nodes.Name):
                targets.add(call.node.node.name)
        read = set().union(_names_in([node]), *self._conditions)
        for target in targets:
            self._sources.setdefault(target, set()).update(read)

    def _writes_messages(self, node: nodes.For) -> bool:
        """Return True if a loop is over messages, or over a value that depends on them, and writes text."""
        return "messages" in self._follow(_names_in([node.iter])) and any(
            not isinstance(part, nodes.TemplateData) or part.data.strip()
            for output in find_in(node.body, nodes.Output)
            for part in output.nodes
        )


def _names_in(body: Iterable[nodes.Node]) -> set[str]:
    return {name.name for name in find_in(body, nodes.Name) if name.ctx == "load"}
