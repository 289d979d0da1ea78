"""The values of a chat template that come from messages, from its syntax tree.

The analysis follows the list of messages through variables, loops, macros and namespaces. It does not depend on the
order of statements: a variable may hold everything that is assigned to its name anywhere in the template.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator

from jinja2 import nodes

from renderers.templating.tree import children, find_all

LIST, MESSAGE, ANY, COUNT = "[messages]", "[message]", "[any field]", "[count]"
"""The values that are not fields: the messages, a message, a field with an unknown name, and a number of messages."""


class Form(enum.Enum):
    """The relation of a value to the field that it comes from."""

    DATA = enum.auto()
    """The value, or a part of the text between literals."""
    PIECES = enum.auto()
    """The list of the parts of a text between literals."""
    ITEM = enum.auto()
    """An item of a list, or a character of a text."""
    JOINED = enum.auto()
    """A text that contains the value."""
    CHANGED = enum.auto()
    """A text that is made of the value: it may be written, and is empty only if the value is."""
    SLICED = enum.auto()
    """A text that depends on the positions of characters. It may be written."""
    LENGTH = enum.auto()
    """The length of a text."""


Value = frozenset[tuple[str, Form]]
"""The fields that a value may come from, each with its form. Empty if it comes from no message."""
CLEAN: Value = frozenset()
COUNTED: Value = frozenset({(COUNT, Form.LENGTH)})
LOOP_COUNTS = frozenset({"index", "index0", "revindex", "revindex0", "length"})
APPENDING = frozenset({"append", "extend", "insert", "update"})


class MessageValues:
    """The values that the variables, macro parameters and namespace attributes of a template may hold."""

    def __init__(self, tree: nodes.Template) -> None:
        self._macros = {macro.name: macro for macro in find_all(tree, nodes.Macro)}
        self._held: dict[str, Value] = {"messages": frozenset({(LIST, Form.DATA)})}
        self._bound: dict[str, list[nodes.Node]] = {}
        steps = list(find_all(tree, (nodes.Assign, nodes.AssignBlock, nodes.For, nodes.With, nodes.Call, nodes.Macro)))
        for step in steps:
            for name, node, _ in self._bindings(step):
                self._bound.setdefault(name, []).append(node)
        size = -1
        while size != (size := sum(map(len, self._held.values()))):
            for step in steps:
                for name, _, value in self._bindings(step):
                    self._held[name] = self._held.get(name, CLEAN) | value

    # ==================
    # Values
    # ==================

    def _bindings(self, node: nodes.Node) -> Iterator[tuple[str, nodes.Node, Value]]:
        """Yield the names that a node binds, with the expressions and the values that they may hold after it."""
        if isinstance(node, nodes.Assign):
            value = self.value(node.node)
            if isinstance(node.target, nodes.NSRef) and increments(node.node, node.target.attr):
                value |= COUNTED
            yield from ((name, node.node, value) for name in _target_names(node.target))
        elif isinstance(node, nodes.AssignBlock):
            yield from ((name, node, self._written(node.body)) for name in _target_names(node.target))
        elif isinstance(node, nodes.For):
            value = self._items(self.value(node.iter))
            yield from ((name, node.iter, value) for name in _target_names(node.target))
        elif isinstance(node, nodes.With):
            for target, expression in zip(node.targets, node.values, strict=True):
                yield from ((name, expression, self.value(expression)) for name in _target_names(target))
        elif isinstance(node, nodes.Macro):
            defaults = zip(reversed(node.args), reversed(node.defaults), strict=False)
            yield from ((argument.name, default, self.value(default)) for argument, default in defaults)
            yield f"{node.name}()", node, self._written(node.body)
        elif isinstance(node, nodes.Call):
            yield from self._call_bindings(node)

    def _call_bindings(self, call: nodes.Call) -> Iterator[tuple[str, nodes.Node, Value]]:
        function = call.node
        if isinstance(function, nodes.Getattr) and function.attr in APPENDING:
            added = frozenset().union(*map(self.value, call.args))
            if isinstance(function.node, nodes.Name | nodes.Getattr):
                owner = function.node
                name = owner.name if isinstance(owner, nodes.Name) else f".{owner.attr}"
                yield name, call, frozenset(map(_in_list, added))
        elif isinstance(function, nodes.Name) and function.name == "namespace":
            yield from ((f".{keyword.key}", keyword.value, self.value(keyword.value)) for keyword in call.kwargs)
        elif isinstance(function, nodes.Name) and function.name in self._macros:
            names = [argument.name for argument in self._macros[function.name].args]
            yield from ((name, node, self.value(node)) for name, node in zip(names, call.args, strict=False))
            yield from ((keyword.key, keyword.value, self.value(keyword.value)) for keyword in call.kwargs)

    def value(self, node: nodes.Node | None) -> Value:
        """Return the fields that an expression may come from, each with its form."""
        if node is None or isinstance(node, nodes.Const | nodes.Compare | nodes.Test | nodes.Not):
            return CLEAN
        if isinstance(node, nodes.Name):
            return self._held.get(node.name, CLEAN)
        if isinstance(node, nodes.Getattr):
            return self._attribute(node)
        if isinstance(node, nodes.Getitem):
            return self._item(node)
        if isinstance(node, nodes.Filter):
            return self._filtered(node)
        if isinstance(node, nodes.Call):
            return self._called(node)
        if isinstance(node, nodes.CondExpr):
            return self.value(node.expr1) | self.value(node.expr2)
        values = [self.value(child) for child in children(node)]
        union = frozenset().union(*values)
        if isinstance(node, nodes.List | nodes.Tuple):
            return frozenset(map(_in_list, union))
        if isinstance(node, nodes.Dict):
            return frozenset((name, Form.PIECES if form is Form.DATA else form) for name, form in union)
        if isinstance(node, nodes.And | nodes.Or | nodes.Pair):
            return union
        if isinstance(node, nodes.Add | nodes.Concat):
            return frozenset(pair if pair[0] in (LIST, COUNT) else (pair[0], _joined(pair[1])) for pair in union)
        return frozenset(pair if pair[0] == COUNT else (pair[0], Form.CHANGED) for pair in union)

    def _attribute(self, node: nodes.Getattr) -> Value:
        if isinstance(node.node, nodes.Name) and node.node.name == "loop":
            if node.attr in ("previtem", "nextitem"):
                return frozenset({(MESSAGE, Form.DATA)})
            return COUNTED if node.attr in LOOP_COUNTS else CLEAN
        return self._field(self.value(node.node), node.attr) | self._held.get(f".{node.attr}", CLEAN)

    def _field(self, value: Value, name: str) -> Value:
        # The role of a message is never replaced.
        fields = fields_of(value)
        if not fields or (name == "role" and fields == {(MESSAGE, Form.DATA)}):
            return CLEAN
        # The name may be a key of an object that the template makes of values.
        built = {(owner, form) for owner, other in fields if other is Form.PIECES for form in (other, Form.DATA)}
        return frozenset({(name, Form.DATA), *built})

    def _item(self, node: nodes.Getitem) -> Value:
        value = self.value(node.node)
        if isinstance(node.arg, nodes.Slice):
            kept = (LIST, MESSAGE, "tool_calls")
            return frozenset((name, form if name in kept else Form.SLICED) for name, form in value)
        if isinstance(node.arg, nodes.Const) and isinstance(node.arg.value, str):
            return self._field(value, node.arg.value)
        return self._items(value)

    def _items(self, value: Value) -> Value:
        """Return the value of an item of a list, or of an object under a key that is not known."""
        items = set()
        for name, form in value:
            if name == LIST:
                items.add((MESSAGE, Form.DATA))
            elif form is Form.PIECES:
                items.add((name, Form.DATA))
            elif name == MESSAGE:
                items.add((ANY, Form.DATA))
            else:
                items.add((name, Form.ITEM if form in (Form.DATA, Form.JOINED) else form))
        return frozenset(items)

    def _written(self, body: Iterable[nodes.Node]) -> Value:
        outputs = [output for part in body for output in (part, *find_all(part, nodes.Output))]
        written = [self.value(node) for output in outputs if isinstance(output, nodes.Output) for node in output.nodes]
        return frozenset((name, _joined(form)) for name, form in frozenset().union(*written))

    def _filtered(self, node: nodes.Filter) -> Value:
        value = self.value(node.node)
        match node.name:
            case "default" | "d":
                return value.union(*map(self.value, node.args))
            case "string":
                return frozenset((ANY if name in (LIST, MESSAGE) else name, form) for name, form in value)
            case "trim" | "safe" | "list" | "selectattr" | "rejectattr" | "select" | "reject":
                return value
            case "items" | "dictsort" | "unique" | "sort":
                return frozenset((ANY if name == MESSAGE else name, form) for name, form in value)
            case "reverse":
                kept = (Form.PIECES, Form.ITEM)
                return frozenset(
                    pair if pair[0] == LIST or pair[1] in kept else (pair[0], Form.CHANGED) for pair in value
                )
            case "first" | "last" | "random":
                return self._items(value)
            case "length" | "count":
                return frozenset().union(*map(self._length, value))
            case "replace":
                return _with_form(value, Form.CHANGED if leaves_text(node.args) else Form.JOINED)
            case "join":
                return _with_form(self._attribute_values(node, value) or value, Form.JOINED)
            case "map":
                return _with_form(self._attribute_values(node, value) or value, Form.PIECES)
        operands = (value, *map(self.value, node.args), *(self.value(keyword.value) for keyword in node.kwargs))
        return _with_form(frozenset().union(*operands), Form.CHANGED)

    def _length(self, pair: tuple[str, Form]) -> Value:
        name, form = pair
        if name == COUNT or (name == LIST and form is Form.DATA):
            return COUNTED
        # The number of calls, of keys and of literals in a text is part of a sample.
        is_counted = (name in (MESSAGE, "tool_calls") and form is Form.DATA) or form is Form.PIECES
        return CLEAN if is_counted else frozenset({(name, Form.LENGTH)})

    def _attribute_values(self, node: nodes.Filter, value: Value) -> Value:
        names = [keyword.value for keyword in node.kwargs if keyword.key == "attribute"]
        texts = [name.value for name in names if isinstance(name, nodes.Const) and isinstance(name.value, str)]
        return self._field(value, texts[0].rpartition(".")[2]) if texts else CLEAN

    def _called(self, call: nodes.Call) -> Value:
        function, arguments = call.node, self._arguments(call)
        if isinstance(function, nodes.Name):
            is_macro = function.name in self._macros
            if is_macro:
                return self._held.get(f"{function.name}()", CLEAN)
            return frozenset((name, Form.PIECES if form is Form.DATA else form) for name, form in arguments)
        if not isinstance(function, nodes.Getattr):
            return _with_form(self.value(function) | arguments, Form.CHANGED)
        value = self.value(function.node)
        match function.attr:
            case "get" if call.args:
                key = call.args[0]
                name = key.value if isinstance(key, nodes.Const) else None
                member = self._field(value, name) if isinstance(name, str) else self._items(value)
                return member.union(*map(self.value, call.args[1:]))
            case "items" | "values" | "keys" | "copy":
                return frozenset((ANY if name == MESSAGE else name, form) for name, form in value)
            case "strip" | "lstrip" | "rstrip" | "removeprefix" | "removesuffix":
                return value
            case "split" | "rsplit" | "partition" | "rpartition":
                return _with_form(value, Form.PIECES)
            case "replace":
                return _with_form(value | arguments, Form.CHANGED if leaves_text(call.args) else Form.JOINED)
            case "join" | "format":
                return _with_form(value | arguments, Form.JOINED)
            case "startswith" | "endswith":
                return CLEAN
        return _with_form(value | arguments, Form.CHANGED) | self._held.get(f".{function.attr}", CLEAN)

    def _arguments(self, call: nodes.Call) -> Value:
        nodes_of_values = (*call.args, *(keyword.value for keyword in call.kwargs), call.dyn_args, call.dyn_kwargs)
        return frozenset().union(*map(self.value, nodes_of_values))


def _in_list(pair: tuple[str, Form]) -> tuple[str, Form]:
    """Return the value of a list that contains a value."""
    name, form = pair
    if name == MESSAGE:
        return LIST, form
    return name, Form.PIECES if form in (Form.DATA, Form.ITEM, Form.JOINED) else form


def _joined(form: Form) -> Form:
    return Form.JOINED if form in (Form.DATA, Form.ITEM) else form


def _with_form(value: Value, form: Form) -> Value:
    return frozenset((name, form) for name, _ in value)


def names_of(value: Value) -> set[str]:
    return {name for name, _ in value}


def fields_of(value: Value) -> Value:
    return frozenset(pair for pair in value if pair[0] != COUNT)


def leaves_text(arguments: list[nodes.Expr]) -> bool:
    """Return True if `replace` with some arguments cannot leave an empty text."""
    new = arguments[1] if len(arguments) == 2 and isinstance(arguments[0], nodes.Const) else None
    return isinstance(new, nodes.Const) and isinstance(new.value, str) and bool(new.value)


def increments(node: nodes.Node, attribute: str) -> bool:
    """Return True if a namespace attribute is set to a sum that contains it."""
    parts = find_all(node, nodes.Getattr) if isinstance(node, nodes.Add) else ()
    return any(part.attr == attribute for part in parts)


def _target_names(target: nodes.Node) -> Iterator[str]:
    if isinstance(target, nodes.Tuple):
        for item in target.items:
            yield from _target_names(item)
    elif isinstance(target, nodes.NSRef):
        yield f".{target.attr}"
    elif isinstance(target, nodes.Name):
        yield target.name
