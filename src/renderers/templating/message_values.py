"""The values of a chat template that come from messages, from its syntax tree.

The analysis follows the list of messages through variables, loops, macros and namespaces. It does not depend on the
order of statements: a variable may hold everything that is assigned to its name anywhere in the template.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterable, Iterator

from jinja2 import nodes

from renderers.templating.lookups import METHOD_NAMES
from renderers.templating.tree import children, find_all, types_of

LIST, MESSAGE, ANY, COUNT = "[messages]", "[message]", "[any field]", "[count]"
"""The values that are not fields: the messages, a message, a field with an unknown name, and a number of messages."""


class Form(enum.Enum):
    """The relation of a value to the field that it comes from."""

    DATA = enum.auto()
    """The value, or a part of the text between literals, without whitespace at its ends or with it."""
    PIECES = enum.auto()
    """A list or an object that contains such values."""
    ITEM = enum.auto()
    """An item of a list, or a character of a text, in a loop."""
    JOINED = enum.auto()
    """A text that contains such values."""
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
_VALUES = "_known_values"
"""The name of the attribute of a tree that keeps the values of its names, which several analyses read."""
APPENDING = frozenset({"append", "extend", "insert", "update"})
_WITHOUT_VALUE = types_of((nodes.Const, nodes.TemplateData, nodes.Compare, nodes.Test, nodes.Not))
"""Constants, and expressions with results that are True or False."""


class MessageValues:
    """The values that the variables, macro parameters and namespace attributes of a template may hold."""

    def __init__(self, tree: nodes.Template) -> None:
        known = tree.__dict__.get(_VALUES)
        if known is None:
            self._follow(tree)
            tree.__dict__[_VALUES] = dict(vars(self))
        else:
            vars(self).update(known)

    def _follow(self, tree: nodes.Template) -> None:
        """Find the values that each name may hold."""
        macros = find_all(tree, nodes.Macro)
        counts = Counter(macro.name for macro in macros)
        self._macros = {macro.name: macro for macro in macros if counts[macro.name] == 1}
        """The macros, without those that are defined twice."""
        self._held: dict[str, Value] = {"messages": frozenset({(LIST, Form.DATA)})}
        self._bound: dict[str, list[nodes.Node]] = {}
        self._known: dict[nodes.Node, Value] = {}
        """The values of expressions, from the values of the names so far."""
        self._loops = find_all(tree, nodes.For)
        self._aliases: dict[str, set[str]] = {}
        """The names and namespace attributes that the value of each name may be taken from."""
        steps = list(find_all(tree, (nodes.Assign, nodes.AssignBlock, nodes.For, nodes.With, nodes.Call, nodes.Macro)))
        for step in steps:
            for name, node, _ in self._bindings(step):
                self._aliases.setdefault(name, set()).update(_holders(node))
        binding: dict[nodes.Node, None] = {}
        for step in steps:
            for name, node, _ in self._bindings(step):
                self._bound.setdefault(name, []).append(node)
                binding[step] = None
        size = -1
        while size != (size := sum(map(len, self._held.values()))):
            for step in binding:
                for name, _, value in self._bindings(step):
                    held = self._held.get(name, CLEAN)
                    if not value <= held:
                        self._held[name] = held | value
                        self._known.clear()

    # ==================
    # Values
    # ==================

    def _bindings(self, node: nodes.Node) -> Iterator[tuple[str, nodes.Node, Value]]:
        """Yield the names that a node binds, with the expressions and the values that they may hold after it."""
        if type(node) is nodes.Assign:
            value = self.value(node.node)
            if type(node.target) is nodes.NSRef and increments(node.node, node.target.attr):
                value |= COUNTED
            yield from self._target_bindings(node.target, node.node, value)
        elif type(node) is nodes.AssignBlock:
            written = self._written(node.body)
            written = _with_form(written, Form.CHANGED) if node.filter else written
            yield from self._target_bindings(node.target, node, written)
        elif type(node) is nodes.For:
            yield from self._target_bindings(node.target, node.iter, self._items(self.value(node.iter)))
        elif type(node) is nodes.With:
            for target, expression in zip(node.targets, node.values, strict=True):
                yield from self._target_bindings(target, expression, self.value(expression))
        elif type(node) is nodes.Macro:
            defaults = zip(reversed(node.args), reversed(node.defaults), strict=False)
            yield from ((argument.name, default, self.value(default)) for argument, default in defaults)
            yield f"{node.name}()", node, self._written(node.body)
        elif type(node) is nodes.Call:
            yield from self._call_bindings(node)

    def _target_bindings(
        self, target: nodes.Node, node: nodes.Node, value: Value
    ) -> Iterator[tuple[str, nodes.Node, Value]]:
        if type(target) is nodes.Tuple:
            # The items may be lists as well.
            for item in target.items:
                yield from self._target_bindings(item, node, value | self._items(value))
        elif type(target) is nodes.NSRef:
            yield f".{target.attr}", node, value
        elif type(target) is nodes.Name:
            yield target.name, node, value

    def _call_bindings(self, call: nodes.Call) -> Iterator[tuple[str, nodes.Node, Value]]:
        function = call.node
        if type(function) is nodes.Getattr and function.attr in APPENDING:
            added = self._arguments(call)
            if function.attr == "extend":
                added |= self._items(added)
            in_list = frozenset(map(_in_list, added))
            # The list may have other names.
            for name in self._names_of_list(function.node):
                yield name, call, in_list
        elif type(function) is nodes.Name and function.name == "namespace":
            yield from ((f".{keyword.key}", keyword.value, self.value(keyword.value)) for keyword in call.kwargs)
        elif type(function) is nodes.Name and function.name in self._macros:
            names = [argument.name for argument in self._macros[function.name].args]
            yield from ((name, node, self.value(node)) for name, node in zip(names, call.args, strict=False))
            yield from ((keyword.key, keyword.value, self.value(keyword.value)) for keyword in call.kwargs)

    def _names_of_list(self, owner: nodes.Node) -> set[str]:
        """Return the names that may hold the value of an expression, which is changed."""
        names, pending = set[str](), list(_holders(owner))
        while pending:
            name = pending.pop()
            if name not in names and name != "messages":
                names.add(name)
                pending += self._aliases.get(name, ())
                # The value may have been given to other names.
                pending += [other for other, sources in self._aliases.items() if name in sources]
        return names

    def value(self, node: nodes.Node | None) -> Value:
        """Return the fields that an expression may come from, each with its form."""
        if node is None or type(node) in _WITHOUT_VALUE:
            return CLEAN
        value = self._known.get(node)
        if value is None:
            value = self._known[node] = self._value(node)
        return value

    def _value(self, node: nodes.Node) -> Value:
        if type(node) is nodes.Name:
            return self._held.get(node.name, CLEAN)
        if type(node) is nodes.Getattr:
            return self._attribute(node)
        if type(node) is nodes.Getitem:
            return self._item(node)
        if type(node) is nodes.Filter:
            return self._filtered(node)
        if type(node) is nodes.Call:
            return self._called(node)
        if type(node) is nodes.CondExpr:
            return self.value(node.expr1) | self.value(node.expr2)
        union = frozenset().union(*map(self.value, children(node)))
        if type(node) in (nodes.List, nodes.Tuple):
            return frozenset(map(_in_list, union))
        if type(node) is nodes.Dict:
            return frozenset((name, Form.PIECES if form is Form.DATA else form) for name, form in union)
        if type(node) in (nodes.And, nodes.Or, nodes.Pair):
            return union
        if type(node) in (nodes.Add, nodes.Concat):
            return frozenset(pair if pair[0] in (LIST, COUNT) else (pair[0], _joined(pair[1])) for pair in union)
        return frozenset(pair if pair[0] == COUNT else (pair[0], Form.CHANGED) for pair in union)

    def _attribute(self, node: nodes.Getattr) -> Value:
        if node.attr in ("previtem", "nextitem"):
            # The variable `loop` may have another name.
            items = frozenset().union(*(self._items(self.value(loop.iter)) for loop in self._loops))
            return items | self._field(self.value(node.node), node.attr)
        if isinstance(node.node, nodes.Name) and node.node.name == "loop":
            return COUNTED if node.attr in LOOP_COUNTS else CLEAN
        return self._field(self.value(node.node), node.attr) | self._held.get(f".{node.attr}", CLEAN)

    def _field(self, value: Value, name: str) -> Value:
        # The role of a message is never replaced.
        fields = fields_of(value)
        if not fields or (name == "role" and fields == {(MESSAGE, Form.DATA)}):
            return CLEAN
        # The name may be a key of an object that the template makes of values.
        built = {(owner, form) for owner, other in fields if other is Form.PIECES for form in (other, Form.DATA)}
        if name in METHOD_NAMES[str]:
            # A method of a text that is not called here.
            built |= _with_form(fields, Form.CHANGED)
        return frozenset({(name, Form.DATA), *built})

    def _at_position(self, value: Value) -> Value:
        """Return the value of an item at some place of a list, or of a character at a place of a text."""
        return frozenset((name, Form.SLICED if form is Form.ITEM else form) for name, form in self._items(value))

    def _item(self, node: nodes.Getitem) -> Value:
        value = self.value(node.node)
        if isinstance(node.arg, nodes.Slice):
            kept = (LIST, MESSAGE, "tool_calls")
            # The number of pieces is part of a sample.
            return frozenset(
                pair if pair[0] in kept or pair[1] is Form.PIECES else (pair[0], Form.SLICED) for pair in value
            )
        if isinstance(node.arg, nodes.Const) and isinstance(node.arg.value, str):
            return self._field(value, node.arg.value) | self._held.get(f".{node.arg.value}", CLEAN)
        attributes = (held for name, held in self._held.items() if name.startswith("."))
        is_position = isinstance(node.arg, nodes.Const | nodes.Neg | nodes.Add | nodes.Sub)
        item = self._at_position(value)
        return item if is_position else item.union(*attributes)

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
        parts = [
            part for statement in body for part in (statement, *find_all(statement, (nodes.Output, nodes.FilterBlock)))
        ]
        written = [self.value(node) for part in parts if isinstance(part, nodes.Output) for node in part.nodes]
        joined = frozenset((name, _joined(form)) for name, form in frozenset().union(*written))
        is_filtered = any(isinstance(part, nodes.FilterBlock) for part in parts)
        return _with_form(joined, Form.CHANGED) if is_filtered else joined

    def _filtered(self, node: nodes.Filter) -> Value:
        value = self.value(node.node)
        match node.name:
            case "default" | "d":
                return value.union(*map(self.value, node.args))
            case "string":
                return frozenset((ANY if name in (LIST, MESSAGE) else name, _as_text(form)) for name, form in value)
            case "trim" | "list" | "selectattr" | "rejectattr" | "select" | "reject":
                return value
            case "items" | "dictsort" | "unique" | "sort":
                return frozenset((ANY if name == MESSAGE else name, form) for name, form in value)
            case "reverse":
                kept = (Form.PIECES, Form.ITEM)
                return frozenset(
                    pair if pair[0] == LIST or pair[1] in kept else (pair[0], Form.CHANGED) for pair in value
                )
            case "first" | "last" | "random":
                return self._at_position(value)
            case "length" | "count":
                return frozenset().union(*map(self._length, value))
            case "replace":
                return _with_form(value, Form.CHANGED if leaves_text(node.args) else Form.JOINED)
            case "join":
                attributes = self._attribute_values(node, value)
                return _with_form(attributes, Form.JOINED) or frozenset(
                    (name, _list_joined(form)) for name, form in value
                )
            case "map":
                attributes = self._attribute_values(node, value)
                return _with_form(attributes, Form.PIECES) or _with_form(value, _mapped(node))
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
            case "join":
                joined = {(name, _list_joined(form)) for name, form in arguments}
                return frozenset({*joined, *((name, _joined(form)) for name, form in value)})
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
    return name, Form.PIECES if form in (Form.DATA, Form.JOINED) else form


def _joined(form: Form) -> Form:
    """Return the form of a text that a value is joined with others in."""
    return Form.JOINED if form in (Form.DATA, Form.ITEM) else form


def _list_joined(form: Form) -> Form:
    """Return the form of a text that is joined from the items of a value, which may be characters."""
    return {Form.PIECES: Form.JOINED, Form.SLICED: Form.SLICED, Form.LENGTH: Form.LENGTH}.get(form, Form.CHANGED)


def _mapped(node: nodes.Filter) -> Form:
    """Return the form of a list that a filter is applied to the items of."""
    names = [name.value for name in node.args[:1] if isinstance(name, nodes.Const)]
    return Form.PIECES if names and names[0] in ("trim", "string") else Form.CHANGED


def _as_text(form: Form) -> Form:
    """Return the form of the text of a value. That of a list depends on the characters of its texts."""
    return Form.CHANGED if form is Form.PIECES else form


def _holders(node: nodes.Node | None) -> set[str]:
    """Return the names and namespace attributes that may hold the value of an expression, or a part of it."""
    match node:
        case nodes.Name():
            return {node.name}
        case nodes.Getattr():
            return {f".{node.attr}"}
        case nodes.Getitem() if isinstance(node.arg, nodes.Const) and isinstance(node.arg.value, str):
            return {f".{node.arg.value}", *_holders(node.node)}
        case nodes.Getitem():
            return _holders(node.node)
        case nodes.CondExpr():
            return _holders(node.expr1) | _holders(node.expr2)
        case nodes.Call(node=nodes.Getattr() as method):
            return _holders(method.node).union(*map(_holders, node.args))
        case nodes.And() | nodes.Or() | nodes.List() | nodes.Tuple() | nodes.Dict() | nodes.Pair() | nodes.Filter():
            return set().union(*map(_holders, children(node)))
        case nodes.Call() | nodes.Keyword():
            return set().union(*map(_holders, children(node)))
    return set()


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
