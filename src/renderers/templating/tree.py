"""Walk the syntax tree of a template. Several analyses share a tree, which must not change, so its parts are kept."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

from jinja2 import nodes

_CHILDREN, _DESCENDANTS = "_known_children", "_known_descendants"
"""The names of the attributes of a node that keep the results. Jinja does not read other attributes than its own."""


def children(node: nodes.Node) -> tuple[nodes.Node, ...]:
    """Return the nodes of the fields of a node. Equal to `iter_child_nodes`, which takes several times as long."""
    known: tuple[nodes.Node, ...] | None = node.__dict__.get(_CHILDREN)
    if known is None:
        parts: list[nodes.Node] = []
        types = types_of(nodes.Node)
        for field in node.fields:
            value: Any = getattr(node, field, None)
            if type(value) in types:
                parts.append(value)
            elif isinstance(value, list):
                parts += [item for item in value if type(item) in types]
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
    if kinds is nodes.Node:
        return list(known)
    types = types_of(kinds)
    return [each for each in known if type(each) in types]


@functools.lru_cache(maxsize=64)
def types_of(kinds: Any) -> frozenset[type[nodes.Node]]:
    """Return the types of the nodes that are instances of some kinds. Jinja refuses types other than its own.

    A look-up takes a fraction of the time of `isinstance`, which is slow for types that have a metaclass.
    """
    each_kind = kinds if isinstance(kinds, tuple) else (kinds,)
    return frozenset(known for kind in each_kind for known in _with_subtypes(kind))


def _with_subtypes(kind: type[nodes.Node]) -> Iterator[type[nodes.Node]]:
    yield kind
    for subtype in kind.__subclasses__():
        yield from _with_subtypes(subtype)
