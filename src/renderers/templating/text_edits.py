"""The fields with texts that a chat template may change in part before it writes them, from its syntax tree.

They are changes that not every text shows: a part is replaced, the text is cut at a position, or characters other than
whitespace are stripped. `text_uses` finds other uses of texts.
"""

from __future__ import annotations

import functools

from jinja2 import nodes

from renderers.templating.literals import syntax_tree
from renderers.templating.message_values import ANY, CLEAN, LIST, MESSAGE, MessageValues, Value, leaves_text, names_of

_STRIPPING = frozenset({"strip", "lstrip", "rstrip"})
_NO_TEXTS = frozenset({LIST, MESSAGE, "tool_calls"})
"""Values that are lists or objects: a slice of them does not cut a text."""
_LINKED = frozenset({"content", "text"})
"""The content of a message may be adapted to a part with a text, and a part to a text."""


@functools.lru_cache(maxsize=256)
def edited_fields(source: str) -> frozenset[str] | None:
    """Return the fields with texts that a template may change in part; None if all may be.

    >>> sorted(edited_fields("{% for m in messages %}{{ m.name[:9] }}{{ m.content | trim }}{% endfor %}"))
    ['name']
    """
    tree = syntax_tree(source)
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


def _strips_whitespace(node: nodes.Call | nodes.Filter) -> bool:
    constants = [argument.value for argument in node.args if isinstance(argument, nodes.Const)]
    return (
        not node.kwargs and len(constants) == len(node.args) and not any(str(text or "").strip() for text in constants)
    )
