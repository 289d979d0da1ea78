"""Compile the expressions of a template to Python expressions."""

# ruff: noqa: N802 - the methods that visit a node have its name
from __future__ import annotations

import contextlib
import keyword
from collections.abc import Iterator, Sequence
from typing import Any

import jinja2
from jinja2 import Undefined, nodes
from jinja2.exceptions import SecurityError

from renderers.templating import filters, global_functions, lookups, methods, predicates
from renderers.templating.kinds import MARKUP_FILTERS, NUMBERS, SCALARS, Kind, KindInference, Loop, Names
from renderers.templating.syntax import REFUSED_NAMES, prompt_condition, refuse

_GLOBAL_CODES = {name: function.__name__ for name, function in global_functions.GLOBAL_FUNCTIONS.items()}
STATIC_LOOP = frozenset("index index0 first last length revindex revindex0 previtem nextitem".split())
_COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "lteq": "<=", "gt": ">", "gteq": ">=", "in": "in", "notin": "not in"}
_INLINE_TESTS = {
    "defined": "({}.__class__ is not Undefined)",
    "undefined": "({}.__class__ is Undefined)",
    "none": "({} is None)",
    "true": "({} is True)",
    "false": "({} is False)",
    "string": "isinstance({}, str)",
    "mapping": "isinstance({}, dict)",
}
_FORMATS: dict[type[nodes.Node], str] = {
    nodes.And: "({} and {})",
    nodes.Or: "({} or {})",
    nodes.Not: "(not {})",
    nodes.Neg: "(-{})",
    nodes.Pos: "(+{})",
    nodes.Sub: "({} - {})",
    nodes.Div: "({} / {})",
    nodes.FloorDiv: "({} // {})",
    nodes.Mul: "multiply(b, {}, {})",
    nodes.Pow: "power(b, {}, {})",
    nodes.Mod: "modulo(b, {}, {})",
}
"""The code of operators, from the code of their operands."""


class ExpressionCompiler:
    """Write the code of expressions. `b` is the budget of a run in it, and `cur` the current scope."""

    def __init__(self, tree: nodes.Template) -> None:
        self.constants: dict[str, Any] = {}
        """The values of the names in the code that are constants."""
        self._count = 0
        self._constant_names: dict[Any, str] = {}
        self.arguments: dict[str, str] = {}
        """The variables that the template reads but does not bind, with their names in the code."""
        self._markup = any(node.name in MARKUP_FILTERS for node in tree.find_all(nodes.Filter)) or any(
            isinstance(node.value, str) and node.value in MARKUP_FILTERS for node in tree.find_all(nodes.Const)
        )
        self._kinds = KindInference(markup=self._markup)
        self._names = Names(None, {}, {})
        self._is_soft = False
        """True inside of a branch, where an unknown filter is an error only if it is reached."""

    def _fresh(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}{self._count}"

    def _constant(self, value: Any, key: Any) -> str:
        if key not in self._constant_names:
            name = f"K{len(self._constant_names)}"
            self._constant_names[key] = name
            self.constants[name] = value
        return self._constant_names[key]

    def _undefined(self, name: str) -> str:
        value = Undefined(name=name)
        if name.startswith("_"):
            value = Undefined(f"access to attribute {name!r} is unsafe", name=name, exc=SecurityError)
        return self._constant(value, ("undefined", name))

    def _argument(self, name: str) -> str:
        return self.arguments.setdefault(name, f"g_{name}")

    @contextlib.contextmanager
    def _state(self, **changes: Any) -> Iterator[None]:
        """Change the state of the compiler for a while."""
        before = {name: getattr(self, name) for name in changes}
        for name, value in changes.items():
            setattr(self, name, value)
        yield
        for name, value in before.items():
            setattr(self, name, value)

    def _visit(self, prefix: str, node: nodes.Node) -> Any:
        visit = getattr(self, f"{prefix}_{type(node).__name__}", None)
        if visit is None:
            raise refuse(f"`{type(node).__name__}`", node)
        return visit(node)

    # ==================
    # Texts
    # ==================

    def _pieces(self, node: nodes.Node) -> list[str]:
        """Return the code of the pieces that `{{ node }}` emits."""
        if isinstance(node, nodes.TemplateData):
            return [repr(node.data)] if node.data else []
        if isinstance(node, nodes.Const):
            text = str(node.value)
            return [repr(text)] if text else []
        if isinstance(node, nodes.Concat):
            return [piece for part in node.nodes for piece in self._pieces(part)]
        if isinstance(node, nodes.Filter) and node.name in {"safe", "string"} and node.node is not None:
            return self._pieces(node.node)
        if isinstance(node, nodes.Add) and self._is_sum_of_texts(node) and not self._markup:
            return self._summands(node)
        code = self._code(node)
        if self._kinds.of(node, self._names) is Kind.TEXT:
            return [code]
        if isinstance(node, nodes.Name | nodes.Getattr | nodes.Getitem | nodes.Filter):
            first, again = self._twice(code)
            return [f"({again} if {first}.__class__ is T else to_text(b, {again}))"]
        return [f"to_text(b, {code})"]

    def _is_sum_of_texts(self, node: nodes.Node) -> bool:
        """Return True if an expression is a chain of `+` that must be a text, because one operand is."""
        if not isinstance(node, nodes.Add):
            return self._kinds.of(node, self._names) is Kind.TEXT
        return self._is_sum_of_texts(node.left) or self._is_sum_of_texts(node.right)

    def _operands(self, node: nodes.Node) -> list[nodes.Node]:
        """Return the operands of a chain of `+` on texts."""
        if isinstance(node, nodes.Add) and self._is_sum_of_texts(node):
            return self._operands(node.left) + self._operands(node.right)
        return [node]

    def _summands(self, node: nodes.Node) -> list[str]:
        """Return the code of the operands of a chain of `+` on texts."""
        return [code for operand in self._operands(node) for code in self._summand(operand)]

    def _summand(self, node: nodes.Node) -> list[str]:
        if isinstance(node, nodes.Concat):
            return self._pieces(node)
        code = self._code(node)
        if self._kinds.of(node, self._names) is Kind.TEXT:
            return [code] if code != "''" else []
        first, again = self._twice(code)
        return [f"({again} if {first}.__class__ is T else need_text({again}))"]

    def _twice(self, code: str) -> tuple[str, str]:
        """Return code that is evaluated first, and code for the same value after that."""
        if code.isidentifier():
            return code, code
        temporary = self._fresh("t")
        return f"({temporary} := {code})", temporary

    def _code_Add(self, node: nodes.Add) -> str:
        if self._kinds.of(node, self._names) in NUMBERS:
            return f"({self._code(node.left)} + {self._code(node.right)})"
        if self._is_sum_of_texts(node):
            parts = ", ".join(self._summands(node))
            return f"{'add_texts' if self._markup else 'concatenate'}(b, {parts})" if parts else "''"
        return f"add(b, {self._code(node.left)}, {self._code(node.right)})"

    def _code_Concat(self, node: nodes.Concat) -> str:
        return f"concatenate(b, {', '.join(self._pieces(node))})"

    # ==================
    # Expressions
    # ==================

    def _code(self, node: Any) -> str:
        """Return the code of an expression."""
        if type(node) in _FORMATS:
            return _FORMATS[type(node)].format(*map(self._code, node.iter_child_nodes()))
        code: str = self._visit("_code", node)
        return code

    def _code_Name(self, node: nodes.Name) -> str:
        variable = self._names.find(node.name)
        if variable is not None:
            return variable.python
        if node.name == "loop" and self._names.loop is not None and self._names.loop.value is not None:
            return self._names.loop.value
        if node.name in REFUSED_NAMES:
            raise refuse(f"`{node.name}`", node)
        return self._argument(node.name)

    def _code_Const(self, node: nodes.Const) -> str:
        if isinstance(node.value, float):
            return self._constant(node.value, ("float", repr(node.value)))
        return repr(node.value)

    def _code_List(self, node: nodes.List) -> str:
        return self._weighed(f"[{', '.join(map(self._code, node.items))}]", node.items)

    def _code_Tuple(self, node: nodes.Tuple) -> str:
        return self._weighed("(" + "".join(f"{self._code(item)}, " for item in node.items) + ")", node.items)

    def _code_Dict(self, node: nodes.Dict) -> str:
        pairs = ", ".join(f"{self._code(pair.key)}: {self._code(pair.value)}" for pair in node.items)
        return self._weighed(f"{{{pairs}}}", [pair.value for pair in node.items])

    def _weighed(self, code: str, items: Sequence[nodes.Node]) -> str:
        scalars = {*SCALARS, Kind.TEXT, Kind.MESSAGE}
        if all(isinstance(item, nodes.Const) or self._kinds.of(item, self._names) in scalars for item in items):
            return code
        return f"weighed(b, {code})"

    def _code_CondExpr(self, node: nodes.CondExpr) -> str:
        with self._state(_is_soft=True):
            first = self._code(node.expr1)
            if node.expr2 is None:
                second = self._undefined("the inline if-expression evaluated to false and no else section was defined")
            else:
                second = self._code(node.expr2)
                condition = prompt_condition(node.test)
                first = f"prompt_text({first})" if condition is True else first
                second = f"prompt_text({second})" if condition is False else second
            return f"({first} if {self._code(node.test)} else {second})"

    def _code_Compare(self, node: nodes.Compare) -> str:
        code = self._code(node.expr)
        left = node.expr
        for operand in node.ops:
            right = self._code(operand.expr)
            if not self._is_cheap(left, operand):
                right = f"measured(b, {right})"
            code += f" {_COMPARISONS[operand.op]} {right}"
            left = operand.expr
        return f"({code})"

    def _is_cheap(self, left: nodes.Node, operand: nodes.Operand) -> bool:
        """Return True if a comparison takes no longer than its constants or fields are."""
        right = operand.expr
        if self._kinds.of(right, self._names) in SCALARS or _is_constant(right):
            return True
        if operand.op in {"in", "notin"}:
            return self._is_field(right) or self._kinds.of(right, self._names) is Kind.MESSAGE
        return isinstance(left, nodes.Const) or self._kinds.of(left, self._names) in SCALARS or self._is_field(right)

    def _is_field(self, node: nodes.Node) -> bool:
        """Return True if an expression is a field of a message."""
        is_lookup = isinstance(node, nodes.Getattr | nodes.Getitem)
        return is_lookup and self._kinds.of(node.node, self._names) is Kind.MESSAGE  # type: ignore[attr-defined]

    def _code_Test(self, node: nodes.Test) -> str:
        value = self._code(node.node)
        if node.name not in predicates.PREDICATES and not self._is_soft:
            raise jinja2.TemplateAssertionError(f"No test named {node.name!r}.", node.lineno)
        if node.name in predicates.BARE and not (node.args or node.kwargs or node.dyn_args or node.dyn_kwargs):
            # Python warns of `is` with a literal.
            is_variable = isinstance(node.node, nodes.Name | nodes.Getattr | nodes.Getitem | nodes.Call | nodes.Filter)
            is_inline = is_variable and node.name in _INLINE_TESTS
            return _INLINE_TESTS[node.name].format(value) if is_inline else f"is_{node.name}({value})"
        return f"test({self._arguments(node, '', 'b', repr(node.name), value)})"

    def _code_Filter(self, node: nodes.Filter) -> str:
        assert node.node is not None
        return self._filtered(node, self._code(node.node))

    def _filtered(self, node: nodes.Filter, value: str) -> str:
        if node.name not in filters.FILTERS:
            if not self._is_soft:
                raise jinja2.TemplateAssertionError(f"No filter named {node.name!r}.", node.lineno)
            return f"apply_filter(b, {node.name!r}, {value})"
        simple = len(node.args) == 1 and isinstance(node.args[0], nodes.Const | nodes.Name) and not node.kwargs
        if node.name in {"default", "d"} and simple:
            first, again = self._twice(value)
            return f"({self._code(node.args[0])} if {first}.__class__ is Undefined else {again})"
        if node.name in {"length", "count"} and not (node.args or node.kwargs or node.dyn_args or node.dyn_kwargs):
            return f"len({value})"
        return f"f_{node.name}({self._arguments(node, '', 'b', value)})"

    # ==================
    # Look-ups and calls
    # ==================

    def _code_Getattr(self, node: nodes.Getattr) -> str:
        loop = self._names.loop
        is_static = loop is not None and not loop.is_on_demand and node.attr in STATIC_LOOP
        if loop is not None and is_static and self._is_loop_value(node.node):
            return self._loop_attribute(loop, node.attr)
        return self._lookup(node, node.attr, "attribute")

    def _is_loop_value(self, node: nodes.Node) -> bool:
        return isinstance(node, nodes.Name) and node.name == "loop" and self._names.find("loop") is None

    def _loop_attribute(self, loop: Loop, name: str) -> str:
        items, index, count = loop.items, loop.index, loop.count
        missing = self._undefined("there is no such item")
        codes = {
            "index": f"({index} + 1)",
            "index0": index,
            "first": f"({index} == 0)",
            "last": f"({index} == {count} - 1)",
            "length": count,
            "revindex": f"({count} - {index})",
            "revindex0": f"({count} - {index} - 1)",
            "previtem": f"({items}[{index} - 1] if {index} else {missing})",
            "nextitem": f"({items}[{index} + 1] if {index} + 1 < {count} else {missing})",
        }
        return codes[name]

    def _code_Getitem(self, node: nodes.Getitem) -> str:
        if isinstance(node.arg, nodes.Slice):
            bounds = (node.arg.start, node.arg.stop, node.arg.step)
            codes = ", ".join("None" if bound is None else self._code(bound) for bound in bounds)
            return f"slice_of(b, {self._code(node.node)}, {codes})"
        if isinstance(node.arg, nodes.Const) and isinstance(node.arg.value, str):
            return self._lookup(node, node.arg.value, "item")
        value, missing = self._code(node.node), self._undefined("item")
        if self._kinds.of(node.node, self._names) is Kind.MESSAGES and value.isidentifier():
            index = node.arg.value if isinstance(node.arg, nodes.Const) else None
            if index.__class__ is int and index >= 0:
                return f"({value}[{index}] if len({value}) > {index} else {missing})"
            position = self._code(node.arg)
            if position.isidentifier():
                is_position = f"{position}.__class__ is int and 0 <= {position} < len({value})"
                return f"({value}[{position}] if {is_position} else item({value}, {position}, {missing}))"
        return f"item({value}, {self._code(node.arg)}, {missing})"

    def _lookup(self, node: nodes.Getattr | nodes.Getitem, name: str, function: str) -> str:
        value, missing = self._code(node.node), self._undefined(name)
        kind = self._kinds.of(node.node, self._names)
        if function == "attribute" and name in lookups.DICT_METHODS:
            return f"attribute({value}, {name!r}, {missing})"
        if kind is Kind.MESSAGE:
            variable = self._names.find(node.node.name) if isinstance(node.node, nodes.Name) else None
            if variable is not None and name in variable.fields:
                return variable.fields[name]
            return f"{value}.get({name!r}, {missing})"
        if kind is Kind.NAMESPACE:
            return f"{value}.values.get({name!r}, {missing})"
        first, again = self._twice(value)
        base = self._names.find(node.node.name) if isinstance(node.node, nodes.Name) else None
        if base is not None and base.is_namespace:
            general = f"{function}({value}, {name!r}, {missing})"
            return f"({value}.values.get({name!r}, {missing}) if {value}.__class__ is NamespaceValue else {general})"
        if function == "item" and name in lookups.DICT_METHODS:
            return f"item({value}, {name!r}, {missing})"
        general = f"{function}({again}, {name!r}, {missing})"
        return f"({again}.get({name!r}, {missing}) if {first}.__class__ is D else {general})"

    def _macro_of(self, node: nodes.Call) -> str | None:
        """Return the function of the macro that an expression calls; None if it may call anything else."""
        if not isinstance(node.node, nodes.Name):
            return None
        variable = self._names.find(node.node.name)
        return None if variable is None else variable.macro

    def _arguments(self, node: Any, prefix: str, *first: str, last: str = "") -> str:
        """Return the code of the arguments of a call, a filter or a test. Keywords get a prefix."""
        codes = [*first, *map(self._code, node.args)]
        if node.dyn_args is not None:
            codes.append(f"*iterate(b, {self._code(node.dyn_args)})")
        for pair in node.kwargs:
            name = f"{prefix}{pair.key}"
            value = self._code(pair.value)
            codes.append(f"**{{{name!r}: {value}}}" if keyword.iskeyword(name) else f"{name}={value}")
        if node.dyn_kwargs is not None:
            codes.append(f"**keywords({self._code(node.dyn_kwargs)}, {prefix!r})")
        return ", ".join([*codes, *([last] if last else [])])

    def _code_Call(self, node: nodes.Call) -> str:
        function = node.node
        macro = self._macro_of(node)
        if macro is not None:
            return f"text_of({self._arguments(node, 'p_', 'b', 'cur', macro)})"
        name = function.name if isinstance(function, nodes.Name) else ""
        only_names = not (node.args or node.dyn_args or node.dyn_kwargs)
        is_safe = only_names and not any(pair.key.startswith("_") for pair in node.kwargs)
        if name == "namespace" and self._names.find(name) is None and is_safe:
            pairs = ", ".join(f"{pair.key!r}: {self._code(pair.value)}" for pair in node.kwargs)
            return f"NamespaceValue({self._weighed(f'{{{pairs}}}', [pair.value for pair in node.kwargs])})"
        if name in _GLOBAL_CODES and self._names.find(name) is None:
            return f"{_GLOBAL_CODES[name]}({self._arguments(node, '', 'b')})"
        if isinstance(function, nodes.Getattr) and not self._is_loop_value(function.node):
            return self._method_code(node, function)
        return f"call_value({self._arguments(node, '', 'b', 'cur', self._code(function))})"

    def _method_code(self, node: nodes.Call, function: nodes.Getattr) -> str:
        """Return the code of a call of a method. The most common ones are called directly."""
        name, value = function.attr, self._code(function.node)
        is_text = self._kinds.of(function.node, self._names) is Kind.TEXT
        arguments = self._arguments(node, "")
        following = f", {arguments}" if arguments else ""
        # The code of the arguments is repeated below.
        is_short = all(isinstance(argument, nodes.Const | nodes.Name) for argument in node.args)
        if node.kwargs or node.dyn_args or node.dyn_kwargs or not is_short:
            return f"call_method(b, {value}, {name!r}{following})"
        first, again = self._twice(value)
        if name == "get" and len(node.args) in (1, 2):
            direct, wanted = f"{again}.get({arguments})", "D"
        elif name in methods.QUERIES:
            if is_text:
                return f"str.{name}({value}{following})"
            direct, wanted = f"{again}.{name}({arguments})", "T"
        elif name in methods.DIRECT:
            if is_text:
                return f"{name}(b, {value}{following})"
            direct, wanted = f"{name}(b, {again}{following})", "T"
        else:
            return f"call_method(b, {value}, {name!r}{following})"
        return f"({direct} if {first}.__class__ is {wanted} else call_method(b, {again}, {name!r}{following}))"


def _is_constant(node: nodes.Node) -> bool:
    """Return True if an expression is a constant or a list of constants."""
    return all(isinstance(item, nodes.Const) for item in getattr(node, "items", (node,)))


def field_of(node: nodes.Getattr | nodes.Getitem) -> str | None:
    """Return the name that an expression looks up; None if it is not constant."""
    if isinstance(node, nodes.Getattr):
        return node.attr
    return node.arg.value if isinstance(node.arg, nodes.Const) and isinstance(node.arg.value, str) else None
