"""The fields with texts that a chat template may change in part before it writes them, from its syntax tree.

They are changes that not every text shows: a part is replaced, the text is cut at a position, or characters other than
whitespace are stripped. `text_uses` finds other uses of texts. Tests of whitespace at the ends of texts are found too.
"""

from __future__ import annotations

import functools

from jinja2 import nodes

from renderers.core.literals import TextEdits
from renderers.templating.literals import syntax_tree
from renderers.templating.message_values import ANY, CLEAN, LIST, MESSAGE, MessageValues, Value, leaves_text, names_of

_STRIPPING = frozenset({"strip", "lstrip", "rstrip"})
COMMON_SPACE = frozenset(" \n\t\r")
_NO_TEXTS = frozenset({LIST, MESSAGE, "tool_calls"})
"""Values that are lists or objects: a slice of them does not cut a text."""
_LINKED = frozenset({"content", "text"})
"""The content of a message may be adapted to a part with a text, and a part to a text."""


@functools.lru_cache(maxsize=256)
def text_edits(source: str) -> TextEdits:
    """Return the changes of message texts by a template that not every text shows.

    >>> text_edits("{% for m in messages %}{{ m.name[:9] }}{{ m.content | trim }}{% endfor %}")
    TextEdits(fields=frozenset({'name'}), tests_space=False)
    """
    tree = syntax_tree(source)
    return TextEdits(_edited_fields(tree), any(map(_tests_space, tree.find_all(nodes.Expr))))


def _edited_fields(tree: nodes.Template) -> frozenset[str] | None:
    if any(getattr(block, "filter", None) for block in tree.find_all((nodes.FilterBlock, nodes.AssignBlock))):
        return None
    values = MessageValues(tree)
    edited = {name for node in tree.find_all(nodes.Expr) for name in names_of(_edited_value(values, node))}
    if ANY in edited:
        return None
    return frozenset(edited | _LINKED if edited & _LINKED else edited)


def _edited_value(values: MessageValues, node: nodes.Node) -> Value:
    """Return the values that an expression changes in part."""
    if isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Slice):
        return frozenset(pair for pair in values.value(node.node) if pair[0] not in _NO_TEXTS)
    if isinstance(node, nodes.Call) and isinstance(node.node, nodes.Getattr):
        method, arguments, owner = node.node.attr, node.args, node.node.node
        is_edit = method in _STRIPPING and not _strips_whitespace(node)
        return values.value(owner) if is_edit or (method == "replace" and leaves_text(arguments)) else CLEAN
    if isinstance(node, nodes.Filter):
        is_edit = node.name == "trim" and not _strips_whitespace(node)
        return values.value(node.node) if is_edit or (node.name == "replace" and leaves_text(node.args)) else CLEAN
    return CLEAN


def _tests_space(node: nodes.Node) -> bool:
    """Return True if an expression may depend on whitespace at the ends of a text, other than by stripping it."""
    if isinstance(node, nodes.Compare):
        return any(_is_space(constant.value) for constant in node.find_all(nodes.Const))
    if isinstance(node, nodes.Call) and isinstance(node.node, nodes.Getattr):
        if node.node.attr in ("startswith", "endswith"):
            constants = [constant.value for argument in node.args for constant in _constants(argument)]
            return not constants or not all(isinstance(text, str) and text == text.strip() for text in constants)
        return node.node.attr in _STRIPPING and not _strips_common_space(node)
    return isinstance(node, nodes.Filter) and node.name == "trim" and not _strips_common_space(node)


def _constants(node: nodes.Node) -> list[nodes.Const]:
    """Return the constants of a constant or of a tuple of constants; none for anything else."""
    items = node.items if isinstance(node, nodes.Tuple) else [node]
    constants = [item for item in items if isinstance(item, nodes.Const)]
    return constants if len(constants) == len(items) else []


def _is_space(value: object) -> bool:
    return isinstance(value, str) and bool(value) and not value.strip()


def _strips_common_space(node: nodes.Call | nodes.Filter) -> bool:
    constants = [argument.value for argument in node.args if isinstance(argument, nodes.Const)]
    return _strips_whitespace(node) and set("".join(text or "" for text in constants)) <= COMMON_SPACE


def _strips_whitespace(node: nodes.Call | nodes.Filter) -> bool:
    constants = [argument.value for argument in node.args if isinstance(argument, nodes.Const)]
    return (
        not node.kwargs and len(constants) == len(node.args) and not any(str(text or "").strip() for text in constants)
    )
