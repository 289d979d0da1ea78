"""Loops over texts of messages: whether the items of a loop may be the characters of a text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from jinja2 import nodes

from renderers.templating.lookups import METHOD_NAMES
from renderers.templating.syntax import find_in, names_in_target
from renderers.templating.tree import children, find_all

_ORDERING = frozenset({"list", "reverse", "sort"})
"""Filters with the items of their argument."""
Conditions = tuple[tuple[nodes.Node, bool], ...]
"""Tests that hold where the flag is True, and do not hold where it is False."""
Bindings = Mapping[str, list[nodes.Node]]
"""The expressions that each variable is set to."""


def loop_conditions(body: Iterable[nodes.Node], around: Conditions = ()) -> Iterator[tuple[nodes.For, Conditions]]:
    """Yield all loops within some statements, each with the conditions under which it runs."""
    for node in body:
        if isinstance(node, nodes.If):
            failed = around
            for branch in (node, *node.elif_):
                yield from loop_conditions(branch.body, (*failed, (branch.test, True)))
                failed = (*failed, (branch.test, False))
            yield from loop_conditions(node.else_, failed)
        elif isinstance(node, nodes.For):
            yield node, around
            kept = _without(around, _stored_in(node))
            yield from loop_conditions((*node.body, *node.else_), kept)
        elif find_all(node, nodes.For):
            yield from loop_conditions(children(node))
        if around:
            around = _without(around, _stored_in(node))


def _stored_in(node: nodes.Node) -> set[str]:
    """Return the names that a statement may set, and those of namespaces with attributes that it may set."""
    targets = [part.target for part in find_in([node], (nodes.Assign, nodes.AssignBlock, nodes.For))]
    references = {part.name for part in find_in([node], nodes.NSRef)}
    return references.union(*map(names_in_target, targets))


def _without(conditions: Conditions, names: set[str]) -> Conditions:
    """Return the conditions that do not depend on some names."""
    return tuple(
        (test, holds)
        for test, holds in conditions
        if names.isdisjoint(part.name for part in find_in([test], nodes.Name))
    )


def reads_no_characters(node: nodes.For, conditions: Conditions, bound: Bindings) -> bool:
    """Return True if a loop runs only if its items are not the characters of a text, or does nothing for these."""
    names = set(names_in_target(node.target))
    if not node.else_ and all(_does_nothing(part, names) for part in node.body):
        return True
    return _is_no_text(node.iter, conditions, bound)


def _is_no_text(items: nodes.Node, conditions: Conditions, bound: Bindings) -> bool:
    if any(_excludes_text(test, items, holds=holds) for test, holds in conditions):
        return True
    if isinstance(items, nodes.Filter):
        # Only objects have items.
        if items.name in ("dictsort", "items") or (items.name == "selectattr" and _selects_no_characters(items.args)):
            return True
        return items.name in _ORDERING and items.node is not None and _is_no_text(items.node, conditions, {})
    if isinstance(items, nodes.Call):
        return isinstance(items.node, nodes.Getattr) and items.node.attr in ("items", "values", "keys")
    values = bound.get(items.name, ()) if isinstance(items, nodes.Name) else ()
    return bool(values) and all(_is_no_text(value, conditions, {}) for value in values)


def _selects_no_characters(arguments: Sequence[nodes.Node]) -> bool:
    """Return True if `selectattr` with some arguments selects no characters, because these lack the attribute."""
    names = [part.value if isinstance(part, nodes.Const) else None for part in arguments[:3]]
    if len(names) < 2 or not isinstance(names[0], str) or names[0] in METHOD_NAMES[str]:
        return False
    return names[1] == "defined" or (names[1] in ("equalto", "eq", "==") and isinstance(names[-1], str))


def _excludes_text(test: nodes.Node, items: nodes.Node, *, holds: bool) -> bool:
    """Return True if a condition that holds, or does not, shows that a value is not a text or empty."""
    if isinstance(test, nodes.Not):
        return _excludes_text(test.node, items, holds=not holds)
    if isinstance(test, nodes.And | nodes.Or):
        sides = [_excludes_text(side, items, holds=holds) for side in (test.left, test.right)]
        # Both sides of `and` hold if it holds, and no side of `or` holds if it does not.
        return any(sides) if isinstance(test, nodes.And) is holds else all(sides)
    if isinstance(test, nodes.Compare) and len(test.ops) == 1 and test.ops[0].expr == nodes.Const(""):
        return _is_same(test.expr, items) and test.ops[0].op == ("eq" if holds else "ne")
    if not isinstance(test, nodes.Test) or not _is_same(test.node, items):
        return False
    return test.name == "mapping" if holds else test.name == "string"


def _is_same(node: nodes.Node, other: nodes.Node) -> bool:
    """Return True if two expressions are equal. The fields `message.content` and `message["content"]` are."""
    field, other_field = _field_of(node), _field_of(other)
    if field is None or other_field is None:
        return node == other
    return field[1] == other_field[1] and _is_same(field[0], other_field[0])


def _field_of(node: nodes.Node) -> tuple[nodes.Node, str] | None:
    """Return the owner and the name of a field that an expression reads; None if it reads none."""
    if isinstance(node, nodes.Getattr):
        return node.node, node.attr
    if isinstance(node, nodes.Getitem):
        owner, key = node.node, node.arg
    elif isinstance(node, nodes.Call) and isinstance(node.node, nodes.Getattr) and node.node.attr == "get":
        owner, key = node.node.node, node.args[0] if len(node.args) == 1 else nodes.Const(None)
    else:
        return None
    return (owner, key.value) if isinstance(key, nodes.Const) and isinstance(key.value, str) else None


def _does_nothing(node: nodes.Node, names: set[str]) -> bool:
    """Return True if a statement does nothing if its item, which has one of some names, is a character."""
    if isinstance(node, nodes.Output):
        return all(isinstance(part, nodes.TemplateData) and not part.data for part in node.nodes)
    if not isinstance(node, nodes.If):
        return False
    for branch in (node, *node.elif_):
        if not _fails_for_characters(branch.test, names) and not all(
            _does_nothing(part, names) for part in branch.body
        ):
            return False
    return all(_does_nothing(part, names) for part in node.else_)


def _fails_for_characters(test: nodes.Node, names: set[str]) -> bool:
    """Return True if a test does not hold for a character."""
    if isinstance(test, nodes.And | nodes.Or):
        sides = [_fails_for_characters(side, names) for side in (test.left, test.right)]
        return any(sides) if isinstance(test, nodes.And) else all(sides)
    if isinstance(test, nodes.Test):
        return test.name == "mapping" and isinstance(test.node, nodes.Name) and test.node.name in names
    if not isinstance(test, nodes.Compare) or len(test.ops) != 1:
        return False
    operand, field = test.ops[0], _field_of(test.expr)
    if operand.op == "eq" and field is not None:
        is_text = isinstance(operand.expr, nodes.Const) and isinstance(operand.expr.value, str)
        is_item = isinstance(field[0], nodes.Name) and field[0].name in names
        return is_text and is_item and field[1] not in METHOD_NAMES[str]
    is_item = isinstance(operand.expr, nodes.Name) and operand.expr.name in names
    constant = test.expr.value if isinstance(test.expr, nodes.Const) else None
    return operand.op == "in" and is_item and isinstance(constant, str) and len(constant) > 1
