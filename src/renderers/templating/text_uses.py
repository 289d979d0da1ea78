"""How a chat template uses the texts of messages, from its syntax tree.

The analysis follows the list of messages through variables, loops, macros and namespaces. A use is harmless if it
depends on a text only through its literals, its whitespace at the ends, and whether it is empty: the text is written,
trimmed, split at a literal, or tested for truth, for its type or against literals. Every other use, and every use that
the analysis does not know, marks the field of the text as exact: its text may not be replaced in a sample.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from jinja2 import nodes

from renderers.core.literals import SHORT_TEXT, TemplateLiterals, TextUses
from renderers.templating.literals import (
    TESTING,
    constant_texts,
    literals_of,
    syntax_tree,
    template_literals,
    template_variables,
)

_LIST, _MESSAGE, _ANY, _COUNT = "[messages]", "[message]", "[any field]", "[count]"
_LINKED = (
    frozenset({"content", "text"}),
    frozenset({"id", "tool_call_id"}),
    frozenset({"reasoning_content", "thinking", "reasoning"}),
)
"""Fields that hold the same text: messages are adapted, and a result has the id of its call."""
_CALL_IDS = frozenset({"id", "tool_call_id"})
_IDS = _CALL_IDS | {"name"}
"""Fields that a template may compare with each other. Samples keep which of them are equal."""
_LARGEST_COUNT = 64
"""The largest number of messages that is tried."""


class _Form(enum.Enum):
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


_Value = frozenset[tuple[str, _Form]]
_CLEAN: _Value = frozenset()
_COUNTED: _Value = frozenset({(_COUNT, _Form.LENGTH)})
_SHAPE_TESTS = frozenset(
    {"defined", "undefined", "none", "mapping", "string", "sequence", "iterable", "boolean", "number", "integer"}
    | {"float", "true", "false", "callable"}
)
_EQUALITY = frozenset({"eq", "equalto", "==", "ne", "!="})
_CHANGING = frozenset({"upper", "lower", "capitalize", "title", "casefold", "swapcase", "escape", "e", "tojson"})
"""Filters and methods that change a text, and leave nothing only if it is empty."""
_LOOP_COUNTS = frozenset({"index", "index0", "revindex", "revindex0", "length"})
_UNTESTED = frozenset({"join", "default", "d", "tojson", "indent", "map", "list", "string", "length", "count"})
"""Filters with arguments that no text is tested against."""
_APPENDING = frozenset({"append", "extend", "insert", "update"})


@functools.lru_cache(maxsize=256)
def text_uses(source: str) -> TextUses:
    """Return how a template uses the texts of messages.

    >>> text_uses("{% for m in messages %}{{ m.content | trim if m.name != 'Ada' }}{% endfor %}").exact_fields
    frozenset()
    >>> sorted(text_uses("{% for m in messages %}{{ m.name | length > 9 }}{% endfor %}").exact_fields)
    ['name']
    """
    tree = syntax_tree(source)
    analysis, variables = _Analysis(tree, template_literals(source)), template_variables(tree)
    testing = [node for node in tree.find_all(TESTING) if analysis.is_tested(node)]
    exposed: set[str] = set()
    counts: set[int] = set()
    lengths: set[tuple[bool, int]] = {(False, 0)}
    for node in tree.find_all(nodes.Node):
        exposed |= {name for name, _ in analysis.exposed(node)} - {_COUNT}
        counts.update(analysis.compared_numbers(node, lambda name, _: name == _COUNT))
        lengths.update((False, length) for length in analysis.compared_numbers(node, _is_length))
        lengths.update((True, length) for length in analysis.compared_numbers(node, _is_id_length))
    exact_fields = frozenset(exposed.union(*(fields for fields in _LINKED if fields & exposed)))
    return TextUses(
        None if exact_fields & {_LIST, _MESSAGE, _ANY} else exact_fields,
        short_length=max(length for of_id, length in lengths if not of_id and length <= SHORT_TEXT),
        id_lengths=any(of_id for of_id, _ in lengths),
        tested=frozenset(text for node in testing for text, _ in literals_of(node, variables)).union(
            *(analysis.bound_texts(name.name) for node in testing for name in node.find_all(nodes.Name))
        ),
        joins_texts=any(map(analysis.tests_joined_text, testing)),
        counts=frozenset(count for count in counts if 2 < count <= _LARGEST_COUNT),
    )


def _in_list(pair: tuple[str, _Form]) -> tuple[str, _Form]:
    """Return the value of a list that contains a value."""
    name, form = pair
    if name == _MESSAGE:
        return _LIST, form
    return name, _Form.PIECES if form in (_Form.DATA, _Form.ITEM, _Form.JOINED) else form


def _joined(form: _Form) -> _Form:
    return _Form.JOINED if form in (_Form.DATA, _Form.ITEM) else form


def _with_form(value: _Value, form: _Form) -> _Value:
    return frozenset((name, form) for name, _ in value)


class _Analysis:
    """The values that the variables, macro parameters and namespace attributes of a template may hold."""

    def __init__(self, tree: nodes.Template, literals: TemplateLiterals) -> None:
        self._literals = literals
        self._macros = {macro.name: macro for macro in tree.find_all(nodes.Macro)}
        self._held: dict[str, _Value] = {"messages": frozenset({(_LIST, _Form.DATA)})}
        self._bound: dict[str, list[nodes.Node]] = {}
        steps = list(tree.find_all((nodes.Assign, nodes.AssignBlock, nodes.For, nodes.With, nodes.Call, nodes.Macro)))
        for step in steps:
            for name, node, _ in self._bindings(step):
                self._bound.setdefault(name, []).append(node)
        size = -1
        while size != (size := sum(map(len, self._held.values()))):
            for step in steps:
                for name, _, value in self._bindings(step):
                    self._held[name] = self._held.get(name, _CLEAN) | value

    # ==================
    # Values
    # ==================

    def _bindings(self, node: nodes.Node) -> Iterator[tuple[str, nodes.Node, _Value]]:
        """Yield the names that a node binds, with the expressions and the values that they may hold after it."""
        if isinstance(node, nodes.Assign):
            value = self.value(node.node)
            if isinstance(node.target, nodes.NSRef) and _increments(node.node, node.target.attr):
                value |= _COUNTED
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

    def _call_bindings(self, call: nodes.Call) -> Iterator[tuple[str, nodes.Node, _Value]]:
        function = call.node
        if isinstance(function, nodes.Getattr) and function.attr in _APPENDING:
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

    def value(self, node: nodes.Node | None) -> _Value:
        """Return the fields that an expression may come from, each with its form."""
        if node is None or isinstance(node, nodes.Const | nodes.Compare | nodes.Test | nodes.Not):
            return _CLEAN
        if isinstance(node, nodes.Name):
            return self._held.get(node.name, _CLEAN)
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
        values = [self.value(child) for child in node.iter_child_nodes()]
        union = frozenset().union(*values)
        if isinstance(node, nodes.List | nodes.Tuple):
            return frozenset(map(_in_list, union))
        if isinstance(node, nodes.Dict):
            return frozenset((name, _Form.PIECES if form is _Form.DATA else form) for name, form in union)
        if isinstance(node, nodes.And | nodes.Or | nodes.Pair):
            return union
        if isinstance(node, nodes.Add | nodes.Concat):
            return frozenset(pair if pair[0] in (_LIST, _COUNT) else (pair[0], _joined(pair[1])) for pair in union)
        return frozenset(pair if pair[0] == _COUNT else (pair[0], _Form.CHANGED) for pair in union)

    def _attribute(self, node: nodes.Getattr) -> _Value:
        if isinstance(node.node, nodes.Name) and node.node.name == "loop":
            if node.attr in ("previtem", "nextitem"):
                return frozenset({(_MESSAGE, _Form.DATA)})
            return _COUNTED if node.attr in _LOOP_COUNTS else _CLEAN
        return self._field(self.value(node.node), node.attr) | self._held.get(f".{node.attr}", _CLEAN)

    def _field(self, value: _Value, name: str) -> _Value:
        # The role of a message is never replaced.
        fields = _fields_of(value)
        if not fields or (name == "role" and fields == {(_MESSAGE, _Form.DATA)}):
            return _CLEAN
        # The name may be a key of an object that the template makes of values.
        made = {(owner, form) for owner, other in fields if other is _Form.PIECES for form in (other, _Form.DATA)}
        return frozenset({(name, _Form.DATA), *made})

    def _item(self, node: nodes.Getitem) -> _Value:
        value = self.value(node.node)
        if isinstance(node.arg, nodes.Slice):
            kept = (_LIST, _MESSAGE, "tool_calls")
            return frozenset((name, form if name in kept else _Form.SLICED) for name, form in value)
        if isinstance(node.arg, nodes.Const) and isinstance(node.arg.value, str):
            return self._field(value, node.arg.value)
        return self._items(value)

    def _items(self, value: _Value) -> _Value:
        """Return the value of an item of a list, or of an object under a key that is not known."""
        items = set()
        for name, form in value:
            if name == _LIST:
                items.add((_MESSAGE, _Form.DATA))
            elif form is _Form.PIECES:
                items.add((name, _Form.DATA))
            elif name == _MESSAGE:
                items.add((_ANY, _Form.DATA))
            else:
                items.add((name, _Form.ITEM if form in (_Form.DATA, _Form.JOINED) else form))
        return frozenset(items)

    def _written(self, body: Iterable[nodes.Node]) -> _Value:
        outputs = [output for part in body for output in (part, *part.find_all(nodes.Output))]
        written = [self.value(node) for output in outputs if isinstance(output, nodes.Output) for node in output.nodes]
        return frozenset((name, _joined(form)) for name, form in frozenset().union(*written))

    def _filtered(self, node: nodes.Filter) -> _Value:
        value = self.value(node.node)
        match node.name:
            case "default" | "d":
                return value.union(*map(self.value, node.args))
            case "string":
                return frozenset((_ANY if name in (_LIST, _MESSAGE) else name, form) for name, form in value)
            case "trim" | "safe" | "list" | "selectattr" | "rejectattr" | "select" | "reject":
                return value
            case "items" | "dictsort" | "unique" | "sort":
                return frozenset((_ANY if name == _MESSAGE else name, form) for name, form in value)
            case "reverse":
                kept = (_Form.PIECES, _Form.ITEM)
                return frozenset(
                    pair if pair[0] == _LIST or pair[1] in kept else (pair[0], _Form.CHANGED) for pair in value
                )
            case "first" | "last" | "random":
                return self._items(value)
            case "length" | "count":
                return frozenset().union(*map(self._length, value))
            case "replace":
                return _with_form(value, _Form.CHANGED if _escapes(node.args) else _Form.JOINED)
            case "join":
                return _with_form(self._attribute_values(node, value) or value, _Form.JOINED)
            case "map":
                return _with_form(self._attribute_values(node, value) or value, _Form.PIECES)
        operands = (value, *map(self.value, node.args), *(self.value(keyword.value) for keyword in node.kwargs))
        return _with_form(frozenset().union(*operands), _Form.CHANGED)

    def _length(self, pair: tuple[str, _Form]) -> _Value:
        name, form = pair
        if name == _COUNT or (name == _LIST and form is _Form.DATA):
            return _COUNTED
        # The number of calls, of keys and of literals in a text is part of a sample.
        is_counted = (name in (_MESSAGE, "tool_calls") and form is _Form.DATA) or form is _Form.PIECES
        return _CLEAN if is_counted else frozenset({(name, _Form.LENGTH)})

    def _attribute_values(self, node: nodes.Filter, value: _Value) -> _Value:
        names = [keyword.value for keyword in node.kwargs if keyword.key == "attribute"]
        texts = [name.value for name in names if isinstance(name, nodes.Const) and isinstance(name.value, str)]
        return self._field(value, texts[0].rpartition(".")[2]) if texts else _CLEAN

    def _called(self, call: nodes.Call) -> _Value:
        function, arguments = call.node, self._arguments(call)
        if isinstance(function, nodes.Name):
            is_macro = function.name in self._macros
            if is_macro:
                return self._held.get(f"{function.name}()", _CLEAN)
            return frozenset((name, _Form.PIECES if form is _Form.DATA else form) for name, form in arguments)
        if not isinstance(function, nodes.Getattr):
            return _with_form(self.value(function) | arguments, _Form.CHANGED)
        value = self.value(function.node)
        match function.attr:
            case "get" if call.args:
                key = call.args[0]
                name = key.value if isinstance(key, nodes.Const) else None
                found = self._field(value, name) if isinstance(name, str) else self._items(value)
                return found.union(*map(self.value, call.args[1:]))
            case "items" | "values" | "keys" | "copy":
                return frozenset((_ANY if name == _MESSAGE else name, form) for name, form in value)
            case "strip" | "lstrip" | "rstrip" | "removeprefix" | "removesuffix":
                return value
            case "split" | "rsplit" | "partition" | "rpartition":
                return _with_form(value, _Form.PIECES)
            case "replace":
                return _with_form(value | arguments, _Form.CHANGED if _escapes(call.args) else _Form.JOINED)
            case "join" | "format":
                return _with_form(value | arguments, _Form.JOINED)
            case "startswith" | "endswith":
                return _CLEAN
        return _with_form(value | arguments, _Form.CHANGED) | self._held.get(f".{function.attr}", _CLEAN)

    def _arguments(self, call: nodes.Call) -> _Value:
        nodes_of_values = (*call.args, *(keyword.value for keyword in call.kwargs), call.dyn_args, call.dyn_kwargs)
        return frozenset().union(*map(self.value, nodes_of_values))

    # ==================
    # Uses
    # ==================

    def exposed(self, node: nodes.Node) -> _Value:
        """Return the values that a node uses in a way that is not harmless."""
        checks: dict[type[nodes.Node], Callable[[Any], _Value]] = {
            nodes.Compare: self._exposed_by_comparison,
            nodes.Call: self._exposed_by_call,
            nodes.Filter: self._exposed_by_filter,
            nodes.Test: self._exposed_by_test,
            nodes.Output: lambda output: self._exposed_by_output(output.nodes),
            nodes.Concat: lambda concat: self._exposed_by_output(concat.nodes),
            nodes.If: lambda branch: self._of_forms([branch.test], _Form.SLICED),
            nodes.CondExpr: lambda expression: self._of_forms([expression.test], _Form.SLICED),
            nodes.Not: lambda negation: self._of_forms([negation.node], _Form.SLICED),
            nodes.And: lambda pair: self._of_forms([pair.left, pair.right], _Form.SLICED),
            nodes.Or: lambda pair: self._of_forms([pair.left, pair.right], _Form.SLICED),
            nodes.Add: lambda pair: self._of_forms([pair.left, pair.right], _Form.LENGTH),
            nodes.For: self._exposed_by_loop,
            nodes.Getitem: self._exposed_by_key,
            nodes.CallBlock: self._exposed_by_call_block,
            nodes.FilterBlock: self._exposed_by_block,
            nodes.AssignBlock: lambda block: self._exposed_by_block(block) if block.filter else _CLEAN,
        }
        check = checks.get(type(node))
        if check is not None:
            return check(node)
        if isinstance(node, nodes.BinExpr | nodes.UnaryExpr):
            return frozenset().union(*map(self.value, node.iter_child_nodes()))
        return _CLEAN

    def _of_forms(self, operands: Iterable[nodes.Node], *forms: _Form) -> _Value:
        return frozenset(pair for operand in operands for pair in self.value(operand) if pair[1] in forms)

    def _exposed_by_output(self, operands: Iterable[nodes.Node]) -> _Value:
        # The quotes around the texts of a list depend on the texts. Ids contain no quotes.
        lists = self._of_forms(operands, _Form.PIECES)
        return self._of_forms(operands, _Form.LENGTH) | {pair for pair in lists if pair[0] not in _IDS}

    def _exposed_by_comparison(self, node: nodes.Compare) -> _Value:
        exposed: _Value = _CLEAN
        left: nodes.Node = node.expr
        for operand in node.ops:
            right: nodes.Node = operand.expr
            if operand.op in ("in", "notin"):
                exposed |= self._exposed_by_containment(left, right)
            else:
                exposed |= self._exposed_by_order(left, right, equality=operand.op in ("eq", "ne"))
            left = right
        return exposed

    def _exposed_by_order(self, left: nodes.Node, right: nodes.Node, *, equality: bool) -> _Value:
        values = self.value(left), self.value(right)
        both = _fields_of(values[0] | values[1])
        if all(map(_fields_of, values)):
            # Samples keep which ids and which new messages are equal.
            are_ids = _names(both) <= _IDS and {form for _, form in both} == {_Form.DATA}
            return _CLEAN if equality and (are_ids or _names(both) == {_MESSAGE}) else both
        constant = left if _fields_of(values[1]) else right
        exposed = set()
        for pair in both:
            if pair[1] is _Form.LENGTH:
                # Samples keep the lengths of ids.
                harmless = pair[0] in _CALL_IDS or self._is_short_length(constant)
            else:
                harmless = equality and self._is_literal(constant, pair[1])
            if not harmless:
                exposed.add(pair)
        return frozenset(exposed)

    def _exposed_by_containment(self, left: nodes.Node, right: nodes.Node) -> _Value:
        part, container = _fields_of(self.value(left)), self.value(right)
        if part and _names(part | _fields_of(container)) <= _IDS and not self._of_forms([right], _Form.JOINED):
            return _CLEAN
        if part:
            # A text may be a part of a constant text, which is not a test of the whole text.
            is_list = self._is_constant(right, lambda constant: constant is None) or self._is_dict(right)
            harmless = is_list and all(self._is_literal(right, form) for _, form in part)
            return (_CLEAN if harmless else part) | _fields_of(container)
        objects = frozenset(pair for pair in container if pair in {(_MESSAGE, _Form.DATA), *_COUNTED})
        texts = container - objects
        if not texts:
            return _CLEAN
        allowed = (_Form.DATA, _Form.PIECES, _Form.JOINED)
        is_searched = self._is_constant(left, lambda constant: constant in self._literals.within)
        is_key = self._is_constant(left, _is_long)
        return frozenset(
            (name, form)
            for name, form in texts
            if name == _LIST or not (is_key if form is _Form.ITEM else is_searched and form in allowed)
        )

    def _is_dict(self, node: nodes.Node) -> bool:
        if isinstance(node, nodes.Name):
            bound = self._bound.get(node.name, ())
            return bool(bound) and all(isinstance(value, nodes.Dict) for value in bound)
        return isinstance(node, nodes.Dict)

    def _is_short_length(self, node: nodes.Node) -> bool:
        is_short = isinstance(node, nodes.Const) and type(node.value) is int and 0 <= node.value <= SHORT_TEXT
        return is_short or (isinstance(node, nodes.Neg) and isinstance(node.node, nodes.Const))

    def _is_literal(self, node: nodes.Node, form: _Form) -> bool:
        """Return True if a value of a form may be compared with a constant, because samples keep the result."""
        known = self._literals.within | self._literals.whole

        def is_kept(constant: Any) -> bool:
            if constant is None or isinstance(constant, bool):
                return True
            if not isinstance(constant, str):
                return False
            if form is _Form.ITEM:
                return _is_long(constant)
            if form is _Form.DATA:
                return not constant or constant in known
            return form is _Form.JOINED and (not constant or constant in self._literals.within)

        if isinstance(node, nodes.Dict):
            return all(self._is_literal(pair.key, form) for pair in node.items)
        if isinstance(node, nodes.Name) and self._is_dict(node):
            return all(self._is_literal(value, form) for value in self._bound[node.name])
        return self._is_constant(node, is_kept)

    def _is_constant(self, node: nodes.Node, is_allowed: Callable[[Any], bool], *, depth: int = 0) -> bool:
        """Return True if an expression is a constant of some kind, a list of them, or an argument of the template."""
        if isinstance(node, nodes.Const):
            return is_allowed(node.value) or (depth > 0 and is_allowed(None) and not is_allowed(""))
        if isinstance(node, nodes.List | nodes.Tuple):
            return all(self._is_constant(item, is_allowed, depth=depth + 1) for item in node.items)
        if isinstance(node, nodes.Name):
            bound = self._bound.get(node.name)
            if bound is None:
                # The texts in the arguments of a template count as literals.
                return node.name not in ("messages", "tools", "documents", "loop", *self._macros)
            return all(
                isinstance(value, nodes.Const | nodes.List | nodes.Tuple)
                and self._is_constant(value, is_allowed, depth=depth)
                for value in bound
            )
        return False

    def _exposed_by_call(self, call: nodes.Call) -> _Value:
        function, arguments = call.node, _fields_of(self._arguments(call))
        if isinstance(function, nodes.Name):
            macro = self._macros.get(function.name)
            if macro is not None:
                names = {argument.name for argument in macro.args}
                surplus = len(call.args) > len(names) or any(keyword.key not in names for keyword in call.kwargs)
                return arguments if surplus or call.dyn_args or call.dyn_kwargs else _CLEAN
            if _fields_of(self.value(function)):
                # The variable may be a method of any text.
                return frozenset({(_ANY, _Form.DATA)})
            return _CLEAN if function.name in ("namespace", "raise_exception", "dict") else arguments
        if not isinstance(function, nodes.Getattr):
            return _fields_of(self.value(function)) | arguments
        value = _fields_of(self.value(function.node))
        if function.attr in _APPENDING:
            return _CLEAN if isinstance(function.node, nodes.Name | nodes.Getattr) else arguments
        if not value:
            return _CLEAN if function.attr == "join" or not arguments else arguments
        if function.attr in ("get", "items", "values", "keys", "copy", "join"):
            return _CLEAN if function.attr in ("get", "join") or not arguments else arguments
        if arguments or call.kwargs or call.dyn_args or call.dyn_kwargs:
            return value | arguments
        return frozenset(pair for pair in value if not self._is_harmless_method(function.attr, call.args, pair[1]))

    def _is_harmless_method(self, method: str, arguments: list[nodes.Expr], form: _Form) -> bool:
        within, is_text = self._literals.within, form in (_Form.DATA, _Form.JOINED, _Form.ITEM)

        def is_literal(constant: Any) -> bool:
            return constant in within and (form is not _Form.ITEM or _is_long(constant))

        def is_literal_or_space(constant: Any) -> bool:
            # Samples keep which whitespace a text begins and ends with.
            return constant in within or constant in (" ", "\n", "\t", "\r")

        first = arguments[:1]
        match method:
            case "strip" | "lstrip" | "rstrip":
                is_kept = is_text or form is _Form.CHANGED
                return is_kept and all(self._is_constant(argument, _is_strippable) for argument in first)
            case "split" | "rsplit" | "partition" | "rpartition":
                return is_text and bool(first) and self._is_constant(first[0], is_literal)
            case "startswith" | "endswith":
                return is_text and bool(first) and self._is_constant(first[0], is_literal_or_space)
            case "removeprefix" | "removesuffix":
                return is_text and bool(first) and self._is_constant(first[0], is_literal)
            case "replace" if _escapes(arguments):
                return form is not _Form.PIECES
            case "replace":
                return is_text and bool(first) and self._is_constant(first[0], is_literal)
        return method in _CHANGING and form is not _Form.PIECES

    def _exposed_by_filter(self, node: nodes.Filter) -> _Value:
        value = _fields_of(self.value(node.node))
        arguments = frozenset().union(*map(self.value, node.args), *(self.value(word.value) for word in node.kwargs))
        arguments = _fields_of(arguments)
        if node.name in ("default", "d"):
            return _CLEAN
        if not value:
            return arguments
        within = self._literals.within
        match node.name:
            case "selectattr" | "rejectattr":
                return arguments | self._exposed_by_attribute_test(node, value)
            case "select" | "reject":
                names = [name.value for name in node.args if isinstance(name, nodes.Const)]
                harmless = len(names) == len(node.args) <= 1 and set(names) <= _SHAPE_TESTS
                return _CLEAN if harmless else value | arguments
            case "map":
                harmless = bool(self._attribute_values(node, value)) or self._maps_harmlessly(node)
                return _CLEAN if harmless else value | arguments
            case "join" | "tojson" | "string" | "safe" | "list" | "first" | "last" | "length" | "count" | "items":
                return arguments
            case "reverse" | "indent":
                return arguments
            case "sort" if self._attribute_values(node, value):
                return arguments | self._attribute_values(node, value)
            case "dictsort":
                return value if node.args or node.kwargs else _CLEAN
            case "trim":
                harmless = all(self._is_constant(argument, _is_strippable) for argument in node.args)
                return _CLEAN if harmless and not node.kwargs else value | arguments
            case "replace" if _escapes(node.args):
                return arguments
            case "replace":
                harmless = bool(node.args) and self._is_constant(node.args[0], lambda constant: constant in within)
                return _CLEAN if harmless else value | arguments
        return arguments if node.name in _CHANGING else value | arguments

    def _maps_harmlessly(self, node: nodes.Filter) -> bool:
        names = [name.value for name in node.args[:1] if isinstance(name, nodes.Const)]
        return len(node.args) == 1 and bool(names) and names[0] in {*_CHANGING, "trim", "string"}

    def _exposed_by_attribute_test(self, node: nodes.Filter, value: _Value) -> _Value:
        test = node.args[1:]
        name = node.args[0].value if node.args and isinstance(node.args[0], nodes.Const) else None
        if not isinstance(name, str):
            return frozenset({(_ANY, _Form.DATA)})
        field = self._field(value, name.rpartition(".")[2])
        if not field or not test:
            return _CLEAN
        kind = test[0].value if isinstance(test[0], nodes.Const) else None
        if len(test) == 1:
            return _CLEAN if kind in _SHAPE_TESTS else field
        harmless = kind in {*_EQUALITY, "in"} and self._is_literal(test[1], _Form.DATA)
        return _CLEAN if harmless and (kind != "in" or isinstance(test[1], nodes.List | nodes.Tuple)) else field

    def _exposed_by_test(self, node: nodes.Test) -> _Value:
        if node.name in _SHAPE_TESTS:
            return self._of_forms([node.node], _Form.LENGTH) if node.name in ("true", "false") else _CLEAN
        if len(node.args) == 1 and node.name in _EQUALITY:
            return self._exposed_by_order(node.node, node.args[0], equality=True)
        if len(node.args) == 1 and node.name == "in":
            return self._exposed_by_containment(node.node, node.args[0])
        return _fields_of(frozenset().union(self.value(node.node), *map(self.value, node.args)))

    def _exposed_by_loop(self, node: nodes.For) -> _Value:
        tested = self._of_forms([node.test], _Form.SLICED) if node.test else _CLEAN
        if self._counts_items(node):
            return tested | frozenset(pair for pair in self.value(node.iter) if pair[0] not in (_LIST, "tool_calls"))
        return tested | self._of_forms([node.iter], _Form.CHANGED, _Form.SLICED, _Form.LENGTH)

    def _counts_items(self, node: nodes.For) -> bool:
        """Return True if a loop counts its items, which may be the characters of a text."""
        for part in node.body:
            target = part.target if isinstance(part, nodes.Assign) else None
            if isinstance(target, nodes.NSRef) and _increments(part.node, target.attr):
                return True
            for compared in (part, *part.find_all((nodes.Compare, nodes.Output))):
                if isinstance(compared, nodes.Compare | nodes.Output) and any(
                    isinstance(getter.node, nodes.Name) and getter.node.name == "loop" and getter.attr in _LOOP_COUNTS
                    for getter in compared.find_all(nodes.Getattr)
                ):
                    return True
        return False

    def _exposed_by_key(self, node: nodes.Getitem) -> _Value:
        parts = [node.arg.start, node.arg.stop, node.arg.step] if isinstance(node.arg, nodes.Slice) else [node.arg]
        key = _fields_of(frozenset().union(*map(self.value, parts)))
        looked_up = self._is_dict(node.node) and all(self._is_literal(node.node, form) for _, form in key)
        return _CLEAN if looked_up else key

    def _exposed_by_call_block(self, node: nodes.CallBlock) -> _Value:
        # The tag `generation` writes its body unchanged.
        if isinstance(node.call.node, nodes.ExtensionAttribute):
            return _CLEAN
        return _fields_of(self._written(node.body) | self.value(node.call))

    def _exposed_by_block(self, node: nodes.FilterBlock | nodes.AssignBlock) -> _Value:
        written = _fields_of(self._written(node.body))
        return _CLEAN if node.filter is not None and node.filter.name in {*_CHANGING, "trim"} else written

    # ==================
    # Literals
    # ==================

    def is_tested(self, node: nodes.Node) -> bool:
        """Return True if a node may test the text of a message against its literals."""
        if isinstance(node, nodes.Dict):
            return True
        if isinstance(node, nodes.Filter) and node.name in _UNTESTED:
            return False
        if isinstance(node, nodes.Call):
            if isinstance(node.node, nodes.Name):
                return False
            if isinstance(node.node, nodes.Getattr) and node.node.attr in {*_UNTESTED, *_APPENDING, "get", "format"}:
                return False
            if isinstance(node.node, nodes.Getattr) and node.node.attr == "replace" and _escapes(node.args):
                return False
        if isinstance(node, nodes.Filter) and node.name == "replace" and _escapes(node.args):
            return False
        # A sample keeps the texts in lists as they are.
        return any(form is not _Form.ITEM for _, form in _fields_of(self._tested_value(node)))

    def bound_texts(self, name: str) -> frozenset[str]:
        """Return the constant texts that a variable or a parameter is bound to."""
        return frozenset(text for node in self._bound.get(name, ()) for text in constant_texts(node, {}))

    def tests_joined_text(self, node: nodes.Node) -> bool:
        """Return True if a node may test a text that is joined from several texts."""
        forms = {form for _, form in self._tested_value(node)}
        return _Form.JOINED in forms

    def _tested_value(self, node: nodes.Node) -> _Value:
        if isinstance(node, nodes.Compare):
            operands: list[nodes.Node] = [node.expr, *(operand.expr for operand in node.ops)]
        elif isinstance(node, nodes.Call) and isinstance(node.node, nodes.Getattr):
            operands = [node.node.node]
        else:
            operands = [child for child in [getattr(node, "node", None)] if isinstance(child, nodes.Node)]
        return frozenset().union(*map(self.value, operands))

    # ==================
    # Numbers
    # ==================

    def compared_numbers(self, node: nodes.Node, is_number: Callable[[str, _Form], bool]) -> Iterator[int]:
        """Yield the constants that a node compares numbers with, of those that come from some fields and forms."""
        if isinstance(node, nodes.Compare):
            operands: list[nodes.Node] = [node.expr, *(operand.expr for operand in node.ops)]
        elif isinstance(node, nodes.Mod):
            operands = [node.left, node.right]
        else:
            return
        if not any(is_number(*pair) for operand in operands for pair in self.value(operand)):
            return
        for operand in operands:
            for part in (operand, *operand.find_all((nodes.Const, nodes.Name))):
                bound = self._bound.get(part.name, []) if isinstance(part, nodes.Name) else [part]
                numbers = (value.value for value in bound if isinstance(value, nodes.Const))
                yield from (number for number in numbers if type(number) is int)


def _is_length(name: str, form: _Form) -> bool:
    return form is _Form.LENGTH and name not in (_COUNT, *_CALL_IDS)


def _is_id_length(name: str, form: _Form) -> bool:
    return form is _Form.LENGTH and name in _CALL_IDS


def _names(value: _Value) -> set[str]:
    return {name for name, _ in value}


def _fields_of(value: _Value) -> _Value:
    return frozenset(pair for pair in value if pair[0] != _COUNT)


def _is_long(constant: Any) -> bool:
    """Return True if a constant is a text of several characters. A sample keeps the texts in lists as they are."""
    return isinstance(constant, str) and len(constant) > 1


def _is_strippable(constant: Any) -> bool:
    """Return True if samples keep whether a text is empty without some characters at its ends."""
    return constant is None or (isinstance(constant, str) and (not constant.strip() or len(constant) == 1))


def _escapes(arguments: list[nodes.Expr]) -> bool:
    """Return True if `replace` with some arguments cannot leave an empty text."""
    new = arguments[1] if len(arguments) == 2 and isinstance(arguments[0], nodes.Const) else None
    return isinstance(new, nodes.Const) and isinstance(new.value, str) and bool(new.value)


def _target_names(target: nodes.Node) -> Iterator[str]:
    if isinstance(target, nodes.Tuple):
        for item in target.items:
            yield from _target_names(item)
    elif isinstance(target, nodes.NSRef):
        yield f".{target.attr}"
    elif isinstance(target, nodes.Name):
        yield target.name


def _increments(node: nodes.Node, attribute: str) -> bool:
    """Return True if a namespace attribute is set to a sum that contains it."""
    parts = node.find_all(nodes.Getattr) if isinstance(node, nodes.Add) else ()
    return any(part.attr == attribute for part in parts)
