"""Loops have the iterations, the scopes and the attributes of Jinja."""

from __future__ import annotations

from typing import Any

import jinja2
import pytest

from renderers.errors import TemplateRunError, TemplateSourceError
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
    "a test that reads an outer variable that the body sets": (
        "{% set x = 'o' %}{% for m in messages if m.role == 'user' or x == 'o' %}{% set x = 'p' %}{{ m.content }}"
        "{% endfor %}{% for m in messages if x == 'o' %}{% set x = 'p' %}{{ m.content }}{{ loop.length }}{% endfor %}"
    ),
    "a test that reads an undefined variable that the body sets": (
        "{% for m in messages if x is not defined %}{% set x = 'p' %}{{ m.content }}{% endfor %}"
        "{% for m in messages if f is defined %}{% macro f() %}F{% endmacro %}{{ f() }}{% else %}none{% endfor %}"
    ),
    "a test of an inner loop": (
        "{% for m in messages %}{% set x = loop.index %}{% for c in 'ab' if x == loop.index and loop.first %}"
        "{% set x = 'z' %}{{ c }}{{ x }}{% endfor %}{{ x }}{% endfor %}"
    ),
    "a test of a recursive loop": (
        "{% set x = 1 %}{% for n in tree if x == 1 recursive %}{% set x = 2 %}{{ n.v }}{{ x }}{{ loop(n.c) if n.c }}"
        "{% else %}none{% endfor %}"
    ),
    "a test on names of the target that hide outer ones": (
        "{% set a = 3 %}{% for a, b in [(1, 2), (3, 4)] if a == 1 %}{% set a = 5 %}{{ a }}{{ b }}{% endfor %}{{ a }}"
    ),
    "a test in a macro and in a call block": (
        "{% macro f(x) %}{% for m in messages if x == 1 %}{% set x = 2 %}{{ m.content }}{{ x }}{% endfor %}"
        "{{ caller(x) if caller }}{% endmacro %}{{ f(1) }}{{ f(2) }}{% call(x) f(1) %}"
        "{% for m in messages if x == 1 %}{% set x = 2 %}{{ m.content }}{% endfor %}{% endcall %}"
    ),
    **{
        f"a test on a namespace that the body sets, with {use}": (
            "{% set n = namespace(x=0) %}{% for m in messages if n.x < 2 %}{% set n.x = n.x + 1 %}{{ m.content }}"
            f"{{{{ {use} }}}}{{% else %}}none{{% endfor %}}"
        )
        for use in (
            *("n.x", "loop.index", "loop.length", "loop.last", "loop.revindex", "loop.nextitem is defined", "loop"),
            *("loop.previtem is defined", "loop.cycle('a', 'b')", "loop['last']", "loop | length"),
        )
    },
    "a test on a namespace that a macro sets": (
        "{% set n = namespace(x=0) %}{% macro f() %}{% set n.x = n.x + 1 %}{% endmacro %}"
        "{% for a, b in [(1, 2), (3, 4), (5, 6)] if n.x < 2 %}{{ f() }}{{ a }}{{ b }}{{ loop.last }}{% endfor %}"
    ),
    "a variable with the name of the loop": (
        "{% set loop = 1 %}{% for m in messages if loop == 1 %}{{ loop.index }}{% endfor %}{{ loop }}"
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
    "a search that ends": (
        "{% set n = namespace(found=false, at=-1) %}{% for m in messages %}{% if not n.found %}"
        "{% if m.role == 'user' %}{% set n.found = true %}{% set n.at = loop.index0 %}{% endif %}{{ m.content }}"
        "{% endif %}{% endfor %}{{ n.at }}"
    ),
    "a search that ends in its first branch": (
        "{% set n = namespace(stopped=false, other=true) %}{% for i in range(messages | length) %}"
        "{% if n.stopped and n.other %}{% elif messages[i].role == 'assistant' %}{% set n.stopped = true %}"
        "{% else %}{{ messages[i].content }}{% endif %}{% endfor %}"
    ),
    "searches that do not end": (
        "{% set n = namespace(found=false) %}{% for m in messages %}{% if not n.found %}{% set n.found = true %}"
        "{% else %}{{ m.content }}{% endif %}{% endfor %}"
        "{% for m in messages %}{% if n.found and m.role == 'user' %}{{ m.content }}{% endif %}{% endfor %}"
        "{% for m in messages %}{% set n = namespace(found=loop.index0 > 1) %}{% if n.found %}{{ m.content }}"
        "{% endif %}{% endfor %}{% for m in messages %}{% if m.nothing %}{% elif n.found %}{{ m.content }}{% endif %}"
        "{% endfor %}{% for m in [] %}{% if n.found %}{{ m }}{% endif %}{% else %}none{% endfor %}"
    ),
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


@pytest.mark.parametrize(
    "source",
    [
        "{% for loop in messages %}{% endfor %}",
        "{% for m in messages %}{% set loop = 1 %}{% endfor %}",
        "{% for m in messages %}{% if m.x %}{% set loop %}{% endset %}{% endif %}{% endfor %}",
    ],
)
def test_an_assignment_to_the_variable_loop_is_refused_as_in_jinja(source: str) -> None:
    with pytest.raises(jinja2.TemplateAssertionError):
        ChatEnvironment().from_string(source)
    with pytest.raises(TemplateSourceError, match="special loop variable"):
        ChatTemplate(source)


@pytest.mark.parametrize("test", ["loop.index > 1", "loop.first"])
def test_a_test_cannot_read_the_variable_of_its_own_loop(test: str) -> None:
    source = f"{{% for m in messages if {test} %}}{{{{ loop.index }}}}{{% endfor %}}"
    with pytest.raises(jinja2.UndefinedError):
        ChatEnvironment().from_string(source).render(messages=MESSAGES)
    with pytest.raises(TemplateRunError, match="'loop' is undefined"):
        ChatTemplate(source).run(MESSAGES)


def test_an_iterator_that_is_read_within_a_loop_over_it_is_refused() -> None:
    source = "{% set roles = messages | map(attribute='role') %}{% for a in roles %}{% for b in roles %}{{ b }}"
    with pytest.raises(TemplateRunError, match=r"make a list of them with `\| list`"):
        ChatTemplate(source + "{% endfor %}{% endfor %}", verify=False).run(MESSAGES)


def test_a_list_can_be_read_within_a_loop_over_it() -> None:
    source = "{% set l = messages | map(attribute='role') | list %}{% for a in l %}{{ l | length }}{% endfor %}"
    assert ChatTemplate(source).run(MESSAGES).text == "4444"


@pytest.mark.parametrize("target", ["k", "k, l"])
def test_a_loop_over_the_variable_loop_is_refused_when_the_template_is_compiled(target: str) -> None:
    source = f"{{% for m in messages %}}{{% for {target} in loop %}}x{{% endfor %}}{{% endfor %}}"
    with pytest.raises(TemplateSourceError, match="the items of `loop` cannot be read"):
        ChatTemplate(source)


@pytest.mark.parametrize(
    "use",
    [
        "{{ loop | list }}",
        "{{ loop | first }}",
        "{% set a, b = loop %}",
        "{% set x = loop %}{% for k in x %}{% endfor %}",
    ],
)
def test_another_use_of_the_items_of_the_variable_loop_is_an_error(use: str) -> None:
    source = "{% for m in messages %}" + use + "{% endfor %}"
    with pytest.raises(TemplateRunError, match="the items of `loop` cannot be read"):
        ChatTemplate(source, verify=False).run(MESSAGES)
