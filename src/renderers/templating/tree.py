"""Walk the syntax tree of a template. Several analyses share a tree, which must not change, so its parts are kept."""

from __future__ import annotations

from typing import Any

from jinja2 import nodes

_CHILDREN, _DESCENDANTS = "_known_children", "_known_descendants"
"""The names of the attributes of a node that keep the results. Jinja does not read other attributes than its own."""


def children(node: nodes.Node) -> tuple[nodes.Node, ...]:
    """Return the nodes of the fields of a node. Equal to `iter_child_nodes`, which takes several times as long."""
    known: tuple[nodes.Node, ...] | None = node.__dict__.get(_CHILDREN)
    if known is None:
        parts: list[nodes.Node] = []
        for field in node.fields:
            value = getattr(node, field, None)
            if isinstance(value, nodes.Node):
                parts.append(value)
            elif isinstance(value, list):
                parts += [item for item in value if isinstance(item, nodes.Node)]
        known = node.__dict__[_CHILDREN] = tuple(parts)
    return known


def find_all(node: nodes.Node, kinds: Any) -> list[Any]:
    """Return all nodes of some kinds within a node. Equal to the method `find_all`, which walks the tree each time."""
    known: tuple[nodes.Node, ...] | None = node.__dict__.get(_DESCENDANTS)
    if known is None:
        within: list[nodes.Node] = []
        for child in children(node):
            within.append(child)
            within += find_all(child, nodes.Node)
        known = node.__dict__[_DESCENDANTS] = tuple(within)
    return list(known) if kinds is nodes.Node else [each for each in known if isinstance(each, kinds)]
