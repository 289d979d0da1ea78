"""The texts that a template looks for are found in its syntax tree."""

from __future__ import annotations

import pytest

from renderers.searches import searched_texts


@pytest.mark.parametrize(
    ("template", "found"),
    [
        ("{{ '</think>' in content }}", {"</think>"}),
        ("{{ content == '[]' }}", {"[]"}),
        ("{{ content.startswith('<a>') and content.split('</a>')[-1] }}", {"<a>", "</a>"}),
        ("{{ content | replace('<b>', '') }}", {"<b>"}),
        ("{% if content is in ['<c>', '<d>'] %}x{% endif %}", {"<c>", "<d>"}),
        ("{% macro cut(x) %}{{ x.split('<e>') }}{% endmacro %}{{ cut(content) }}", {"<e>"}),
    ],
)
def test_what_is_compared_or_passed_on_is_looked_for(template: str, found: set[str]) -> None:
    assert searched_texts(template) == found


@pytest.mark.parametrize(
    "template", ["<|im_start|>{{ '<x>' ~ content }}", "{{ role == 'user' }}", "{{ a.strip(' ') }}"]
)
def test_what_is_written_and_names_and_spaces_are_not(template: str) -> None:
    assert searched_texts(template) == frozenset()
