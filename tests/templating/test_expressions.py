"""Expressions give the values of Jinja, whichever code their kinds select, and texts keep their owners."""

from __future__ import annotations

from typing import Any

import pytest
from jinja2 import nodes

from renderers.templating import ChatTemplate
from renderers.templating.expressions import field_of
from renderers.templating.limits import LIMITS
from renderers.templating.sandbox import ChatEnvironment
from renderers.templating.syntax import parse_template

MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "content": "ab", "n": 3, "items": "I", "none": None, "list": ["p", "q"]},
    {"role": "assistant", "content": "Ans"},
]
SOURCES = [
    "{{ m.content }}{{ m['content'] }}{{ m.get('content') }}{{ m.get('x', 'd') }}{{ m['items'] }}",
    "{{ m.x }}{{ m['x'] }}{{ m.x is defined }}{{ m.none is none }}{{ m[k] }}{{ m['con' ~ 'tent'] }}",
    "{{ 'a' + m.content + 'b' }}{{ 'a' ~ m.n ~ 'b' }}{{ m.content + m.role }}{{ m.n + 1 }}{{ 1 + m.n - 2 }}",
    "{{ m.n * 2 }}{{ m.n / 2 }}{{ m.n // 2 }}{{ m.n % 2 }}{{ m.n ** 2 }}{{ -m.n }}{{ +m.n }}",
    "{{ m.content == 'ab' }}{{ 'a' < m.content < 'c' }}{{ m.n in [1, 3] }}{{ 'z' not in m.content }}",
    "{{ m.x or m.content }}{{ m.content and m.role }}{{ not m.x }}{{ m.none or 'n' }}",
    "{{ 'yes' if m.n > 2 else 'no' }}{{ 'x' if m.x }}{{ (m.content if m.n else m.role) ~ '!' }}",
    "{{ m.content[0] }}{{ m.content[-1:] }}{{ m.content[::-1] }}{{ m.list[1] }}{{ m.list[5] }}{{ m.list[:1] }}",
    "{{ [m.content, m.n] }}{{ (1, m.role) }}{{ {'k': m.content} }}{{ {'k': m.n}['k'] }}{{ [] }}",
    "{{ m.content is string }}{{ m.n is odd }}{{ m.x is not defined }}{{ m.n is divisibleby 3 }}",
    "{{ m.content | upper | replace('A', m.role) }}{{ m.list | join('-') }}{{ m | length }}",
    "{{ m.content.upper().lower().strip('a') }}{{ ','.join(m.list) }}{{ m.content.split('a') }}",
    "{{ '%s %d' % (m.content, m.n) }}{{ '{} {}'.format(m.role, m.n) }}{{ '{x}'.format(x=m.content) }}",
    "{{ range(m.n) | list }}{{ dict(a=m.n).a }}{{ namespace(a=m.content).a }}",
]


@pytest.mark.parametrize("expressions", SOURCES)
def test_the_text_is_that_of_jinja_for_messages_and_for_plain_variables(expressions: str) -> None:
    for source in (
        "{% for m in messages[:1] %}" + expressions + "{% endfor %}",
        "{% set m = messages[0] %}" + expressions,
        "{% macro f(m) %}" + expressions + "{% endmacro %}{{ f(messages[0]) }}",
    ):
        expected = ChatEnvironment().from_string(source).render(messages=MESSAGES, k="content")
        assert ChatTemplate(source).run(MESSAGES, k="content").text == expected


@pytest.mark.parametrize(
    ("expression", "owned"),
    [
        ("'<' + m.content + '>'", ["ab"]),
        ("'<' ~ m.content ~ m.role", ["ab", "user"]),
        ("m.content if m.n else m.role", ["ab"]),
        ("m.x or m.content", ["ab"]),
        ("m.content[1:]", ["b"]),
        ("[m.content][0]", ["ab"]),
        ("{'k': m.content}.k", ["ab"]),
        ("'%s!' % m.content", ["ab"]),
        ("'{}!'.format(m.content)", ["ab"]),
        ("m.n", ["3"]),
        ("'x' if m.content else 'y'", []),
    ],
)
def test_the_characters_of_a_field_are_its_own(expression: str, owned: list[str]) -> None:
    run = ChatTemplate("{% for m in messages[:1] %}{{ " + expression + " }}{% endfor %}").run(MESSAGES)
    assert [run.text[span.start : span.end] for span in run.spans if span.path] == owned


@pytest.mark.parametrize(
    ("source", "expected"), [("x.a", "a"), ("x['a']", "a"), ("x[a]", None), ("x[0]", None), ("x['a' ~ 'b']", None)]
)
def test_the_field_of_a_look_up(source: str, expected: str | None) -> None:
    output = parse_template("{{ " + source + " }}", LIMITS).body[0]
    assert isinstance(output, nodes.Output)
    (look_up,) = output.nodes
    assert isinstance(look_up, nodes.Getattr | nodes.Getitem)
    assert field_of(look_up) == expected
