"""Templates that only write or trim whitespace at the ends of texts are told from those that test it."""

from __future__ import annotations

import pytest

from renderers.templating.text_uses import text_uses

LOOP = "{%% for m in messages %%}%s{%% endfor %%}"


@pytest.mark.parametrize(
    "body",
    [
        "{{ m.content }}{{ '<a>' ~ m.content + '\\n' }}{{ m.content | tojson }}",
        "{{ m.content | trim }}{{ m.content.strip() }}{{ m.content.rstrip('\\n') }}",
        "{{ m.content.startswith('<a>') or m.content == '' or '<a>' in m.content or m.content in ['a', none] }}",
        "{% set text = m.content or '' %}{{ text.split('</a>')[-1].lstrip('\\n') if text is string }}",
        "{% if m.content | trim | length > 0 %}{{ m.name | first }}{% endif %}",
        "{% for part in m.content %}{{ part.text | trim if 'text' in part }}{% endfor %}",
        "{% macro f(t) %}{{ t | trim }}{% endmacro %}{{ f(m.content) | trim }}",
    ],
)
def test_whitespace_is_only_trimmed(body: str) -> None:
    assert text_uses(LOOP % body).only_trims


@pytest.mark.parametrize(
    "body",
    [
        "{{ m.content.strip(' ') }}",
        "{{ m.content.lstrip('\\n ') }}",
        "{{ m.content | trim('\\t') }}",
        "{% set space = '\\n' %}{{ m.content.strip(space) }}",
        "{{ m.content.startswith('\\n') }}",
        "{% set end = '</a>' %}{{ m.content.endswith(end) }}",
        "{{ m.content.endswith(('</a>\\n', 'a')) }}",
        "{{ m.content.split('\\n') | length }}",
        "{{ m.content == ' ' }}{{ m.content in [' a'] }}",
        "{{ m.content | length > 4 }}",
        "{{ m.content | list | first }}{{ m.content[:1] }}",
        "{{ m.content | replace('\\n', 'x') }}",
        "{{ ({'x': m.content}).x }}",
        "{% set l = [] %}{% set _ = l.append(m.content[0]) %}{{ l[0] | trim }}",
        "{% set a, b = m.content %}{{ a | trim }}",
        "{% for c in m.content %}{{ 'x' if not loop.previtem | trim }}{% endfor %}",
        "{% for c in m.content %}{{ c }}{% endfor %}",
        "{{ x | default(default_value=m.content) | first }}",
        "{{ messages | selectattr('content', 'equalto', ' ') | list | length }}",
        "{% filter trim %}{{ m.content }}{% endfilter %}",
        "{{ '\\\\n' in (m.content ~ '') }}",
    ],
)
def test_other_whitespace_may_matter(body: str) -> None:
    assert not text_uses(LOOP % body).only_trims
