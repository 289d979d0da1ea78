"""The message fields that a chat template can read, from its syntax tree.

The analysis follows the expressions that may be the list of messages or one message. A field counts as read if its name
occurs in the template. If a message is used in a way that may reach any of its fields, every field counts.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

from jinja2 import nodes

from renderers.templating.literals import Variables, template_variables
from renderers.templating.sandbox import ChatEnvironment

__all__ = ["readable_fields"]

_LIST, _MESSAGE = "list of messages", "message"
_NEIGHBOURS = frozenset({"previtem", "nextitem"})
_SHAPE_TESTS = frozenset({"defined", "undefined", "none", "mapping", "string", "sequence", "iterable", "boolean"})
_LIST_TO_LIST = frozenset({"list", "reverse", "select", "reject", "selectattr", "rejectattr", "default", "d"})
_LIST_TO_MESSAGE = frozenset({"first", "last", "random"})
_LIST_TO_VALUE = frozenset({"length", "count"})
_MESSAGE_TO_MESSAGE = frozenset({"default", "d"})


@functools.lru_cache(maxsize=256)
def readable_fields(source: str) -> frozenset[str] | None:
    """Return the names that include all message fields which a template can read; None if it can read any field.

    >>> sorted(readable_fields("{% for m in messages %}{{ m.role + m['content'] }}{% endfor %}"))
    ['content', 'role']
    >>> readable_fields("{{ messages[0] | tojson }}") is None
    True
    """
    tree = ChatEnvironment().parse(source)
    flow = _Flow(tree)
    if any(map(flow.reads_any_field, tree.find_all(nodes.Node))):
        return None
    attributes = {node.attr for node in tree.find_all(nodes.Getattr)}
    texts = {text for node in tree.find_all(nodes.Const) if isinstance(node.value, str) for text in _names(node.value)}
    return frozenset(attributes | texts)


def _names(text: str) -> tuple[str, ...]:
    """Return a text and its parts between dots: `selectattr("a.b")` reads the field `a`."""
    return text, *text.split(".")


class _Flow:
    """The variables, macro parameters and namespace attributes that may hold messages."""

    def __init__(self, tree: nodes.Template) -> None:
        self._constants: Variables = template_variables(tree)
        self._macros = {macro.name: macro for macro in tree.find_all(nodes.Macro)}
        self._held: dict[str, frozenset[str]] = {"messages": frozenset({_LIST})}
        calls = [call for call in tree.find_all(nodes.Call) if isinstance(call.node, nodes.Name)]
        steps = [*tree.find_all((nodes.Assign, nodes.For)), *calls]
        size = -1
        while size != (size := sum(map(len, self._held.values()))):
            for step in steps:
                for name, held in self._bindings(step):
                    self._held[name] = self._held.get(name, frozenset()) | held

    def _bindings(self, node: nodes.Node) -> Iterator[tuple[str, frozenset[str]]]:
        """Yield the names that a statement or a call binds, with the shapes that they may hold after it."""
        if isinstance(node, nodes.Assign):
            if isinstance(node.target, nodes.Name):
                yield node.target.name, self.held(node.node)
            elif isinstance(node.target, nodes.NSRef):
                yield f".{node.target.attr}", self.held(node.node)
        elif isinstance(node, nodes.For):
            if isinstance(node.target, nodes.Name) and _LIST in self.held(node.iter):
                yield node.target.name, frozenset({_MESSAGE})
        elif isinstance(node, nodes.Call) and isinstance(node.node, nodes.Name):
            if node.node.name == "namespace":
                yield from ((f".{keyword.key}", self.held(keyword.value)) for keyword in node.kwargs)
            macro = self._macros.get(node.node.name)
            if macro is not None:
                parameters = zip((argument.name for argument in macro.args), node.args, strict=False)
                yield from ((name, self.held(value)) for name, value in parameters)
                yield from ((keyword.key, self.held(keyword.value)) for keyword in node.kwargs)

    def held(self, node: nodes.Node) -> frozenset[str]:
        """Return whether an expression may be the list of messages, a message, or both."""
        nothing: frozenset[str] = frozenset()
        if isinstance(node, nodes.Name):
            return self._held.get(node.name, nothing)
        if isinstance(node, nodes.Getattr):
            return frozenset({_MESSAGE}) if node.attr in _NEIGHBOURS else self._held.get(f".{node.attr}", nothing)
        if isinstance(node, nodes.Getitem):
            if _LIST not in self.held(node.node):
                return nothing
            return frozenset({_LIST if isinstance(node.arg, nodes.Slice) else _MESSAGE})
        if isinstance(node, nodes.Filter):
            return self._filtered(node)
        if isinstance(node, nodes.CondExpr):
            return self.held(node.expr1) | (self.held(node.expr2) if node.expr2 else nothing)
        if isinstance(node, nodes.And | nodes.Or | nodes.Add):
            return self.held(node.left) | self.held(node.right)
        if isinstance(node, nodes.List | nodes.Tuple):
            return frozenset({_LIST}) if any(map(self.held, node.items)) else nothing
        return nothing

    def _filtered(self, node: nodes.Filter) -> frozenset[str]:
        held = self.held(node.node) if node.node else frozenset()
        results = set()
        if _LIST in held and node.name in _LIST_TO_LIST:
            results.add(_LIST)
        if _LIST in held and node.name in _LIST_TO_MESSAGE:
            results.add(_MESSAGE)
        if _MESSAGE in held and node.name in _MESSAGE_TO_MESSAGE:
            results.add(_MESSAGE)
        return frozenset(results)

    def reads_any_field(self, node: nodes.Node) -> bool:
        """Return True if an expression or a statement may read any field of a message that is an operand of it."""
        operands = [(child, held) for child in node.iter_child_nodes() if (held := self.held(child))]
        if isinstance(node, nodes.Call):
            return self._call_reads(node, operands)
        if isinstance(node, nodes.Macro):
            return any(map(self.held, node.defaults))
        if not operands or isinstance(node, nodes.If | nodes.CondExpr | nodes.And | nodes.Or | nodes.Not):
            return False
        held = frozenset().union(*(held for _, held in operands))
        if isinstance(node, nodes.For):
            return _MESSAGE in self.held(node.iter) or not isinstance(node.target, nodes.Name)
        if isinstance(node, nodes.Assign):
            return not isinstance(node.target, nodes.Name | nodes.NSRef)
        if isinstance(node, nodes.Getattr):
            # A method of the list, which may return anything: its calls are checked with their arguments.
            return False
        if isinstance(node, nodes.Getitem):
            return _MESSAGE in held and not self._is_constant(node.arg)
        if isinstance(node, nodes.Filter):
            return self._filter_reads(node, held)
        if isinstance(node, nodes.Test):
            return node.name not in _SHAPE_TESTS or not node.node or not self.held(node.node)
        if isinstance(node, nodes.Compare | nodes.Operand):
            return not self._is_key_test(node)
        if isinstance(node, nodes.Add | nodes.List | nodes.Tuple):
            return _MESSAGE in held and isinstance(node, nodes.Add)
        # A keyword is checked with its call.
        return not isinstance(node, nodes.Keyword)

    def _call_reads(self, call: nodes.Call, operands: list[tuple[nodes.Node, frozenset[str]]]) -> bool:
        function = call.node
        if isinstance(function, nodes.Getattr) and self.held(function.node):
            return function.attr != "get" or not call.args or not self._is_constant(call.args[0])
        passed = [*operands, *(keyword for keyword in call.kwargs if self.held(keyword.value))]
        if not passed:
            return False
        known = isinstance(function, nodes.Name) and (function.name in self._macros or function.name == "namespace")
        macro = self._macros.get(function.name) if isinstance(function, nodes.Name) else None
        surplus = macro is not None and len(call.args) > len(macro.args)
        return not known or surplus or bool(call.dyn_args or call.dyn_kwargs)

    def _filter_reads(self, node: nodes.Filter, held: frozenset[str]) -> bool:
        if not node.node or not self.held(node.node) or any(map(self.held, node.args)):
            return True
        if node.name == "map" and held == {_LIST}:
            # An attribute is a constant in the template; a filter may read any field.
            return not any(keyword.key == "attribute" and self._is_constant(keyword.value) for keyword in node.kwargs)
        of_list = _LIST_TO_LIST | _LIST_TO_MESSAGE | _LIST_TO_VALUE
        attributes = node.args[:1] if node.name in ("selectattr", "rejectattr") else []
        allowed = (_LIST not in held or node.name in of_list) and (
            _MESSAGE not in held or node.name in _MESSAGE_TO_MESSAGE
        )
        return not allowed or not all(map(self._is_constant, attributes))

    def _is_key_test(self, node: nodes.Node) -> bool:
        """Return True if a comparison is `"name" in message`; its operands are checked with it."""
        if isinstance(node, nodes.Operand):
            return True
        assert isinstance(node, nodes.Compare)
        keys = all(operand.op in ("in", "notin") for operand in node.ops) and self._is_constant(node.expr)
        return keys or not (self.held(node.expr) or any(self.held(operand.expr) for operand in node.ops))

    def _is_constant(self, node: nodes.Node) -> bool:
        """Return True if an expression can only be one of the constants in the template."""
        if isinstance(node, nodes.Const):
            return True
        if isinstance(node, nodes.List | nodes.Tuple):
            return all(map(self._is_constant, node.items))
        if isinstance(node, nodes.Name):
            values = self._constants.get(node.name, ())
            return bool(values) and all(
                not isinstance(value, nodes.Name) and self._is_constant(value) for value in values
            )
        return False
