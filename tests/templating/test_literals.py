"""The literals that a template compares with are found in its syntax tree."""

from __future__ import annotations

import pytest

from renderers.core.literals import TemplateLiterals
from renderers.templating.literals import template_literals


@pytest.mark.parametrize(
    ("template", "literals"),
    [
        ("{{ '</think>' in content }}", {"</think>"}),
        ("{{ content == '[]' }}", {"[]"}),
        ("{{ content.startswith('<a>') and content.split('</a>')[-1] }}", {"<a>", "</a>"}),
        ("{{ content | replace('<b>', '') }}", {"<b>"}),
        ("{% if content is in ['<c>', '<d>'] %}x{% endif %}", {"<c>", "<d>"}),
        ("{% macro cut(x) %}{{ x.split('<e>') }}{% endmacro %}{{ cut(content) }}", {"<e>"}),
    ],
)
def test_literals_in_comparisons_and_arguments_are_found(template: str, literals: set[str]) -> None:
    assert template_literals(template).within == literals


@pytest.mark.parametrize("template", ["<|im_start|>{{ '<x>' ~ content }}", "{{ a.strip(' ') }}"])
def test_output_text_and_whitespace_are_not_found(template: str) -> None:
    assert template_literals(template) == (frozenset(), frozenset())


@pytest.mark.parametrize(
    ("template", "within", "equal"),
    [
        ("{{ message.role == 'user' }}", set(), {"user"}),
        ("{{ message.role in ['user', 'tool'] }}", set(), {"user", "tool"}),
        ("{{ 'SECRET' in message.content }}", {"SECRET"}, set()),
        ("{{ message.content.startswith('Final') }}", {"Final"}, set()),
        ("{{ 'tool_calls' in message and message.tool_calls }}", set(), {"tool_calls"}),
        ("{{ message.get('name') == 'wipe' }}", set(), {"name", "wipe"}),
        ("{{ message['name'] is eq('wipe') }}", set(), {"wipe"}),
    ],
)
def test_a_name_matches_a_whole_text_unless_it_is_searched_within_one(
    template: str, within: set[str], equal: set[str]
) -> None:
    assert template_literals(template) == TemplateLiterals(frozenset(within), frozenset(equal))
