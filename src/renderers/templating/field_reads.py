"""The message fields that a chat template can read, from its syntax tree.

The analysis follows the expressions that may be the list of messages or one message. A field counts as read if its name
occurs in the template. If a message is used in a way that may reach any of its fields, every field counts.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

from jinja2 import nodes

from renderers.templating.literals import Variables, template_variables
from renderers.templating.syntax import syntax_tree
from renderers.templating.tree import children, find_all, types_of

_LIST, _MESSAGE, _VALUE = "list of messages", "message", "value"
_NOTHING: frozenset[str] = frozenset()
_NEIGHBOURS = frozenset({"previtem", "nextitem"})
_SIDES = (nodes.And, nodes.Or, nodes.Add)
_HOLDING = types_of(
    (nodes.Name, nodes.Getattr, nodes.Getitem, nodes.Filter, nodes.CondExpr, *_SIDES, nodes.List, nodes.Tuple)
)
"""The expressions that may be messages."""
_CHOOSING = types_of((nodes.If, nodes.CondExpr, nodes.And, nodes.Or, nodes.Not))
"""The nodes that test an operand, or return it."""
_SHAPE_TESTS = frozenset({"defined", "undefined", "none", "mapping", "string", "sequence", "iterable", "boolean"})
_FILTERS = {
    _LIST: {
        **dict.fromkeys(("list", "reverse", "select", "reject", "selectattr", "rejectattr", "default", "d"), _LIST),
        **dict.fromkeys(("first", "last", "random"), _MESSAGE),
        **dict.fromkeys(("length", "count"), _VALUE),
    },
    _MESSAGE: dict.fromkeys(("default", "d"), _MESSAGE),
}
"""The filters of each shape that read no field by themselves, and the shapes of their results."""


@functools.lru_cache(maxsize=256)
def readable_fields(source: str) -> frozenset[str] | None:
    """Return the names that include all message fields which a template can read; None if it can read any field.

    >>> sorted(readable_fields("{% for m in messages %}{{ m.role + m['content'] }}{% endfor %}"))
    ['content', 'role']
    >>> readable_fields("{{ messages[0] | tojson }}") is None
    True
    """
    tree = syntax_tree(source)
    flow = _Flow(tree)
    if any(map(flow.reads_any_field, find_all(tree, nodes.Node))):
        return None
    attributes = {node.attr for node in find_all(tree, nodes.Getattr)}
    texts = [node.value for node in find_all(tree, nodes.Const) if isinstance(node.value, str)]
    # `selectattr("a.b")` reads the field `a`.
    return frozenset(attributes.union(texts, *(text.split(".") for text in texts)))


class _Flow:
    """The variables, macro parameters and namespace attributes that may hold messages."""

    def __init__(self, tree: nodes.Template) -> None:
        self._constants: Variables = template_variables(tree)
        self._macros = {macro.name: macro for macro in find_all(tree, nodes.Macro)}
        self._held: dict[str, frozenset[str]] = {"messages": frozenset({_LIST})}
        calls = [call for call in find_all(tree, nodes.Call) if isinstance(call.node, nodes.Name)]
        steps = [*find_all(tree, (nodes.Assign, nodes.For)), *calls]
        size = -1
        while size != (size := sum(map(len, self._held.values()))):
            for step in steps:
                for name, held in self._bindings(step):
                    self._held[name] = self._held.get(name, frozenset()) | held

    def _bindings(self, node: nodes.Node) -> Iterator[tuple[str, frozenset[str]]]:
        """Yield the names that a statement or a call binds, with the shapes that they may hold after it."""
        if type(node) is nodes.Assign:
            if type(node.target) is nodes.Name:
                yield node.target.name, self.held(node.node)
            elif type(node.target) is nodes.NSRef:
                yield f".{node.target.attr}", self.held(node.node)
        elif type(node) is nodes.For:
            if type(node.target) is nodes.Name and _LIST in self.held(node.iter):
                yield node.target.name, frozenset({_MESSAGE})
        elif type(node) is nodes.Call and type(node.node) is nodes.Name:
            if node.node.name == "namespace":
                yield from ((f".{keyword.key}", self.held(keyword.value)) for keyword in node.kwargs)
            macro = self._macros.get(node.node.name)
            if macro is not None:
                parameters = zip((argument.name for argument in macro.args), node.args, strict=False)
                yield from ((name, self.held(value)) for name, value in parameters)
                yield from ((keyword.key, self.held(keyword.value)) for keyword in node.kwargs)

    def held(self, node: nodes.Node) -> frozenset[str]:
        """Return whether an expression may be the list of messages, a message, or both."""
        if type(node) not in _HOLDING:
            return _NOTHING
        if type(node) is nodes.Name:
            return self._held.get(node.name, _NOTHING)
        if type(node) is nodes.Getattr:
            return frozenset({_MESSAGE}) if node.attr in _NEIGHBOURS else self._held.get(f".{node.attr}", _NOTHING)
        if type(node) is nodes.Getitem:
            if _LIST not in self.held(node.node):
                return _NOTHING
            return frozenset({_LIST if type(node.arg) is nodes.Slice else _MESSAGE})
        if type(node) is nodes.Filter:
            shapes = self.held(node.node) if node.node else _NOTHING
            return frozenset(_FILTERS[shape].get(node.name, _VALUE) for shape in shapes) - {_VALUE}
        if type(node) is nodes.CondExpr:
            return self.held(node.expr1) | (self.held(node.expr2) if node.expr2 else _NOTHING)
        if type(node) in _SIDES:
            return frozenset().union(*map(self.held, children(node)))
        if isinstance(node, (nodes.List, nodes.Tuple)):
            return frozenset({_LIST}) if any(map(self.held, node.items)) else _NOTHING
        return _NOTHING

    def reads_any_field(self, node: nodes.Node) -> bool:
        """Return True if an expression or a statement may read any field of a message that is an operand of it."""
        operands = [(child, held) for child in children(node) if (held := self.held(child))]
        if type(node) is nodes.Call:
            return self._call_reads(node, operands)
        if type(node) is nodes.Macro:
            return any(map(self.held, node.defaults))
        if type(node) is nodes.Compare:
            # Only `"name" in message` reads a single field.
            is_key_test = all(operand.op in ("in", "notin") for operand in node.ops) and self._is_constant(node.expr)
            return not is_key_test and any(map(self.held, (node.expr, *(operand.expr for operand in node.ops))))
        if not operands or type(node) in _CHOOSING:
            return False
        held = frozenset().union(*(held for _, held in operands))
        if type(node) is nodes.For:
            return _MESSAGE in self.held(node.iter) or type(node.target) is not nodes.Name
        if type(node) is nodes.Assign:
            return type(node.target) not in (nodes.Name, nodes.NSRef)
        if type(node) is nodes.Getattr:
            # A method of the list, which may return anything: its calls are checked with their arguments.
            return False
        if type(node) is nodes.Getitem:
            return _MESSAGE in held and not self._is_constant(node.arg)
        if type(node) is nodes.Filter:
            return self._filter_reads(node, held)
        if type(node) is nodes.Test:
            return node.name not in _SHAPE_TESTS or not node.node or not self.held(node.node)
        # Operands are checked with their comparison, and keywords with their call. A list of messages is a list.
        is_checked = type(node) in (nodes.Operand, nodes.Keyword, nodes.List, nodes.Tuple)
        return not is_checked and not (type(node) is nodes.Add and _MESSAGE not in held)

    def _call_reads(self, call: nodes.Call, operands: list[tuple[nodes.Node, frozenset[str]]]) -> bool:
        function = call.node
        if isinstance(function, nodes.Getattr) and self.held(function.node):
            return function.attr != "get" or not call.args or not self._is_constant(call.args[0])
        if not operands and not any(self.held(keyword.value) for keyword in call.kwargs):
            return False
        if not isinstance(function, nodes.Name) or function.name not in {*self._macros, "namespace"}:
            return True
        macro = self._macros.get(function.name)
        surplus = macro is not None and len(call.args) > len(macro.args)
        return surplus or bool(call.dyn_args or call.dyn_kwargs)

    def _filter_reads(self, node: nodes.Filter, held: frozenset[str]) -> bool:
        if not node.node or not self.held(node.node) or any(map(self.held, node.args)):
            return True
        if node.name == "map" and held == {_LIST}:
            # An attribute is a constant in the template; a filter may read any field.
            return not any(keyword.key == "attribute" and self._is_constant(keyword.value) for keyword in node.kwargs)
        attributes = node.args[:1] if node.name in ("selectattr", "rejectattr") else []
        allowed = all(node.name in _FILTERS[shape] for shape in held)
        return not allowed or not all(map(self._is_constant, attributes))

    def _is_constant(self, node: nodes.Node) -> bool:
        """Return True if an expression can only be one of the constants in the template."""
        if isinstance(node, nodes.Const):
            return True
        if isinstance(node, nodes.List | nodes.Tuple):
            return all(map(self._is_constant, node.items))
        if isinstance(node, nodes.Name):
            values = self._constants.get(node.name, ())
            return bool(values) and not any(
                isinstance(value, nodes.Name) or not self._is_constant(value) for value in values
            )
        return False
