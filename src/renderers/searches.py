"""The texts that a template looks for in what it is given: only by these can words change what it does."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from jinja2 import nodes

from renderers.trace.rules import ChatEnvironment

__all__ = ["searched_texts"]

_COMPARED = frozenset({"in", "notin", "eq", "ne"})


@functools.lru_cache(maxsize=256)
def searched_texts(source: str) -> frozenset[str]:
    """Returns the texts that a template compares with others, or passes to a method, a filter or a test.

    Names, such as those of roles and fields, are left out.

    >>> sorted(searched_texts("{{ '<a>' in messages[0].content or messages[0].content.startswith('[B]') }}"))
    ['<a>', '[B]']
    """
    tree = ChatEnvironment().parse(source)
    found = (
        text for node in tree.find_all((nodes.Compare, nodes.Call, nodes.Filter, nodes.Test)) for text in _of(node)
    )
    return frozenset(text for text in found if text.strip() and not text.isidentifier())


def _of(node: nodes.Node) -> Iterator[str]:
    if isinstance(node, nodes.Compare):
        operands = [one.expr for one in node.ops if one.op in _COMPARED]
        parts: list[nodes.Node] = [node.expr, *operands] if operands else []
    else:
        parts = [*(getattr(node, "args", None) or ()), *(getattr(node, "kwargs", None) or ())]
    for part in parts:
        constants = [part] if isinstance(part, nodes.Const) else part.find_all(nodes.Const)
        for constant in constants:
            if isinstance(constant.value, str):
                yield constant.value
