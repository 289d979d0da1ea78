"""Variables that a template only writes are free text."""

from __future__ import annotations

import pytest

from renderers.templating.written_variables import written_variables


@pytest.mark.parametrize(
    "source",
    [
        "{{ x }}",
        "{{ 'a' + x ~ 'b' }}",
        "{{ x or y }}{{ x if x else '' }}",
        "{% if x is defined and not x is none %}{{ x }}{% elif not x %}-{% endif %}",
        "{% set x = x or 'a' %}{{ x }}",
        "{% set y = x %}{% set x = y %}{{ x + y }}",
        "{% macro a() %}{{ x }}{% endmacro %}{% macro b() %}{{ a() }}{% endmacro %}{{ b() }}",
        "{% macro never() %}{{ x }}{% endmacro %}",
        "{% for m in messages %}{% if x %}{{ m }}{% endif %}{% endfor %}",
        "{% for m in messages %}{% if loop.first %}{% if m %}{{ x }}{% endif %}{% endif %}{% endfor %}",
        "{% macro a() %}{{ x }}{% endmacro %}{% for m in n %}{% if m and loop.first %}{{ a() }}{% endif %}{% endfor %}",
        "{{ x | trim }}{{ x.strip() | upper }}{{ x | title }}",
        "{% if x | trim %}{{ x }}{% endif %}",
        "{% if x | length > 0 and x is string %}{{ x }}{% endif %}{{ 'a' if x | length }}{{ not x | count }}",
        "{% set y %}{{ x }}{% endset %}{{ y if y }}",
        "{% set ns = namespace() %}{% set ns.a = x %}{% set ns.b = ns.a %}{{ ns.b }}",
        "{% set ns = namespace() %}{% set ns.a %}{{ x }}{% endset %}{{ ns.a }}{{ ns.b == 'b' }}",
        "{% macro a(y, z) %}{{ z ~ y }}{% endmacro %}{{ a('b', x) }}{{ a(y=x, z=x) }}",
        "{% macro a(y) %}{% if y %}{{ '-' }}{% endif %}{% endmacro %}{{ a(x) | length }}",
    ],
)
def test_a_variable_that_is_only_written_is_free_text(source: str) -> None:
    assert "x" in written_variables(source)


@pytest.mark.parametrize(
    "source",
    [
        "{{ x == 'a' }}",
        "{{ x in ['a'] }}",
        "{{ x is in ['a'] }}",
        "{{ x is equalto 'a' }}",
        "{{ x * 2 }}",
        "{{ x % 2 }}",
        "{{ -x }}",
        "{{ x | length }}",
        "{{ 'a' | replace('a', x) }}",
        "{{ x[1:] }}{{ x }}",
        "{{ a[x] }}",
        "{{ x.a }}",
        "{{ x() }}",
        "{{ raise_exception(x) }}",
        "{{ [x] }}",
        "{{ {'a': x} }}",
        "{% for c in x %}{% endfor %}",
        "{% macro a() %}{{ x }}{% endmacro %}{{ a() | length }}",
        "{% macro a() %}{{ x }}{% endmacro %}{% set b = a %}",
        "{% macro a(y=x) %}{{ y }}{% endmacro %}{{ a() }}",
        "{% call a() %}{{ x }}{% endcall %}",
        "{% set a, b = x %}",
        "{% set y = x %}{{ y | length }}",
        "{% set y %}{{ x }}{% endset %}{{ y | length }}",
        "{% set y | upper %}{{ x }}{% endset %}",
        "{% filter upper %}{{ x }}{% endfilter %}",
        "{{ 'a'.strip(x) }}",
        "{{ x.strip('-') }}",
        "{{ x | trim('-') }}",
        "{{ x.replace('a', '') }}",
        "{{ x | replace('a', '') }}",
        "{% for m in messages %}{{ x }}{% endfor %}",
        "{% for m in messages %}{% if m %}{{ x }}{% endif %}{% endfor %}",
        "{% for m in messages %}{% if loop.first %}-{% else %}{{ x }}{% endif %}{% endfor %}",
        "{% for m in messages %}{% if loop.first %}-{% elif m %}{{ x }}{% endif %}{% endfor %}",
        "{% for m in messages %}{% if loop.first or m %}{{ x }}{% endif %}{% endfor %}",
        "{% for m in messages %}{% for n in m %}{% if loop.first %}{{ x }}{% endif %}{% endfor %}{% endfor %}",
        "{% for m in messages %}{% if m.first %}{{ x }}{% endif %}{% endfor %}",
        "{% macro a() %}{{ x }}{% endmacro %}{% for m in messages %}{{ a() }}{% endfor %}",
        "{% set ns = namespace() %}{% for m in messages %}{% set ns.a = x %}{% endfor %}{{ ns.a }}",
        "{% set ns = namespace() %}{% macro a() %}{% set ns.a = x %}{% endmacro %}{{ ns.a }}",
        "{{ x.startswith('a') }}",
        "{{ x.strip }}",
        "{% if x | length > 1 %}{{ x }}{% endif %}",
        "{% set n = x | length %}",
        "{{ x and x | length }}",
        "{% set ns = namespace() %}{% set ns.a = x %}{{ ns.a == 'b' }}",
        "{% set ns = namespace() %}{% set ns.a = x %}{% set other = ns %}{{ other.a == 'b' }}",
        "{% set ns = namespace(a=x) %}{{ ns.a }}",
        "{% macro a(y) %}{{ y == 'b' }}{% endmacro %}{{ a(x) }}",
        "{% macro a(y) %}{{ y == 'b' }}{% endmacro %}{{ a(y=x) }}",
        "{% macro a(y) %}{{ y }}{% endmacro %}{{ a(x) == 'b' }}",
        "{% macro a() %}{{ varargs[0] == 'b' }}{% endmacro %}{{ a(x) }}",
        "{% macro a(y) %}{{ y }}{% endmacro %}{% macro a(z) %}{{ z == 'b' }}{% endmacro %}{{ a(x) }}",
        "{% set y = 'a' + x %}{% set z = y %}{{ z == 'ab' }}",
    ],
)
def test_a_variable_with_another_use_is_not_free_text(source: str) -> None:
    assert "x" not in written_variables(source)


@pytest.mark.parametrize(
    "source",
    [
        "{% macro a(n) %}{{ p }}{% if n %}{{ a(n - 1) }}{% endif %}{% endmacro %}{{ a(1) }}",
        "{% macro a(n) %}{{ p }}{{ b() }}{% endmacro %}{% macro b() %}{{ a(0) }}{% endmacro %}{{ a(1) }}",
    ],
)
def test_a_variable_that_a_recursive_macro_writes_is_not_found(source: str) -> None:
    assert "p" not in written_variables(source)


@pytest.mark.parametrize(
    ("source", "is_written"),
    [
        ("{{ strftime_now('%d') }}", True),
        ("{% if strftime_now is defined %}{% set day = strftime_now('%d') %}{% endif %}{{ 'Day ' + day }}", True),
        ("{% if strftime_now('%d') == '01' %}x{% endif %}", False),
        ("{{ strftime_now('%d') | int }}", False),
        ("{{ strftime_now(format) }}", False),
        ("{% for m in messages %}{{ strftime_now('%d') }}{% endfor %}", False),
        ("{% set now = strftime_now %}{{ now('%d') }}", False),
    ],
)
def test_the_time_is_a_text_if_its_formats_are_constant(source: str, is_written: bool) -> None:
    assert ("strftime_now" in written_variables(source)) is is_written
