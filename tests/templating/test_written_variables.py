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
        "{% for m in messages %}{{ x }}{% endfor %}",
        "{% for m in messages %}{% if m %}{{ x }}{% endif %}{% endfor %}",
        "{% macro a() %}{{ x }}{% endmacro %}{% for m in messages %}{{ a() }}{% endfor %}",
        "{% macro a() %}{{ x }}{% endmacro %}{{ a() | length }}",
        "{% macro a() %}{{ x }}{% endmacro %}{% set b = a %}",
        "{% macro a(y=x) %}{{ y }}{% endmacro %}{{ a() }}",
        "{% call a() %}{{ x }}{% endcall %}",
        "{% set a, b = x %}",
        "{% set ns = namespace() %}{% set ns.a = x %}",
        "{% set y %}{{ x }}{% endset %}",
        "{% set y = x %}{{ y | length }}",
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
