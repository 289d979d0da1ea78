"""Infer the kinds of expressions while compiling, so that generated code needs fewer checks.

A kind is a guarantee about every value that an expression can have at run time. None means that nothing is known.
"""

# ruff: noqa: N802 - the methods that visit a node have its name
from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from jinja2 import nodes

from renderers.templating.syntax import names_in_target, own_statements


class Kind(enum.Enum):
    """The kind of an expression."""

    TEXT = "a text that is not marked as safe"
    INTEGER = "an integer"
    NUMBER = "a number"
    TRUTH = "a boolean"
    MESSAGE = "a message"
    MESSAGES = "a list of messages"
    NAMESPACE = "a namespace"
    CONTAINER = "a list, tuple or dict"


NUMBERS = frozenset({Kind.INTEGER, Kind.NUMBER})
SCALARS = NUMBERS | {Kind.TRUTH}


@dataclass
class Variable:
    """A template variable: its name in the generated code, and its kind."""

    python: str
    kind: Kind | None = None
    fields: dict[str, str] = field(default_factory=dict)
    """The fields of a message that were read into variables of the generated code."""
    is_namespace: bool = False
    """True if the variable is usually a namespace."""
    macro: str | None = None
    """The function of the generated code, if the variable is a macro that is defined by now."""


@dataclass(frozen=True)
class Loop:
    """The variables of the generated code for a loop."""

    items: str
    index: str
    count: str
    value: str | None
    is_on_demand: bool = False
    """True if the items are selected when they are needed, so that their number is not known beforehand."""


class Names:
    """The variables of one scope of a template, within the scope `parent`."""

    def __init__(self, parent: Names | None, variables: dict[str, Variable], bindings: Mapping[str, int]) -> None:
        self.parent = parent
        self.variables = variables
        self.bindings = bindings
        """How often the statements of the scope bind each name."""
        self.loop: Loop | None = parent.loop if parent is not None else None

    def find(self, name: str) -> Variable | None:
        """Return the variable of a name; None if the template does not bind it."""
        names: Names | None = self
        while names is not None:
            if name in names.variables:
                return names.variables[name]
            if name == "loop" and names.parent is not None and names.loop is not names.parent.loop:
                # The loop of this scope hides a variable of the same name outside.
                return None
            names = names.parent
        return None


_MOST_ROUNDS = 8
"""After this many rounds of inference the kinds that are left are given up."""
MARKUP_FILTERS = frozenset("e escape forceescape safe urlize xmlattr".split())
_ALWAYS_TEXT = frozenset("join replace tojson".split())
_SOFT_TEXT = frozenset("capitalize center format indent lower string title trim upper".split())
"""Filters that return a text that is marked as safe only if their input is."""
_TEXT_METHODS = frozenset(
    "capitalize casefold center expandtabs format join ljust lower lstrip removeprefix removesuffix replace rjust "
    "rstrip strip swapcase title translate upper zfill".split()
)
_LOOP_NUMBERS = frozenset("index index0 length revindex revindex0 depth depth0".split())
_LOOP_FLAGS = frozenset("first last".split())


class KindInference:
    """Find the kinds of expressions. `markup` is True if texts of the template can be marked as safe."""

    def __init__(self, *, markup: bool) -> None:
        self._markup = markup

    def of(self, node: nodes.Node | None, names: Names) -> Kind | None:
        """Return the kind of an expression."""
        if isinstance(node, nodes.Compare | nodes.Test | nodes.Not):
            return Kind.TRUTH
        if isinstance(node, nodes.List | nodes.Tuple | nodes.Dict):
            return Kind.CONTAINER
        if isinstance(node, nodes.Concat):
            return Kind.TEXT
        if isinstance(node, nodes.Div | nodes.FloorDiv | nodes.Neg | nodes.Pos):
            return Kind.NUMBER
        find = getattr(self, f"_of_{type(node).__name__}", None)
        kind: Kind | None = None if find is None else find(node, names)
        return kind

    def of_items(self, node: nodes.Node, names: Names) -> Kind | None:
        """Return the kind of the items that a loop over an expression has."""
        if isinstance(node, nodes.Call) and isinstance(node.node, nodes.Name) and node.node.name == "range":
            return Kind.INTEGER if names.find("range") is None else None
        return Kind.MESSAGE if self.of(node, names) is Kind.MESSAGES else None

    def infer_variables(self, names: Names, body: list[nodes.Node], initial: Mapping[str, Kind | None]) -> None:
        """Set the kinds of the variables of a scope. `initial` has those that it may read before it sets them."""
        values: dict[str, list[nodes.Node | None]] = {}
        for node in own_statements(body):
            if isinstance(node, nodes.Assign) and isinstance(node.target, nodes.Name):
                values.setdefault(node.target.name, []).append(node.node)
            elif isinstance(node, nodes.Assign | nodes.AssignBlock):
                for name in names_in_target(node.target):
                    values.setdefault(name, []).append(None)
            elif isinstance(node, nodes.Macro):
                values.setdefault(node.name, []).append(None)
        rounds = 0
        for name, assigned in values.items():
            variable = names.variables[name]
            variable.kind = initial[name] if name in initial else self.of(assigned[0], names)
            variable.is_namespace = any(self.of(node, names) is Kind.NAMESPACE for node in assigned)
        changed = True
        while changed:
            rounds += 1
            # A variable that is assigned several times has a kind if all values have it, given the kinds so far.
            changed = False
            for name, assigned in values.items():
                variable = names.variables[name]
                if variable.kind is not None and (
                    rounds > _MOST_ROUNDS or any(self.of(node, names) is not variable.kind for node in assigned)
                ):
                    variable.kind = None
                    changed = True

    # ==================
    # Expressions
    # ==================

    def _of_Const(self, node: nodes.Const, _: Names) -> Kind | None:
        kinds = {str: Kind.TEXT, bool: Kind.TRUTH, int: Kind.INTEGER}
        return kinds.get(type(node.value))

    def _of_Name(self, node: nodes.Name, names: Names) -> Kind | None:
        variable = names.find(node.name)
        if variable is not None:
            return variable.kind
        return Kind.MESSAGES if node.name == "messages" else None

    def _of_Add(self, node: nodes.Add, names: Names) -> Kind | None:
        sides = self.of(node.left, names), self.of(node.right, names)
        if sides == (Kind.TEXT, Kind.TEXT) or (Kind.TEXT in sides and not self._markup):
            return Kind.TEXT
        if sides == (Kind.INTEGER, Kind.INTEGER):
            return Kind.INTEGER
        # Only a number can be added to a number.
        return Kind.NUMBER if NUMBERS.intersection(sides) else None

    def _of_Sub(self, node: nodes.Sub, names: Names) -> Kind:
        sides = self.of(node.left, names), self.of(node.right, names)
        return Kind.INTEGER if sides == (Kind.INTEGER, Kind.INTEGER) else Kind.NUMBER

    def _of_Filter(self, node: nodes.Filter, names: Names) -> Kind | None:
        if node.name in _ALWAYS_TEXT:
            return Kind.TEXT
        if node.name in _SOFT_TEXT:
            return Kind.TEXT if not self._markup or self.of(node.node, names) is Kind.TEXT else None
        if node.name in {"length", "count"}:
            return Kind.INTEGER
        return Kind.CONTAINER if node.name == "list" else None

    def _of_Call(self, node: nodes.Call, names: Names) -> Kind | None:
        function = node.node
        if isinstance(function, nodes.Name):
            variable = names.find(function.name)
            if variable is not None:
                return Kind.TEXT if variable.macro is not None else None
            return {"namespace": Kind.NAMESPACE, "strftime_now": Kind.TEXT, "dict": Kind.CONTAINER}.get(function.name)
        if isinstance(function, nodes.Getattr) and function.attr in _TEXT_METHODS:
            return Kind.TEXT if not self._markup or self.of(function.node, names) is Kind.TEXT else None
        return None

    def _of_CondExpr(self, node: nodes.CondExpr, names: Names) -> Kind | None:
        first = self.of(node.expr1, names)
        return first if node.expr2 is not None and self.of(node.expr2, names) is first else None

    def _of_Getattr(self, node: nodes.Getattr, names: Names) -> Kind | None:
        if isinstance(node.node, nodes.Name) and node.node.name == "loop" and names.loop is not None:
            return Kind.INTEGER if node.attr in _LOOP_NUMBERS else Kind.TRUTH if node.attr in _LOOP_FLAGS else None
        return None

    def _of_Getitem(self, node: nodes.Getitem, names: Names) -> Kind | None:
        if not isinstance(node.arg, nodes.Slice):
            return None
        kind = self.of(node.node, names)
        return kind if kind in (Kind.TEXT, Kind.MESSAGES) else None
