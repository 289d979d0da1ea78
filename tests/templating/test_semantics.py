"""Small templates at the edges of the language give the text of transformers, or fail as it does."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from transformers.utils.chat_template_utils import _compile_jinja_template

from renderers.errors import TemplateRunError, TemplateSourceError
from renderers.templating import ChatTemplate

MESSAGES: list[dict[str, Any]] = [
    {
        "role": "user",
        "content": "Hi <b>",
        "n": 7,
        "flag": True,
        "none": None,
        "d": {"items": "I", "k": [1, {"x": "y"}]},
    },
    {"role": "assistant", "content": "Answer", "list": ["p", "q"]},
]
C = "messages[0].content"

CASES = {
    "undefined values are empty, false, iterable and equal": (
        "{{ x }}{{ x is defined }}{{ not x }}{{ x | length }}{{ x == y }}{{ 'a' in x }}{{ x | default('d') }}"
        "{% for i in x %}{{ i }}{% endfor %}{{ x is iterable }}{{ messages[0].x ~ 'z' }}"
    ),
    "an undefined value fails when it is used": "{{ x.y }}",
    "a sum with an undefined value fails": "{{ 'a' + x }}",
    "a sum of a text and a number fails": "{{ messages[0].content + 1 }}",
    "set in an if is visible after it": "{% if true %}{% set a = 1 %}{% endif %}{{ a }}",
    "set in a loop ends with the iteration": (
        "{% set a = 0 %}{% for m in messages %}{{ a }}{% set a = a + 1 %}{{ a }}{% endfor %}{{ a }}"
    ),
    "a namespace outlives a loop": (
        "{% set ns = namespace(a=0) %}{% for m in messages %}{% set ns.a = ns.a + 1 %}{% endfor %}{{ ns.a }}{{ ns.b }}"
    ),
    "a macro sees later values of outer variables": (
        "{% set a = 1 %}{% macro f() %}{{ a }}{% endmacro %}{{ f() }}{% set a = 2 %}{{ f() }}"
    ),
    "defaults are evaluated at the call": (
        "{% set a = 1 %}{% macro f(x=a) %}{{ x }}{% endmacro %}{% set a = 2 %}{{ f() }}{{ f(3) }}{{ f(x=4) }}"
    ),
    "a macro can call itself and one that is defined later": (
        "{% macro f(n) %}{{ n }}{{ f(n - 1) if n > 0 }}{{ g() }}{% endmacro %}{% macro g() %}.{% endmacro %}{{ f(2) }}"
    ),
    "a macro cannot be called before it is defined": "{{ f() }}{% macro f() %}{% endmacro %}",
    "a macro in a branch may be undefined": (
        "{% for m in messages %}{% if loop.first %}{% macro f() %}x{% endmacro %}{% endif %}{{ f() }}{% endfor %}"
    ),
    "a macro is a value": (
        "{% macro f(a) %}[{{ a }}]{% endmacro %}{% macro g(h, x) %}{{ h(x) }}{% endmacro %}{{ g(f, 1) }}{{ f.name }}"
        "{{ f is callable }}{% set k = f %}{{ k(2) }}"
    ),
    "a macro takes more arguments through varargs and kwargs": (
        "{% macro f(a) %}{{ a }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ f(1, 2, 3, b=4) }}{{ f() }}{{ f(*[1, 2]) }}"
        "{{ f(**{'a': 1, 'c': 2}) }}"
    ),
    "a macro refuses arguments that it does not name": "{% macro f(a) %}{% endmacro %}{{ f(1, 2) }}",
    "a call block passes its body as caller": (
        "{% macro f(a) %}<{{ caller(a) }}{{ caller('z') | upper }}>{% endmacro %}"
        "{% for m in messages %}{% call(x) f(m.role) %}{{ x }}{{ m.content }}{{ loop.index }}{% endcall %}{% endfor %}"
    ),
    "a loop knows its neighbours": (
        "{% for m in messages %}{{ loop.index }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}"
        "{{ loop.previtem.role if loop.previtem is defined }}{{ loop.nextitem.role if not loop.last }}{% endfor %}"
    ),
    "a loop is a value": (
        "{% macro f(l) %}{{ l.index }}{{ l.last }}{{ l.depth }}{% endmacro %}{% for m in messages %}{{ f(loop) }}"
        "{{ loop.cycle('a', 'b') }}{{ loop.changed(m.role) }}{{ loop }}{% endfor %}"
    ),
    "a loop can have a condition, which sees the state of the body": (
        "{% set ns = namespace(n=0) %}{% for m in messages if ns.n == 0 %}{{ m.role }}{% set ns.n = 1 %}{% endfor %}"
        "{% for m in messages if m.role != 'user' %}{{ loop.index0 }}{{ loop.last }}{% else %}none{% endfor %}"
        "{% for m in messages if m.x %}{{ m }}{% else %}none{% endfor %}"
    ),
    "a loop can be recursive": (
        "{% for x in [[1, [2]], [3]] recursive %}{{ loop.depth }}"
        "{{ x if x is number else '(' ~ loop(x) ~ ')' }}{% endfor %}"
    ),
    "else runs if no iteration ended": "{% for m in messages %}{% continue %}{% else %}e{% endfor %}",
    "break and continue": (
        "{% for i in range(9) %}{% if i == 2 %}{% continue %}{% endif %}{% if i == 4 %}{% break %}{% endif %}{{ i }}"
        "{% endfor %}"
    ),
    "with evaluates its values outside": (
        "{% set a = 1 %}{% with a = 2, b = a %}{{ a }}{{ b }}{% endwith %}{{ a }}{{ b is defined }}"
    ),
    "nested targets": (
        "{% for a, (b, c) in [[1, [2, 3]]] %}{{ a }}{{ b }}{{ c }}{% endfor %}{% set x, y = 'ab' %}{{ y }}"
    ),
    "a target with too few values fails": "{% for a, b in [[1]] %}{% endfor %}",
    "attributes prefer methods, items prefer keys": (
        "{{ messages[0].d['items'] }}{{ messages[0].d.k }}{{ messages[0].d.items() | list | length }}"
        "{{ messages[0].d.get('items') }}{{ messages[0].d.items is callable }}"
    ),
    "views of a dict": (
        "{{ messages[0].d.keys() }}{{ messages[0].d.values() | list }}{{ {'a': 1}.items() }}"
        "{{ 'k' in messages[0].d.keys() }}{{ messages[0].d.items() | length }}{{ messages[0].d.keys()[0] is defined }}"
    ),
    "safe texts escape what they are added to": (
        f"{{{{ ({C} | safe) + '<' }}}}{{{{ '<' + ({C} | safe) }}}}{{{{ ({C} | safe) ~ '<' }}}}"
        f"{{{{ ('%s' | safe) % '<' }}}}{{{{ ('{{}}' | safe).format('<') }}}}"
        f"{{{{ ('-' | safe).join(['<', {C} | safe]) }}}}"
        f"{{{{ ({C} | safe).replace('b', '<') }}}}{{{{ {C} | e }}}}{{{{ [{C} | safe] }}}}"
        f"{{{{ ({C} | safe) is escaped }}}}"
        f"{{{{ ({C} | safe).upper() + '<' }}}}{{{{ ({C} | safe).split(' ')[1] + '&' }}}}"
        f"{{{{ ({C} | safe) * 2 + '<' }}}}"
        f"{{{{ ('<' | safe | upper) + '<' }}}}{{{{ ({C} | safe).striptags() }}}}{{{{ ({C} | e).unescape() }}}}"
    ),
    "nothing can be selected from none": "{{ none | selectattr('a') | list }}{{ none | map('upper') | list }}",
    "the length of a lazy filter is an error": "{{ messages | selectattr('role') | length }}",
    "an unknown filter in a branch is an error only if it is reached": (
        "{% if false %}{{ x | from_json }}{% endif %}{{ x | from_json if false }}ok"
    ),
    "an unknown filter that is reached": "{% if true %}{{ x | from_json }}{% endif %}",
    "an unknown filter": "{{ x | from_json }}",
    "an unknown test": "{{ x is from_json }}",
    "functions are values": "{{ strftime_now is defined }}{{ range is callable }}{{ namespace is defined }}",
    "comparisons are chained": "{{ 1 < 2 < 3 }}{{ 1 < 3 < 2 }}{{ 'a' in 'abc' in ['abc'] }}",
    "texts and numbers cannot be ordered": "{{ 'a' < 1 }}",
    "numbers have attributes and methods": (
        "{{ (3).real }}{{ (1.5).is_integer() }}{{ messages[0].n.bit_length() }}{{ (2).numerator }}{{ 1.5.imag }}"
    ),
    "formats": (
        "{{ '%5.2f|%-4s|%(a)s' % {'a': 1} if false else '%5.2f|%-4s' % (1.5, 'x') }}{{ '%(a)s' % {'a': 1} }}"
        "{{ '{0.role}{0[content]!r:>9}{x[1]}'.format(messages[0], x=[1, 2]) }}{{ '%s' | format(1) }}"
        "{{ '{:{w}}|'.format('a', w=4) }}{{ '{a}'.format_map({'a': 2}) }}"
    ),
    "slices and indices": (
        f"{{{{ {C}[1:] }}}}{{{{ {C}[::-1] }}}}{{{{ {C}[-1] }}}}{{{{ {C}[99] is defined }}}}"
        "{{ messages[:1] | length }}"
        f"{{{{ messages[5] is defined }}}}{{{{ messages['x'] is defined }}}}{{{{ messages[-1].role }}}}"
    ),
    "groups": "{% for g in messages | groupby('role') %}{{ g.grouper }}{{ g.list | length }}{{ g[0] }}{% endfor %}",
    "groups can be unpacked": (
        "{% for role, items in messages | groupby('role') %}{{ role }}{{ items | length }}{% endfor %}"
        "{% for g in messages | groupby('role') %}{{ g | first }}{{ g.count('user') }}{% for x in g %}x{% endfor %}"
        "{% endfor %}"
    ),
    "ranges have bounds": "{% set r = range(1, 9, 2) %}{{ r.start }}{{ r.stop }}{{ r.step }}{{ r.count(3) }}",
    "macros have attributes": (
        "{% macro f(a, b=1) %}{{ caller() }}{{ varargs }}{% endmacro %}{% macro g() %}{{ kwargs }}{% endmacro %}"
        "{% for m in [f, g] %}{{ m.name }}{{ m.arguments }}{{ m.catch_kwargs }}{{ m.catch_varargs }}{{ m.caller }}"
        "{% endfor %}"
    ),
    "booleans have the methods of numbers": "{{ messages[0].flag.bit_length() }}{{ true.conjugate() }}",
    "booleans have no other methods": "{{ messages[0].flag.upper() }}",
    "block assignments and filters": (
        "{% set a %}<{{ messages[0].content }}>{% endset %}{{ a | length }}{{ a }}"
        "{% set b | upper %}x{{ a }}{% endset %}{{ b }}{% filter indent(2) | upper %}a\nb{% endfilter %}"
        "{% set ns = namespace() %}{% set ns.c %}c{% endset %}{{ ns.c }}"
    ),
    "the end of a line after a block is removed": "  {% if true %}\n  x\n  {% endif %}\n  {{- ' y ' -}}  z\n",
    "lists cannot be sorted": "{% set a = [2, 1] %}{{ a.sort() }}",
    "data cannot be changed": "{{ messages[0].update({'a': 1}) }}",
    "private names of a namespace are refused": "{{ namespace(_a=1) }}",
    "the class of a value cannot be used": "{{ ''.__class__.__mro__ }}",
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_text_or_the_failure_equals_that_of_transformers(name: str) -> None:
    messages = copy.deepcopy(MESSAGES)
    try:
        expected = _compile_jinja_template(CASES[name]).render(messages=messages, strftime_now=str)
    except Exception:
        with pytest.raises((TemplateRunError, TemplateSourceError)):
            ChatTemplate(CASES[name], verify=False).run(MESSAGES)
        return
    assert ChatTemplate(CASES[name], verify=False).run(MESSAGES).text == expected


REFUSED = {
    "{% import 'a' as b %}": "`import`",
    "{% from 'a' import b %}": "`from ... import`",
    "{% include 'a' %}": "`include`",
    "{% extends 'a' %}": "`extends`",
    "{% block a %}{% endblock %}": "`block`",
    "{% autoescape true %}{% endautoescape %}": "`autoescape`",
    "{{ lipsum() }}": "`lipsum`",
    "{{ cycler(1) }}": "`cycler`",
    "{{ joiner() }}": "`joiner`",
    "{{ self }}": "`self`",
    "{{ 'a'.encode() }}": "`encode`",
    "{{ (1).to_bytes(1, 'big') }}": "`to_bytes`",
    "{% for m in messages %}{% generation %}{% break %}{% endgeneration %}{% endfor %}": "`break`",
}


@pytest.mark.parametrize("source", REFUSED)
def test_a_construct_that_is_not_supported_is_refused_with_its_name_and_line(source: str) -> None:
    with pytest.raises(
        TemplateSourceError, match=f"the chat template uses {REFUSED[source]}.* at line 2, which is not"
    ):
        ChatTemplate("a\n" + source)


@pytest.mark.parametrize("value", ["1", "-1", "''", "[]", "()", "{}", "none", "1 + 1", "'a' ~ 1"])
def test_no_warning_is_raised_for_a_literal(value: str) -> None:
    """Warnings are errors in tests."""
    tests = ("none", "true", "false", "defined", "string", "mapping", "iterable")
    source = "".join(f"{{{{ ({value}) is {test} }}}}{{{{ ({value}) is not {test} }}}}" for test in tests)
    assert ChatTemplate(source + f"{{{{ ({value})[0] }}}}").run(MESSAGES).text


def test_a_name_that_the_template_binds_is_not_refused() -> None:
    source = "{% macro joiner(x) %}-{{ x }}{% endmacro %}{% set cycler = 1 %}{{ joiner(cycler) }}"
    assert ChatTemplate(source).run(MESSAGES).text == "-1"
