"""Loops with items that cannot be the characters of a text are recognized by their conditions or their bodies."""

from __future__ import annotations

import pytest
from jinja2 import nodes

from renderers.templating.syntax import syntax_tree
from renderers.templating.text_loops import loop_conditions, reads_no_characters
from renderers.templating.tree import find_all

COUNTING = "{% set ns.n = ns.n + 1 %}"
LOOP = "{% for p in m.content %}" + COUNTING + "{% endfor %}"


def is_safe(source: str) -> bool:
    """Return True if no loop of a template, apart from the one over messages, reads characters."""
    tree = syntax_tree("{% for m in messages %}" + source + "{% endfor %}")
    bound: dict[str, list[nodes.Node]] = {}
    for node in find_all(tree, nodes.Assign):
        bound.setdefault(getattr(node.target, "name", ""), []).append(node.node)
    conditions = dict(loop_conditions(tree.body))
    _, *loops = find_all(tree, nodes.For)
    return all(reads_no_characters(loop, conditions[loop], bound) for loop in loops)


@pytest.mark.parametrize(
    "source",
    [
        "{% if m.content is string %}x{% else %}" + LOOP + "{% endif %}",
        "{% if m['content'] is string %}x{% elif m.name %}" + LOOP + "{% endif %}",
        "{% if m.get('content') is not string and m.name %}" + LOOP + "{% endif %}",
        "{% if m.content is mapping %}" + LOOP + "{% endif %}",
        "{% if m.content is none or m.content is string %}x{% else %}" + LOOP + "{% endif %}",
        "{% if m.content is string and m.content != '' %}x{% else %}" + LOOP + "{% endif %}",
        "{% if m.content is not string %}{% set x = 1 %}" + LOOP + "{% endif %}",
        "{% if m.content is not string %}{% set b = m.content %}" + LOOP.replace("m.content", "b") + "{% endif %}",
        "{% if m.content is not string %}"
        + LOOP.replace("m.content", "m.content | sort(attribute='a')")
        + "{% endif %}",
        LOOP.replace("m.content", "m.content | dictsort"),
        LOOP.replace("m.content", "m.content.items()"),
        LOOP.replace("m.content", "m.content | selectattr('type', 'eq', 'text')"),
        LOOP.replace("m.content", "m.content | selectattr('type', 'defined')"),
        "{% for p in m.content %}{% if p.type == 'text' %}{{ p.text }}{% elif 'image' in p %}x{% endif %}{% endfor %}",
        "{% for p in m.content %}{% if p is mapping and p.a %}x{% endif %}{% endfor %}",
    ],
)
def test_a_loop_that_reads_no_characters(source: str) -> None:
    assert is_safe(source)


@pytest.mark.parametrize(
    "source",
    [
        LOOP,
        "{% if m.content is string %}" + LOOP + "{% endif %}",
        "{% if m.content is not string or m.name %}" + LOOP + "{% endif %}",
        "{% if m.content is string and m.name %}x{% else %}" + LOOP + "{% endif %}",
        "{% if m.name is not string %}" + LOOP + "{% endif %}",
        "{% if m.content is not string %}{% set m = messages[0] %}" + LOOP + "{% endif %}",
        "{% if m.content is not string %}{% if x %}{% set m = messages[0] %}{% endif %}" + LOOP + "{% endif %}",
        "{% if m.content is not string %}{% for m in messages %}" + LOOP + "{% endfor %}{% endif %}",
        "{% if m.content is not string %}{% endif %}" + LOOP,
        LOOP.replace("m.content", "m.content | selectattr('type')"),
        LOOP.replace("m.content", "m.content | selectattr('type', 'ne', 'image')"),
        LOOP.replace("m.content", "m.content | selectattr('type', 'undefined')"),
        LOOP.replace("m.content", "m.content | selectattr('upper', 'defined')"),
        LOOP.replace("m.content", "m.content | list"),
        "{% for p in m.content %}.{% endfor %}",
        "{% for p in m.content %}{% if p.type == 'text' %}x{% else %}y{% endif %}{% endfor %}",
        "{% for p in m.content %}{% if p.type != 'text' %}x{% endif %}{% endfor %}",
        "{% for p in m.content %}{% if 'a' in p %}x{% endif %}{% endfor %}",
        "{% for p in m.content %}{% else %}x{% endfor %}",
    ],
)
def test_a_loop_that_may_read_characters(source: str) -> None:
    assert not is_safe(source)
