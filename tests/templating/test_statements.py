"""Statements have the scopes and the output of Jinja."""

from __future__ import annotations

import jinja2
import pytest

from renderers.errors import TemplateRunError, TemplateSourceError
from renderers.templating import ChatTemplate
from renderers.templating.sandbox import ChatEnvironment

MESSAGES = [{"role": "user", "content": "ab"}, {"role": "assistant", "content": "Ans"}]
SOURCES = {
    "branches": "{% if a %}1{% elif messages %}2{% else %}3{% endif %}{% if a %}4{% endif %}{% if not a %}5{% endif %}",
    "nested branches": (
        "{% for m in messages %}{% if m.role == 'user' %}{% if b %}1{% else %}2{% endif %}{% endif %}{% endfor %}"
    ),
    "assignment in a branch": "{% if b %}{% set x = 1 %}{% else %}{% set x = 2 %}{% endif %}{{ x }}{{ y }}",
    "assignment of several": "{% set x, y = 'ab' %}{{ y }}{{ x }}{% set (x, y) = (y, x) %}{{ y }}{{ x }}",
    "assignment to a namespace": "{% set n = namespace(a=1, b=2) %}{% set n.a = n.a + n.b %}{{ n.a }}{{ n.c }}",
    "a block": "{% set x %}<{{ messages[0].content }}>{% endset %}{{ x }}{{ x | length }}",
    "a filtered block": "{% set x | upper | trim %} a{{ messages[0].content }} {% endset %}[{{ x }}]",
    "a filter": "{% filter upper | replace('B', '-') %}a{{ messages[0].content }}{% endfilter %}",
    "with": "{% set x = 1 %}{% with x = 2, y = x %}{{ x }}{{ y }}{% set x = 3 %}{{ x }}{% endwith %}{{ x }}",
    "macros": (
        "{% macro f(a, b='d') %}[{{ a }}{{ b }}{{ caller is defined }}]{% endmacro %}{{ f(1) }}"
        "{{ f(1, 2) }}{{ f(b=3) }}"
    ),
    "macros and outer variables": (
        "{% set x = 1 %}{% macro f() %}{{ x }}{% set x = 2 %}{{ x }}{% endmacro %}{{ f() }}{{ x }}"
    ),
    **{
        f"a macro with the parameters ({parameters})": (
            f"{{% set a = 9 %}}{{% set o = 8 %}}{{% macro f({parameters}) %}}[{{{{ a }}}},{{{{ b }}}}{special}]"
            "{% set o = 7 %}{% endmacro %}{{ f() }}{{ f(1) }}{{ f(b=2) }}{{ f(a=3) }}{{ f(4, 5) }}"
        )
        for parameters, special in {
            "a=a, b=1": "",
            "a=b, b=1": "",
            "a=b, b=a": "",
            "a=1, b=a": "",
            "a, b=a": "",
            "a=[b], b=b ~ 'x'": "",
            "a=a | default('d'), b=a is defined": "",
            "a=b | default(o), b=a is defined": "",
            "a=o, b=p": "",
            "a=b is defined and b + 1, b=o": "",
            "a=f is callable, b=caller is defined": "",
            "a=caller is defined, b=varargs is defined": ",{{ caller is defined }}",
            "a=varargs, b=kwargs": ",{{ varargs }},{{ kwargs }}",
            "a=caller is defined, b=caller, caller=a": ",{{ caller }}",
        }.items()
    },
    "the defaults of a call block": (
        "{% set y = 4 %}{% macro f() %}{{ caller() }}{{ caller(3) }}{{ caller(y=2) }}{% endmacro %}"
        "{% call(x=y, y=y) f() %}[{{ x }},{{ y }}]{% endcall %}"
    ),
    "a macro in a macro": (
        "{% macro f(x) %}{% macro g(y) %}{{ x }}{{ y }}{% endmacro %}{{ g(1) }}{% endmacro %}{{ f(0) }}"
    ),
    "call blocks": (
        "{% macro f(n) %}{{ caller(n) }}{{ caller(n + 1) }}{% endmacro %}{% call(i) f(1) %}<{{ i }}>{% endcall %}"
    ),
    "a call block and outer variables": (
        "{% macro f() %}{{ caller() }}{% endmacro %}{% for m in messages %}{% call f() %}{{ m.content }}"
        "{% endcall %}{% endfor %}"
    ),
    "a macro that is called before an assignment": (
        "{% macro f() %}{{ x }}{% endmacro %}{{ f() }}{% set x = 1 %}{{ f() }}"
    ),
    "raw text": "{% raw %}{{ x }}{% endraw %}{# comment #}",
    "white space": "a\n  {% if messages %}\n  b\n  {%- endif %}\n c {{- ' d' -}}  e\n",
    "generation": "{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %}{% endfor %}",
    "do nothing": "{% if messages %}{% endif %}{% set x %}{% endset %}[{{ x }}]",
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_the_text_is_that_of_jinja(source: str) -> None:
    expected = ChatEnvironment().from_string(source).render(messages=MESSAGES, b=True)
    assert ChatTemplate(source).run(MESSAGES, b=True).text == expected


@pytest.mark.parametrize(
    "source",
    [
        "{% set x %}<{{ messages[0].content }}>{% endset %}{{ x }}",
        "{% filter trim %}<{{ messages[0].content }}> {% endfilter %}",
        "{% with m = messages[0] %}<{{ m.content }}>{% endwith %}",
        "{% macro f(x) %}<{{ x }}>{% endmacro %}{{ f(messages[0].content) }}",
        "{% macro f() %}<{{ caller() }}>{% endmacro %}{% call f() %}{{ messages[0].content }}{% endcall %}",
    ],
)
def test_a_field_keeps_its_owner_through_a_block(source: str) -> None:
    run = ChatTemplate(source).run(MESSAGES)
    assert run.text == "<ab>"
    assert [(span.start, span.end, span.message, span.path) for span in run.spans if span.path] == [
        (1, 3, 0, ("content",))
    ]


@pytest.mark.parametrize(
    "source",
    [
        "{% set x, y = 'abc' %}",
        "{% set x.y = 1 %}",
        "{% macro f(a) %}{% endmacro %}{{ f(1, 2) }}",
        "{% macro f(a) %}{% endmacro %}{{ f(b=2) }}",
        "{% set n = namespace() %}{% set n._x = 1 %}",
        "{% macro f(a=b.c, b=1) %}{% endmacro %}{{ f() }}",
        "{% macro f(a=a.c) %}{% endmacro %}{{ f() }}",
    ],
)
def test_statements_that_fail_in_jinja_fail(source: str) -> None:
    with pytest.raises(Exception):  # noqa: B017, PT011 - Jinja raises several types
        ChatEnvironment().from_string(source).render(messages=MESSAGES)
    with pytest.raises(TemplateRunError):
        ChatTemplate(source).run(MESSAGES)


def test_a_parameter_named_caller_needs_a_default_as_in_jinja() -> None:
    source = "{% macro f(caller) %}{{ caller }}{% endmacro %}"
    with pytest.raises(jinja2.TemplateAssertionError):
        ChatEnvironment().from_string(source)
    with pytest.raises(TemplateSourceError, match="`caller` of a macro needs a default"):
        ChatTemplate(source)


@pytest.mark.parametrize(
    "statement", ["{% include 'x' %}", "{% import 'x' as y %}", "{% extends 'x' %}", "{% block b %}{% endblock %}"]
)
def test_a_statement_that_is_not_supported_is_an_error_of_the_source(statement: str) -> None:
    with pytest.raises(TemplateSourceError):
        ChatTemplate(statement)
