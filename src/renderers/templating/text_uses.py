"""How a chat template uses the texts of messages, from its syntax tree.

The analysis follows the list of messages through variables, loops, macros and namespaces. A use is harmless if it
depends on a text only through its literals, its whitespace at the ends, and whether it is empty: the text is written,
trimmed, split at a literal, or tested for truth, for its type or against literals. Every other use, and every use that
the analysis does not know, marks the field of the text as exact: its text may not be replaced in a sample.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from jinja2 import nodes

from renderers.core.literals import SHORT_TEXT, TemplateLiterals, TextUses
from renderers.templating.compared_messages import compares_messages
from renderers.templating.literals import TESTING, constant_texts, literals_of, template_literals, template_variables
from renderers.templating.message_values import (
    ANY,
    APPENDING,
    CLEAN,
    COUNT,
    COUNTED,
    LIST,
    MESSAGE,
    Form,
    MessageValues,
    Value,
    fields_of,
    leaves_text,
    names_of,
)
from renderers.templating.syntax import syntax_tree
from renderers.templating.text_loops import loop_conditions, reads_no_characters
from renderers.templating.tree import children, find_all, types_of

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
_SHAPE_TESTS = frozenset(
    {"defined", "undefined", "none", "mapping", "string", "sequence", "iterable", "boolean", "number", "integer"}
    | {"float", "true", "false", "callable"}
)
_EQUALITY = frozenset({"eq", "equalto", "==", "ne", "!="})
_END_TESTS = frozenset({"startswith", "endswith"})
_CHANGING = frozenset({"upper", "lower", "capitalize", "title", "casefold", "swapcase", "escape", "e", "tojson"})
"""Filters and methods that change a text, and leave nothing only if it is empty."""
_OPERATORS = types_of((nodes.BinExpr, nodes.UnaryExpr))
_UNTESTED = frozenset({"join", "default", "d", "tojson", "indent", "map", "list", "string", "length", "count"})
"""Filters with arguments that no text is tested against."""


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
    testing = [node for node in find_all(tree, TESTING) if analysis.is_tested(node)]
    exposed: set[str] = set()
    lengths: set[tuple[bool, int]] = {(False, 0)}
    for node in find_all(tree, nodes.Node):
        exposed |= {name for name, _ in analysis.exposed(node)} - {COUNT}
    for node in find_all(tree, (nodes.Compare, nodes.Mod)):
        lengths.update((False, length) for length in analysis.compared_numbers(node, _is_length))
        lengths.update((True, length) for length in analysis.compared_numbers(node, _is_id_length))
    exact_fields = frozenset(exposed.union(*(fields for fields in _LINKED if fields & exposed)))
    return TextUses(
        None if exact_fields & {LIST, MESSAGE, ANY} else exact_fields,
        short_length=max(length for of_id, length in lengths if not of_id and length <= SHORT_TEXT),
        id_lengths=any(of_id for of_id, _ in lengths),
        tested=frozenset(text for node in testing for text, _ in literals_of(node, variables)).union(
            *(analysis.bound_texts(name.name) for node in testing for name in find_all(node, nodes.Name))
        ),
        joins_texts=any(map(analysis.tests_joined_text, testing)),
        tests_space=any(
            text.isspace() for node in testing if _tests_end(node) for text, _ in literals_of(node, variables)
        ),
        counts=frozenset(count for count in analysis.counts() if 2 < count <= _LARGEST_COUNT),
        compares_messages=compares_messages(source),
    )


class _Analysis(MessageValues):
    """The uses of the values of a template that come from messages."""

    def __init__(self, tree: nodes.Template, literals: TemplateLiterals) -> None:
        super().__init__(tree)
        self._tree = tree
        self._literals = literals
        self._conditions = dict(loop_conditions(tree.body))
        self._checks: dict[type[nodes.Node], Callable[[Any], Value]] = {
            nodes.Compare: self._exposed_by_comparison,
            nodes.Call: self._exposed_by_call,
            nodes.Filter: self._exposed_by_filter,
            nodes.Test: self._exposed_by_test,
            nodes.Output: lambda output: self._exposed_by_output(output.nodes),
            nodes.Concat: lambda concat: self._exposed_by_output(concat.nodes),
            nodes.If: lambda branch: self._of_forms([branch.test], Form.SLICED),
            nodes.CondExpr: lambda expression: self._of_forms([expression.test], Form.SLICED),
            nodes.Not: lambda negation: self._of_forms([negation.node], Form.SLICED),
            nodes.And: lambda pair: self._of_forms([pair.left, pair.right], Form.SLICED),
            nodes.Or: lambda pair: self._of_forms([pair.left, pair.right], Form.SLICED),
            nodes.Add: lambda pair: self._of_forms([pair.left, pair.right], Form.LENGTH),
            nodes.For: self._exposed_by_loop,
            nodes.Getitem: self._exposed_by_key,
            nodes.Dict: lambda built: fields_of(frozenset().union(*(self.value(pair.key) for pair in built.items))),
            nodes.CallBlock: self._exposed_by_call_block,
            nodes.FilterBlock: self._exposed_by_block,
            nodes.AssignBlock: lambda block: self._exposed_by_block(block) if block.filter else CLEAN,
        }

    # ==================
    # Uses
    # ==================

    def exposed(self, node: nodes.Node) -> Value:
        """Return the values that a node uses in a way that is not harmless."""
        check = self._checks.get(type(node))
        if check is not None:
            return check(node)
        if type(node) in _OPERATORS:
            return frozenset().union(*map(self.value, children(node)))
        return CLEAN

    def _of_forms(self, operands: Iterable[nodes.Node], *forms: Form) -> Value:
        return frozenset(pair for operand in operands for pair in self.value(operand) if pair[1] in forms)

    def _exposed_by_output(self, operands: Iterable[nodes.Node]) -> Value:
        # The quotes around the texts of a list depend on the texts. Ids contain no quotes.
        lists = self._of_forms(operands, Form.PIECES)
        return self._of_forms(operands, Form.LENGTH) | {pair for pair in lists if pair[0] not in _IDS}

    def _exposed_by_comparison(self, node: nodes.Compare) -> Value:
        exposed: Value = CLEAN
        left: nodes.Node = node.expr
        for operand in node.ops:
            right: nodes.Node = operand.expr
            if operand.op in ("in", "notin"):
                exposed |= self._exposed_by_containment(left, right)
            else:
                exposed |= self._exposed_by_order(left, right, equality=operand.op in ("eq", "ne"))
            left = right
        return exposed

    def _exposed_by_order(self, left: nodes.Node, right: nodes.Node, *, equality: bool) -> Value:
        values = self.value(left), self.value(right)
        both = fields_of(values[0] | values[1])
        if all(map(fields_of, values)):
            # Samples keep which ids and which new messages are equal.
            are_ids = names_of(both) <= _IDS and {form for _, form in both} == {Form.DATA}
            return CLEAN if equality and (are_ids or names_of(both) == {MESSAGE}) else both
        constant = left if fields_of(values[1]) else right
        exposed = set()
        for pair in both:
            if pair[1] is Form.LENGTH:
                # Samples keep the lengths of ids.
                harmless = pair[0] in _CALL_IDS or self._is_short_length(constant)
            else:
                harmless = equality and self._is_literal(constant, pair[1])
            if not harmless:
                exposed.add(pair)
        return frozenset(exposed)

    def _exposed_by_containment(self, left: nodes.Node, right: nodes.Node) -> Value:
        part, container = fields_of(self.value(left)), self.value(right)
        are_ids = names_of(part | fields_of(container)) <= _IDS and {form for _, form in part} == {Form.DATA}
        if part and are_ids and {form for _, form in fields_of(container)} <= {Form.PIECES}:
            return CLEAN
        if part:
            # A text may be a part of a constant text, which is not a test of the whole text.
            is_list = self._is_constant(right, lambda constant: constant is None) or self._is_dict(right)
            harmless = is_list and all(self._is_literal(right, form) for _, form in part)
            return (CLEAN if harmless else part) | fields_of(container)
        objects = frozenset(pair for pair in container if pair in {(MESSAGE, Form.DATA), *COUNTED})
        texts = container - objects
        if not texts:
            return CLEAN
        allowed = (Form.DATA, Form.PIECES, Form.JOINED)
        is_searched = self._is_constant(left, lambda constant: constant in self._literals.within)
        is_key = self._is_constant(left, _is_long)
        return frozenset(
            (name, form)
            for name, form in texts
            if name == LIST or not (is_key if form is Form.ITEM else is_searched and form in allowed)
        )

    def _is_dict(self, node: nodes.Node) -> bool:
        if isinstance(node, nodes.Name):
            bound = self._bound.get(node.name, ())
            return bool(bound) and all(isinstance(value, nodes.Dict) for value in bound)
        return isinstance(node, nodes.Dict)

    def _is_short_length(self, node: nodes.Node) -> bool:
        is_short = isinstance(node, nodes.Const) and type(node.value) is int and 0 <= node.value <= SHORT_TEXT
        return is_short or (isinstance(node, nodes.Neg) and isinstance(node.node, nodes.Const))

    def _is_literal(self, node: nodes.Node, form: Form) -> bool:
        """Return True if a value of a form may be compared with a constant, because samples keep the result."""
        known = self._literals.within | self._literals.whole

        def is_kept(constant: Any) -> bool:
            if constant is None or isinstance(constant, bool):
                return True
            if not isinstance(constant, str):
                return False
            if form is Form.ITEM:
                return _is_long(constant)
            if form is Form.DATA:
                return not constant or constant in known
            return form is Form.JOINED and (not constant or constant in self._literals.within)

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

    def _exposed_by_call(self, call: nodes.Call) -> Value:
        function, arguments = call.node, fields_of(self._arguments(call))
        if isinstance(function, nodes.Name):
            macro = self._macros.get(function.name)
            if _is_namespace(call) and (call.args or call.dyn_args or call.dyn_kwargs):
                return arguments
            if macro is not None:
                names = {argument.name for argument in macro.args}
                surplus = len(call.args) > len(names) or any(keyword.key not in names for keyword in call.kwargs)
                return arguments if surplus or call.dyn_args or call.dyn_kwargs else CLEAN
            if fields_of(self.value(function)):
                # The variable may be a method of any text.
                return frozenset({(ANY, Form.DATA)})
            return CLEAN if function.name in ("namespace", "raise_exception", "dict") else arguments
        if not isinstance(function, nodes.Getattr):
            return fields_of(self.value(function)) | arguments
        if fields_of(self._held.get(f".{function.attr}", CLEAN)):
            # The attribute of a namespace may be a method of any text.
            return frozenset({(ANY, Form.DATA)})
        value = fields_of(self.value(function.node))
        if function.attr in APPENDING:
            return CLEAN if self._is_own_list(function.node) else arguments
        if not value:
            return CLEAN if function.attr == "join" or not arguments else arguments
        if function.attr in ("get", "items", "values", "keys", "copy", "join"):
            return CLEAN if function.attr in ("get", "join") or not arguments else arguments
        if arguments or call.kwargs or call.dyn_args or call.dyn_kwargs:
            return value | arguments
        return frozenset(pair for pair in value if not self._is_harmless_method(function.attr, call.args, pair[1]))

    def _is_own_list(self, node: nodes.Node) -> bool:
        """Return True for a variable, or an attribute of a namespace, of which changes are followed."""
        if isinstance(node, nodes.Getattr) and isinstance(node.node, nodes.Name):
            owners = self._bound.get(node.node.name, [])
            return bool(owners) and all(isinstance(owner, nodes.Call) and _is_namespace(owner) for owner in owners)
        return isinstance(node, nodes.Name)

    def _is_harmless_method(self, method: str, arguments: list[nodes.Expr], form: Form) -> bool:
        within, is_text = self._literals.within, form in (Form.DATA, Form.JOINED, Form.ITEM)

        def is_literal(constant: Any) -> bool:
            return constant in within and (form is not Form.ITEM or _is_long(constant))

        def is_literal_or_space(constant: Any) -> bool:
            # Samples keep which whitespace a text begins and ends with.
            return constant in within or constant in (" ", "\n", "\t", "\r")

        first = arguments[:1]
        match method:
            case "strip" | "lstrip" | "rstrip":
                is_kept = is_text or form is Form.CHANGED
                return is_kept and all(self._is_constant(argument, _is_strippable) for argument in first)
            case "split" | "rsplit" | "partition" | "rpartition":
                return is_text and bool(first) and self._is_constant(first[0], is_literal)
            case _ if method in _END_TESTS:
                # A position in a text is not kept.
                return is_text and len(arguments) == 1 and self._is_constant(first[0], is_literal_or_space)
            case "removeprefix" | "removesuffix":
                return is_text and bool(first) and self._is_constant(first[0], is_literal)
            case "replace" if leaves_text(arguments):
                return form is not Form.PIECES
            case "replace":
                return is_text and bool(first) and self._is_constant(first[0], is_literal)
        return method in _CHANGING and form is not Form.PIECES

    def _exposed_by_filter(self, node: nodes.Filter) -> Value:
        value = fields_of(self.value(node.node))
        arguments = frozenset().union(*map(self.value, node.args), *(self.value(word.value) for word in node.kwargs))
        arguments = fields_of(arguments)
        if node.name in ("default", "d"):
            return CLEAN
        if not value:
            return arguments
        within = self._literals.within
        match node.name:
            case "selectattr" | "rejectattr":
                return arguments | self._exposed_by_attribute_test(node, value)
            case "select" | "reject":
                names = [name.value for name in node.args if isinstance(name, nodes.Const)]
                harmless = len(names) == len(node.args) <= 1 and set(names) <= _SHAPE_TESTS
                return CLEAN if harmless else value | arguments
            case "map":
                harmless = bool(self._attribute_values(node, value)) or self._maps_harmlessly(node)
                return CLEAN if harmless else value | arguments
            case "join" | "tojson" | "string" | "safe" | "list" | "first" | "last" | "length" | "count" | "items":
                return arguments
            case "reverse" | "indent":
                return arguments
            case "sort" if self._attribute_values(node, value):
                return arguments | self._attribute_values(node, value)
            case "dictsort":
                return value if node.args or node.kwargs else CLEAN
            case "trim":
                harmless = all(self._is_constant(argument, _is_strippable) for argument in node.args)
                return CLEAN if harmless and not node.kwargs else value | arguments
            case "replace" if leaves_text(node.args):
                return arguments
            case "replace":
                harmless = bool(node.args) and self._is_constant(node.args[0], lambda constant: constant in within)
                return CLEAN if harmless else value | arguments
        return arguments if node.name in _CHANGING else value | arguments

    def _maps_harmlessly(self, node: nodes.Filter) -> bool:
        names = [name.value for name in node.args[:1] if isinstance(name, nodes.Const)]
        return len(node.args) == 1 and bool(names) and names[0] in {*_CHANGING, "trim", "string"}

    def _exposed_by_attribute_test(self, node: nodes.Filter, value: Value) -> Value:
        test = node.args[1:]
        name = node.args[0].value if node.args and isinstance(node.args[0], nodes.Const) else None
        if not isinstance(name, str):
            return frozenset({(ANY, Form.DATA)})
        field = self._field(value, name.rpartition(".")[2])
        if not field or not test:
            return CLEAN
        kind = test[0].value if isinstance(test[0], nodes.Const) else None
        if len(test) == 1:
            return CLEAN if kind in _SHAPE_TESTS else field
        harmless = kind in {*_EQUALITY, "in"} and self._is_literal(test[1], Form.DATA)
        return CLEAN if harmless and (kind != "in" or isinstance(test[1], nodes.List | nodes.Tuple)) else field

    def _exposed_by_test(self, node: nodes.Test) -> Value:
        if node.name in _SHAPE_TESTS:
            return self._of_forms([node.node], Form.LENGTH) if node.name in ("true", "false") else CLEAN
        if len(node.args) == 1 and node.name in _EQUALITY:
            return self._exposed_by_order(node.node, node.args[0], equality=True)
        if len(node.args) == 1 and node.name == "in":
            return self._exposed_by_containment(node.node, node.args[0])
        return fields_of(frozenset().union(self.value(node.node), *map(self.value, node.args)))

    def _exposed_by_loop(self, node: nodes.For) -> Value:
        tested = self._of_forms([node.test], Form.SLICED) if node.test else CLEAN
        exposed = tested | self._of_forms([node.iter], Form.CHANGED, Form.SLICED, Form.LENGTH)
        if reads_no_characters(node, self._conditions[node], self._bound):
            return exposed
        # The items may be the characters of a text, which a sample does not keep.
        texts = self._of_forms([node.iter], Form.DATA, Form.JOINED, Form.ITEM)
        return exposed | frozenset(pair for pair in texts if pair[0] not in (LIST, "tool_calls"))

    def _exposed_by_key(self, node: nodes.Getitem) -> Value:
        parts = [node.arg.start, node.arg.stop, node.arg.step] if isinstance(node.arg, nodes.Slice) else [node.arg]
        key = fields_of(frozenset().union(*map(self.value, parts)))
        looked_up = self._is_dict(node.node) and all(self._is_literal(node.node, form) for _, form in key)
        return CLEAN if looked_up else key

    def _exposed_by_call_block(self, node: nodes.CallBlock) -> Value:
        # The tag `generation` writes its body unchanged.
        if isinstance(node.call.node, nodes.ExtensionAttribute):
            return CLEAN
        return fields_of(self._written(node.body) | self.value(node.call))

    def _exposed_by_block(self, node: nodes.FilterBlock | nodes.AssignBlock) -> Value:
        written = fields_of(self._written(node.body))
        return CLEAN if node.filter is not None and node.filter.name in {*_CHANGING, "trim"} else written

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
            if isinstance(node.node, nodes.Getattr) and node.node.attr in {*_UNTESTED, *APPENDING, "get", "format"}:
                return False
            if isinstance(node.node, nodes.Getattr) and node.node.attr == "replace" and leaves_text(node.args):
                return False
        if isinstance(node, nodes.Filter) and node.name == "replace" and leaves_text(node.args):
            return False
        # A sample keeps the texts in lists as they are.
        return any(form is not Form.ITEM for _, form in fields_of(self._tested_value(node)))

    def bound_texts(self, name: str) -> frozenset[str]:
        """Return the constant texts that a variable or a parameter is bound to."""
        return frozenset(text for node in self._bound.get(name, ()) for text in constant_texts(node, {}))

    def tests_joined_text(self, node: nodes.Node) -> bool:
        """Return True if a node may test a text that is joined from several texts."""
        return any(form is Form.JOINED for _, form in self._tested_value(node))

    def _tested_value(self, node: nodes.Node) -> Value:
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

    def counts(self) -> Iterator[int]:
        """Yield the numbers of messages, or of turns, at which the output may change.

        Messages can be counted in more ways than can be listed, so all numbers of the template count, whatever they are
        used for. The text of a count is longer from 10 on.
        """
        for constant in find_all(self._tree, nodes.Const):
            if type(constant.value) is int:
                yield abs(constant.value)
            elif isinstance(constant.value, str) and constant.value.isdecimal() and len(constant.value) < 3:
                yield int(constant.value)
        lengths = (node for node in find_all(self._tree, nodes.Filter) if node.name in ("length", "count"))
        if any(name == COUNT for node in lengths for name, _ in self.value(node.node)):
            yield 10

    def compared_numbers(
        self, node: nodes.Compare | nodes.Mod, is_number: Callable[[str, Form], bool]
    ) -> Iterator[int]:
        """Yield the constants that a node compares numbers with, of those that come from some fields and forms."""
        if isinstance(node, nodes.Compare):
            operands: list[nodes.Node] = [node.expr, *(operand.expr for operand in node.ops)]
        else:
            operands = [node.left, node.right]
        if not any(is_number(*pair) for operand in operands for pair in self.value(operand)):
            return
        for operand in operands:
            for part in (operand, *find_all(operand, (nodes.Const, nodes.Name))):
                bound = self._bound.get(part.name, []) if isinstance(part, nodes.Name) else [part]
                numbers = (value.value for value in bound if isinstance(value, nodes.Const))
                yield from (number for number in numbers if type(number) is int)


def _is_namespace(call: nodes.Call) -> bool:
    return isinstance(call.node, nodes.Name) and call.node.name == "namespace"


def _tests_end(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Call) and isinstance(node.node, nodes.Getattr) and node.node.attr in _END_TESTS


def _is_length(name: str, form: Form) -> bool:
    return form is Form.LENGTH and name not in (COUNT, *_CALL_IDS)


def _is_id_length(name: str, form: Form) -> bool:
    return form is Form.LENGTH and name in _CALL_IDS


def _is_long(constant: Any) -> bool:
    """Return True if a constant is a text of several characters. A sample keeps the texts in lists as they are."""
    return isinstance(constant, str) and len(constant) > 1


def _is_strippable(constant: Any) -> bool:
    """Return True if samples keep whether a text is empty without some characters at its ends."""
    return constant is None or (isinstance(constant, str) and (not constant.strip() or len(constant) == 1))
