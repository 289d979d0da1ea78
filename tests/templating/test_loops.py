"""Loops have the iterations, the scopes and the attributes of Jinja."""

from __future__ import annotations

from typing import Any

import pytest

from renderers.errors import TemplateRunError
from renderers.templating import ChatTemplate
from renderers.templating.sandbox import ChatEnvironment

MESSAGES: list[dict[str, Any]] = [
    {"role": "system", "content": "S", "parts": [{"t": "x"}, {"t": "y"}]},
    {"role": "user", "content": "U"},
    {"role": "assistant", "content": "A"},
    {"role": "user", "content": "V"},
]
TREE = [{"v": 1, "c": [{"v": 2, "c": [{"v": 3}]}, {"v": 4}]}, {"v": 5}]
SOURCES = {
    "attributes": (
        "{% for m in messages %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}"
        "{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.depth }}{{ loop.previtem }}"
        "{{ loop.nextitem }}{% endfor %}"
    ),
    "a test": "{% for m in messages if m.role == 'user' %}{{ loop.index }}{{ loop.length }}{{ m.content }}{% endfor %}",
    "a test that reads outer variables": (
        "{% set r = 'user' %}{% for m in messages if m.role == r %}{{ m.content }}{% endfor %}"
    ),
    "else": "{% for m in [] %}x{% else %}none{% endfor %}{% for m in messages %}x{% else %}none{% endfor %}",
    "else after a test": "{% for m in messages if m.role == 'tool' %}x{% else %}none{% endfor %}",
    "else after break": "{% for m in messages %}{% break %}{% else %}none{% endfor %}",
    "break and continue": (
        "{% for m in messages %}{% if loop.first %}{% continue %}{% endif %}{{ m.content }}"
        "{% if m.role == 'assistant' %}{% break %}{% endif %}{% endfor %}"
    ),
    "nested": (
        "{% for m in messages %}{% for c in m.content %}{{ loop.index }}{{ c }}{% endfor %}{{ loop.index }}{% endfor %}"
    ),
    "an outer loop in an inner one": (
        "{% for m in messages %}{% set outer = loop %}{% for c in 'ab' %}{{ outer.index }}{{ c }}"
        "{% endfor %}{% endfor %}"
    ),
    "nested messages": (
        "{% for m in messages %}{% for n in messages %}{{ n.content if n.role == m.role }}{% endfor %}.{% endfor %}"
    ),
    "unpacking": (
        "{% for k, v in {'a': 1, 'b': 2}.items() %}{{ k }}{{ v }}{% endfor %}"
        "{% for k, v in {'c': 3} | items %}{{ k }}{{ v }}{% endfor %}"
    ),
    "unpacking of nested pairs": "{% for a, (b, c) in [(1, (2, 3))] %}{{ a }}{{ b }}{{ c }}{% endfor %}",
    "fields of a message": (
        "{% for k in messages[0] %}{{ k }}{% endfor %}{% for k, v in messages[1].items() %}{{ k }}{{ v }}{% endfor %}"
    ),
    "lists in messages": "{% for m in messages %}{% for p in m.parts %}{{ p.t }}{% endfor %}{% endfor %}",
    "reverse": (
        "{% for m in messages[::-1] %}{{ m.content }}{{ loop.index0 }}{% endfor %}"
        "{% for m in messages | reverse %}{{ m.content }}{% endfor %}"
    ),
    "ranges": "{% for i in range(messages | length - 1, -1, -1) %}{{ messages[i].content }}{% endfor %}",
    "texts and numbers": (
        "{% for c in 'abc' %}{{ c }}{% endfor %}{% for n in [1, 2.5, none, true] %}{{ n }}{% endfor %}"
    ),
    "iterators": "{% for c in messages | map(attribute='content') %}{{ c }}{{ loop.last }}{% endfor %}",
    "undefined": "{% for x in nothing %}{{ x }}{% else %}empty{% endfor %}",
    "the scope of an iteration": (
        "{% set x = 0 %}{% for m in messages %}{{ x }}{% set x = x + 1 %}{{ x }}{% endfor %}{{ x }}{{ m }}"
    ),
    "a variable of the last iteration": "{% for m in messages %}{{ y }}{% set y = m.content %}{% endfor %}{{ y }}",
    "cycle and changed": "{% for m in messages %}{{ loop.cycle('a', 'b', 'c') }}{{ loop.changed(m.role) }}{% endfor %}",
    "recursion": "{% for n in tree recursive %}{{ n.v }}@{{ loop.depth }}{{ loop(n.c) if n.c }}{% endfor %}",
    "the variable loop as a value": (
        "{% macro f(l) %}{{ l.index }}{{ l.last }}{% endmacro %}{% for m in messages %}{{ f(loop) }}{% endfor %}"
    ),
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_the_text_is_that_of_jinja(source: str) -> None:
    expected = ChatEnvironment().from_string(source).render(messages=MESSAGES, tree=TREE)
    assert ChatTemplate(source).run(MESSAGES, tree=TREE).text == expected


@pytest.mark.parametrize(
    "loop",
    [
        "{% for m in messages if m.role == 'user' %}<{{ m.content }}>{% endfor %}",
        "{% for m in messages %}{% if m.role != 'user' %}{% continue %}{% endif %}<{{ m.content }}>{% endfor %}",
        "{% for m in messages | selectattr('role', 'equalto', 'user') %}<{{ m.content }}>{% endfor %}",
        "{% for i in range(4) %}{% if messages[i].role == 'user' %}<{{ messages[i].content }}>{% endif %}{% endfor %}",
    ],
)
def test_the_text_of_an_iteration_belongs_to_its_message(loop: str) -> None:
    run = ChatTemplate(loop).run(MESSAGES)
    assert run.text == "<U><V>"
    assert [(span.start, span.end, span.message) for span in run.spans if span.path] == [(1, 2, 1), (4, 5, 3)]


@pytest.mark.parametrize(
    "source",
    [
        "{% for x in 5 %}{% endfor %}",
        "{% for x in none %}{% endfor %}",
        "{% for a, b in [1] %}{% endfor %}",
        "{% for a, b in [(1, 2, 3)] %}{% endfor %}",
    ],
)
def test_a_loop_that_fails_in_jinja_fails(source: str) -> None:
    with pytest.raises((TypeError, ValueError)):
        ChatEnvironment().from_string(source).render()
    with pytest.raises(TemplateRunError):
        ChatTemplate(source).run(MESSAGES)


def test_an_iterator_that_is_read_within_a_loop_over_it_is_refused() -> None:
    source = "{% set roles = messages | map(attribute='role') %}{% for a in roles %}{% for b in roles %}{{ b }}"
    with pytest.raises(TemplateRunError, match=r"make a list of them with `\| list`"):
        ChatTemplate(source + "{% endfor %}{% endfor %}", verify=False).run(MESSAGES)


def test_a_list_can_be_read_within_a_loop_over_it() -> None:
    source = "{% set l = messages | map(attribute='role') | list %}{% for a in l %}{{ l | length }}{% endfor %}"
    assert ChatTemplate(source).run(MESSAGES).text == "4444"
