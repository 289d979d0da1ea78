"""Whether a chat template can only write or trim whitespace at the ends of texts, from its syntax tree."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from jinja2 import nodes

from renderers.templating.message_values import ANY, APPENDING, LIST, MESSAGE, Form, MessageValues, Value, names_of
from renderers.templating.tree import children, find_all

_TEXTS = frozenset({"content", "text"})
_FOLLOWED = _TEXTS | {ANY, LIST, MESSAGE}
"""The values that may be, or contain, the content of a message or the text of a content part."""
_TEXT = frozenset({Form.DATA, Form.JOINED})
"""The forms of a whole text. An item may be a character of it."""
_WRITTEN = _TEXT | {Form.CHANGED}
_TRIMMING = frozenset({"strip", "lstrip", "rstrip"})
_SEARCHING = frozenset({"startswith", "endswith", "split", "rsplit", "partition", "rpartition"})
_SHAPES = frozenset({"defined", "undefined", "none", "mapping", "string", "sequence", "iterable", "boolean", "number"})
_OF_LISTS = frozenset({"length", "count", "list", "first", "last", "reverse"})
_OF_ATTRIBUTES = frozenset({"selectattr", "rejectattr", "map"})
_PLAIN_STATEMENTS = (
    nodes.Template,
    nodes.TemplateData,
    nodes.If,
    nodes.Macro,
    nodes.ExprStmt,
    nodes.Break,
    nodes.Continue,
    nodes.Scope,
)
"""Statements with parts that are checked themselves. The test of `if` only depends on whether a text is empty."""
_PLAIN_EXPRESSIONS = (nodes.Not, nodes.And, nodes.Or, nodes.CondExpr, nodes.Keyword, nodes.Operand)


def only_trims(tree: nodes.Template) -> bool:
    r"""Return True if a template can only write or trim whitespace at the ends: all of it, or line breaks alone.

    The values that come from the texts of messages are followed as in `MessageValues`. Each of their uses has to be one
    that is known not to depend on this whitespace: they are written, joined, trimmed as a whole, split at or tested
    against constants without whitespace, tested for their type, or for truth if they are more than whitespace.

    >>> from renderers.templating.syntax import syntax_tree
    >>> uses = "lstrip('\\n')", "strip(' ')", "endswith('\\n')", "endswith('a')", "endswith(end)"
    >>> [only_trims(syntax_tree("{{ messages[0].content.%s }}" % use)) for use in uses]
    [True, False, False, True, False]
    """
    return _SpaceUses(tree).is_harmless(tree)


class _SpaceUses(MessageValues):
    """The uses of texts that may depend on whitespace at their ends."""

    def __init__(self, tree: nodes.Template) -> None:
        super().__init__(tree)
        self._checks: dict[type[nodes.Node], Callable[[Any], bool]] = {
            nodes.Output: lambda output: self._are_texts(output.nodes, _WRITTEN),
            nodes.Concat: lambda concat: self._are_texts(concat.nodes, _WRITTEN),
            nodes.Add: self._adds,
            nodes.Assign: lambda node: not (isinstance(node.target, nodes.Tuple) and self._followed(node.node)),
            nodes.For: self._loops,
            nodes.Compare: self._compares,
            nodes.Test: lambda test: not self._any_followed(children(test)) or _is_shape(test),
            nodes.Filter: self._filters,
            nodes.Call: self._calls,
            nodes.Getattr: lambda _: True,
            nodes.Getitem: self._gets,
            nodes.List: self._lists,
            nodes.CallBlock: lambda block: isinstance(block.call.node, nodes.ExtensionAttribute),
        }

    def is_harmless(self, tree: nodes.Template) -> bool:
        """Return True if no use of a text depends on whitespace at its ends."""
        return all(map(self._allows, (tree, *find_all(tree, nodes.Node))))

    def _allows(self, node: nodes.Node) -> bool:
        check = self._checks.get(type(node))
        if check is not None:
            return check(node)
        if isinstance(node, nodes.Stmt | nodes.Template):
            return isinstance(node, _PLAIN_STATEMENTS)
        return isinstance(node, _PLAIN_EXPRESSIONS) or not self._any_followed(children(node))

    # ==================
    # Values
    # ==================

    def _followed(self, node: nodes.Node | None) -> Value:
        return frozenset(pair for pair in self.value(node) if pair[0] in _FOLLOWED)

    def _any_followed(self, parts: Iterable[nodes.Node]) -> bool:
        return any(map(self._followed, parts))

    def _has_forms(self, node: nodes.Node, forms: frozenset[Form]) -> bool:
        """Return True if a node can only be a text of some forms, as far as it comes from a message."""
        return all(name not in (LIST, MESSAGE) and form in forms for name, form in self._followed(node))

    def _are_texts(self, parts: Iterable[nodes.Node], forms: frozenset[Form]) -> bool:
        return all(self._has_forms(part, forms) for part in parts)

    def _is_list(self, node: nodes.Node) -> bool:
        """Return True if a node is a list of messages, or of whole texts."""
        return all(name == LIST or (name != MESSAGE and form is Form.PIECES) for name, form in self._followed(node))

    # ==================
    # Uses
    # ==================

    def _adds(self, node: nodes.Add) -> bool:
        parts = node.left, node.right
        return self._are_texts(parts, _WRITTEN) or all(map(self._is_list, parts))

    def _loops(self, node: nodes.For) -> bool:
        followed = self._followed(node.iter)
        if node.recursive or (followed and not isinstance(node.target, nodes.Name)):
            return not followed
        if self._is_list(node.iter):
            return True
        # The number of items may be that of the characters of a text.
        loops = [part for part in find_all(node, nodes.Getattr) if _is_name(part.node, "loop")]
        uses = [part for part in find_all(node, nodes.Name) if part.name == "loop"]
        return len(uses) == len(loops) and all(part.attr in ("first", "last") for part in loops)

    def _compares(self, node: nodes.Compare) -> bool:
        if not self._any_followed((node.expr, *(operand.expr for operand in node.ops))):
            return True
        if len(node.ops) != 1:
            return False
        operand = node.ops[0]
        left, right = node.expr, operand.expr
        if operand.op in ("in", "notin"):
            if isinstance(left, nodes.Const):
                # A character does not contain a text of several.
                is_object = len(str(left.value)) > 1 and all(
                    name == MESSAGE or form is Form.ITEM or form in _TEXT for name, form in self._followed(right)
                )
                return _is_visible(left) and (is_object or self._has_forms(right, _TEXT))
            return self._has_forms(left, _TEXT) and isinstance(right, nodes.List | nodes.Tuple) and _is_constant(right)
        if isinstance(right, nodes.Const) and type(right.value) is int and right.value == 0:
            # A text that is more than whitespace has a length, whatever is trimmed.
            return self._has_forms(left, _TEXT | {Form.LENGTH})
        if operand.op not in ("eq", "ne"):
            return False
        text, constant = (right, left) if isinstance(left, nodes.Const) else (left, right)
        is_empty = isinstance(constant, nodes.Const) and constant.value == ""
        return self._has_forms(text, _TEXT) and (is_empty or _is_constant(constant))

    def _filters(self, node: nodes.Filter) -> bool:
        values = [*node.args, *(keyword.value for keyword in node.kwargs)]
        if node.name in ("default", "d"):
            return not self._any_followed(node.kwargs)
        if node.node is None or self._any_followed(values) or node.dyn_args or node.dyn_kwargs:
            return False
        if not self._followed(node.node):
            return True
        match node.name:
            case "trim":
                return self._has_forms(node.node, _TEXT) and _trims_fully(node)
            case "tojson":
                return self._has_forms(node.node, _WRITTEN)
            case "length" | "count" if self._has_forms(node.node, _TEXT):
                return True
            case "join":
                return self._has_forms(node.node, frozenset({Form.PIECES})) and not node.kwargs
        if not self._is_list(node.node):
            return False
        return node.name in _OF_LISTS or (node.name in _OF_ATTRIBUTES and _reads_other_attribute(node))

    def _calls(self, node: nodes.Call) -> bool:
        function = node.node
        values = [*node.args, *(keyword.value for keyword in node.kwargs)]
        if node.dyn_args or node.dyn_kwargs:
            return False
        if isinstance(function, nodes.Name):
            is_known = function.name in self._macros or function.name in ("namespace", "raise_exception")
            return is_known or not self._any_followed((function, *values))
        if not isinstance(function, nodes.Getattr):
            return not self._any_followed((function, *values))
        owner, method = function.node, function.attr
        if method in APPENDING:
            are_items = all(self._has_forms(value, _TEXT) or self._is_message(value) for value in values)
            return method == "append" and are_items and self._is_list(owner)
        if method == "get":
            return bool(node.args) and isinstance(node.args[0], nodes.Const)
        if self._any_followed(values):
            return False
        if not self._followed(owner):
            return True
        if not self._has_forms(owner, _TEXT) or node.kwargs:
            return False
        if method in _TRIMMING:
            return _trims_fully(node)
        if method not in _SEARCHING or not node.args:
            return False
        return _is_constant(node.args[0]) and all(isinstance(value, nodes.Const) for value in node.args[1:])

    def _is_message(self, node: nodes.Node) -> bool:
        return all(pair == (MESSAGE, Form.DATA) for pair in self._followed(node))

    def _gets(self, node: nodes.Getitem) -> bool:
        if isinstance(node.arg, nodes.Slice):
            is_list = names_of(self._followed(node.node)) <= {LIST}
            return is_list and not self._any_followed(children(node.arg))
        return not self._followed(node.arg)

    def _lists(self, node: nodes.List) -> bool:
        return all(self._has_forms(item, _TEXT) or self._is_message(item) for item in node.items)


def _is_name(node: nodes.Node, name: str) -> bool:
    return isinstance(node, nodes.Name) and node.name == name


def _is_shape(node: nodes.Test) -> bool:
    return node.name in _SHAPES and not (node.args or node.kwargs or node.dyn_args or node.dyn_kwargs)


def _reads_other_attribute(node: nodes.Filter) -> bool:
    """Return True if a filter of items reads a constant attribute that holds no text."""
    if node.name == "map":
        names: list[nodes.Node] = [word.value for word in node.kwargs if word.key == "attribute"]
        if node.args:
            return False
    else:
        names = list(node.args[:1])
    values = [name.value for name in names if isinstance(name, nodes.Const)]
    return len(values) == 1 and isinstance(values[0], str) and _TEXTS.isdisjoint(values[0].split("."))


def _trims_fully(node: nodes.Call | nodes.Filter) -> bool:
    """Return True if all whitespace is trimmed, or line breaks alone."""
    is_plain = not (node.kwargs or node.dyn_args or node.dyn_kwargs)
    return is_plain and all(isinstance(chars, nodes.Const) and chars.value == "\n" for chars in node.args)


def _is_constant(node: nodes.Node) -> bool:
    """Return True if a node is a constant, or a list of constants, in which no text is empty or has whitespace."""
    if isinstance(node, nodes.List | nodes.Tuple):
        return all(isinstance(item, nodes.Const) and _is_visible(item) for item in node.items)
    return isinstance(node, nodes.Const) and _is_visible(node)


def _is_visible(node: nodes.Const) -> bool:
    """Return True if a constant is not a text, or a text without whitespace and without parts of its escapes."""
    return not isinstance(node.value, str) or ([node.value] == node.value.split() and "\\" not in node.value)
