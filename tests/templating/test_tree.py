"""The nodes of a syntax tree are those that Jinja finds, in the same order."""

from __future__ import annotations

import pytest
from jinja2 import nodes

from renderers import EMBEDDED, load_tokenizer
from renderers.templating.syntax import syntax_tree
from renderers.templating.tree import children, find_all

SOURCES = [
    "",
    "{% for m in messages if m.role != 'x' %}{{ m.content | trim if m.a is defined else (1, [2]) }}{% endfor %}",
    "{% macro f(a, b=1) %}{{ a[1:b] ~ caller() }}{% endmacro %}{% call(x) f(2, *y, **z) %}{{ x }}{% endcall %}",
    "{% set ns = namespace(a={'k': m}) %}{% set ns.a = -ns.a + 2 %}{% set b | upper %}x{% endset %}",
    "{% with c = 3 %}{{ c }}{% endwith %}",
    load_tokenizer(EMBEDDED).chat_template,
]


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("kinds", [nodes.Node, nodes.Const, (nodes.Name, nodes.Output, nodes.Call)])
def test_all_nodes_are_found_in_order(source: str, kinds: type[nodes.Node] | tuple[type[nodes.Node], ...]) -> None:
    tree = syntax_tree(source)
    for node in (tree, *tree.find_all(nodes.Node)):
        # Twice: the second results are those that were kept.
        for _ in range(2):
            assert list(map(id, find_all(node, kinds))) == list(map(id, node.find_all(kinds)))
            assert list(map(id, children(node))) == list(map(id, node.iter_child_nodes()))


def test_a_list_of_nodes_can_be_changed() -> None:
    tree = syntax_tree("{{ a + b }}")
    find_all(tree, nodes.Node).clear()
    assert len(find_all(tree, nodes.Name)) == 2


def test_the_compiler_and_the_analyses_share_a_tree() -> None:
    assert syntax_tree("{{ shared }}") is syntax_tree("{{ shared }}")
