"""The fields that a template can read are found in its syntax tree."""

from __future__ import annotations

import pytest

from renderers.templating.field_reads import readable_fields

LOOP = "{% for m in messages %}[BODY]{% endfor %}"


@pytest.mark.parametrize(
    "body",
    [
        "{{ m.urgent }}",
        "{{ m['urgent'] }}",
        "{{ m.get('urgent') }}",
        "{% if 'urgent' in m %}x{% endif %}",
        "{% set key = 'urgent' %}{{ m[key] }}",
        "{% for key in ['urgent', 'late'] %}{{ m[key] }}{% endfor %}",
        "{{ messages | selectattr('urgent') | list | length }}",
        "{{ messages | map(attribute='urgent.much') | join }}",
    ],
)
def test_a_field_that_is_named_is_read_and_another_is_not(body: str) -> None:
    fields = readable_fields(LOOP.replace("[BODY]", body))
    assert fields is not None
    assert "urgent" in fields
    assert "timestamp" not in fields


@pytest.mark.parametrize(
    "body",
    [
        "{{ m }}",
        "{{ m | tojson }}",
        "{{ m | length }}",
        "{{ m ~ '' }}",
        "{{ m.items() }}",
        "{{ dict(m) }}",
        "{{ m == messages[0] }}",
        "{{ m in messages }}",
        "{{ key in m }}",
        "{{ key == m }}",
        "{{ [m] | tojson }}",
        "{{ {'a': m} }}",
        "{{ messages }}",
        "{{ messages | tojson }}",
        "{{ messages | map('tojson') | join }}",
        "{{ messages | selectattr(key) | list }}",
        "{{ messages | join }}",
        "{{ messages[0] }}",
        "{{ messages[1:][0] | string }}",
        "{{ (messages | last) | tojson }}",
        "{{ m[key] }}",
        "{{ m['a' ~ 'b'] }}",
        "{{ m.get(key) }}",
        "{% set key = 'a' ~ 'b' %}{{ m[key] }}",
        "{% for key in m %}{{ m[key] }}{% endfor %}",
        "{% for key, value in m | dictsort %}{{ value }}{% endfor %}",
        "{% set x = m %}{{ x | tojson }}",
        "{% set ns = namespace(last=none) %}{% set ns.last = m %}{{ ns.last | tojson }}",
        "{% set ns = namespace(last=m) %}{{ ns.last | tojson }}",
        "{% macro show(x) %}{{ x | tojson }}{% endmacro %}{{ show(m) }}",
        "{% macro show(x) %}{{ x | tojson }}{% endmacro %}{{ show(x=m) }}",
        "{% macro show() %}{{ varargs }}{% endmacro %}{{ show(m) }}",
        "{{ (m if loop.first else messages[0]) | tojson }}",
        "{{ (messages + messages) | tojson }}",
        "{{ loop.previtem | tojson }}",
        "{{ loop.changed(m) }}",
        "{{ m is eq(messages[0]) }}",
        "{{ 'x' is in(m | string) }}",
        "{{ '%s' | format(m) }}",
        "{{ '%s' % m }}",
        "{% for x in [m] %}{{ x | tojson }}{% endfor %}",
        "{% filter upper %}{{ m }}{% endfilter %}",
        "{% set a, b = m, 1 %}{{ a | tojson }}",
        "{% set x %}{{ m }}{% endset %}",
        "{% macro show(x=m) %}{{ x | tojson }}{% endmacro %}{{ show() }}",
        "{% with x = m %}{{ x | tojson }}{% endwith %}",
        "{% call show(m) %}{% endcall %}",
    ],
)
def test_a_message_that_is_used_as_a_whole_may_be_read_in_any_field(body: str) -> None:
    assert readable_fields(LOOP.replace("[BODY]", body)) is None


@pytest.mark.parametrize(
    "body",
    [
        "{{ tools | tojson }}{{ m.role }}",
        "{% for call in m.tool_calls %}{{ call | tojson }}{% endfor %}",
        "{% for key, value in m.tool_calls[0].arguments.items() %}{{ value }}{% endfor %}",
        "{% if messages[loop.index0 - 1].role == m.role %}{{ m.content }}{% endif %}",
        "{% set last = messages[-1] %}{{ last.content }}",
        "{% set rest = messages[1:] if messages[0].role == 'system' else messages %}{{ rest[0].content }}",
        "{% macro show(x) %}{{ x.content }}{% endmacro %}{{ show(m) }}",
        "{% if m is mapping and m.content is defined %}{{ m.content }}{% endif %}",
        "{{ messages | length }}{{ (messages | first).content }}",
        "{% set ns = namespace(at=-1) %}{% set ns.at = loop.index0 %}{{ messages[ns.at].content }}",
    ],
)
def test_a_template_that_reads_fields_by_name_reads_no_others(body: str) -> None:
    fields = readable_fields(LOOP.replace("[BODY]", body))
    assert fields is not None
    assert "timestamp" not in fields
