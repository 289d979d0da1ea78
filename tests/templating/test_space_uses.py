"""Templates that only write or trim whitespace at the ends of texts are told from those that test it."""

from __future__ import annotations

import pytest

from renderers.templating.text_uses import text_uses

LOOP = "{%% for m in messages %%}%s{%% endfor %%}"


@pytest.mark.parametrize(
    "body",
    [
        "{{ m.content }}",
        "{{ m.content | trim }}{{ m.content.strip() }}{{ m.content.rstrip('\\n') }}",
        "{% filter trim %}{{ m.content }}{% endfilter %}{{ m.content.startswith('<a>') }}",
        "{% set end = '</a>' %}{{ m.content.endswith(end) }}",
        "{{ m.content.split('\\n') }}",
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
        "{% set ends = ['</a>', ' '] %}{{ m.content.endswith(ends) }}",
        "{{ m.content.endswith(('</a>\\n', 'a')) }}",
    ],
)
def test_other_whitespace_matters(body: str) -> None:
    assert not text_uses(LOOP % body).only_trims
