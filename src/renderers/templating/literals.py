"""Find the constant texts that a chat template tests other texts against."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping

from jinja2 import nodes

from renderers.core.literals import TemplateLiterals
from renderers.templating.syntax import find_in, syntax_tree
from renderers.templating.tree import find_all

_COMPARED = frozenset({"in", "notin", "eq", "ne"})
_CONTAINMENT = frozenset({"in", "notin"})
TESTING = (nodes.Compare, nodes.Call, nodes.Filter, nodes.Test, nodes.Dict)

Variables = Mapping[str, list[nodes.Node]]


@functools.lru_cache(maxsize=256)
def template_literals(source: str) -> TemplateLiterals:
    """Return the texts that a template compares, looks up, or passes to a method, a filter or a test.

    >>> literals = template_literals("{{ '<a>' in messages[0].content or messages[0].role == 'user' }}")
    >>> literals.within, literals.whole
    (frozenset({'<a>'}), frozenset({'user'}))
    """
    tree = syntax_tree(source)
    variables = template_variables(tree)
    literals = {pair for node in find_all(tree, TESTING) for pair in literals_of(node, variables) if pair[0].strip()}
    fields = frozenset(_read_fields(tree))
    within = {text for text, partial in literals if not text.isidentifier() or (partial and text not in fields)}
    return TemplateLiterals(frozenset(within), frozenset(text for text, _ in literals) - within)


def template_variables(tree: nodes.Template) -> Variables:
    """Return the expressions that each variable of a template is set to, or iterates over."""
    variables: dict[str, list[nodes.Node]] = {}
    pairs: list[tuple[nodes.Node, nodes.Node]] = [(node.target, node.node) for node in find_all(tree, nodes.Assign)]
    pairs += [(node.target, node.iter) for node in find_all(tree, nodes.For)]
    for target, value in pairs:
        if isinstance(target, nodes.Name):
            variables.setdefault(target.name, []).append(value)
    return variables


def constant_texts(node: nodes.Node, variables: Variables) -> Iterator[str]:
    """Yield the constant texts in an expression, and those that its variables are set to.

    The name of a filter that `map` applies does not count.
    """
    mapped = [name for part in find_in([node], nodes.Filter) if part.name == "map" for name in part.args[:1]]
    for part in find_in([node], (nodes.Const, nodes.Name)):
        if any(part is name for name in mapped):
            continue
        if isinstance(part, nodes.Const) and isinstance(part.value, str):
            yield part.value
        elif isinstance(part, nodes.Name):
            for value in variables.get(part.name, ()):
                if isinstance(value, nodes.Const | nodes.List | nodes.Tuple):
                    yield from constant_texts(value, {})


def _read_fields(tree: nodes.Template) -> Iterator[str]:
    for node in find_all(tree, (nodes.Getattr, nodes.Getitem, nodes.Call)):
        if isinstance(node, nodes.Getattr):
            yield node.attr
        elif isinstance(node, nodes.Getitem):
            yield from constant_texts(node.arg, {})
        elif isinstance(node, nodes.Call) and _is_get(node) and node.args:
            yield from constant_texts(node.args[0], {})


def _is_get(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Call) and isinstance(node.node, nodes.Getattr) and node.node.attr == "get"


def literals_of(node: nodes.Node, variables: Variables) -> Iterator[tuple[str, bool]]:
    """Yield the texts that an expression tests others against, and whether a part of a text may match."""
    if isinstance(node, nodes.Compare):
        operands = [operand for operand in node.ops if operand.op in _COMPARED]
        parts: list[nodes.Node] = [node.expr, *(operand.expr for operand in operands)] if operands else []
        # A text in a list equals one of its items. In anything else it may be a part.
        containers = [operand.expr for operand in operands if operand.op in _CONTAINMENT]
        in_text = not all(isinstance(container, nodes.List | nodes.Tuple) for container in containers)
        within = in_text or any(_is_part_of_text(part, variables) for part in parts)
    elif isinstance(node, nodes.Dict):
        parts, within = [pair.key for pair in node.items], False
    else:
        parts = [*(getattr(node, "args", None) or ()), *(getattr(node, "kwargs", None) or ())]
        within = not _is_get(node) and not isinstance(node, nodes.Test)
    yield from ((text, within) for part in parts for text in constant_texts(part, variables))


def _is_part_of_text(node: nodes.Node, variables: Variables) -> bool:
    """Return True if an expression may be a part of a text: a slice, a character, or the result of a method."""
    if isinstance(node, nodes.Name):
        return any(_is_part_of_text(value, {}) for value in variables.get(node.name, ()))
    if isinstance(node, nodes.Getitem):
        return not isinstance(node.arg, nodes.Const) or not isinstance(node.arg.value, str)
    return isinstance(node, nodes.Call) and not _is_get(node)
