"""The fields with texts that a template may change in part."""

from __future__ import annotations

import pytest

from renderers.templating.text_edits import text_edits

LOOP = "{% for message in messages %}[BODY]{% endfor %}"


@pytest.mark.parametrize(
    "body",
    [
        "{{ message.content }}",
        "{{ message.content | trim }}{{ message.content.strip() }}{{ message.content.rstrip('\n') }}",
        "{{ message.content.split('</think>')[-1].lstrip('\n') }}",
        "{% for later in messages[1:] %}{{ later.content }}{% endfor %}",
        "{% for call in message.tool_calls[:1] %}{{ call.name }}{% endfor %}",
        "{{ bos_token[1:] }}{{ 'abc' | replace('a', 'b') }}",
        "{{ message.content | upper }}{{ message.content | tojson }}",
    ],
)
def test_a_text_that_is_written_trimmed_or_visibly_changed_is_not_edited(body: str) -> None:
    assert text_edits(LOOP.replace("[BODY]", body)).fields == frozenset()


@pytest.mark.parametrize(
    "body",
    [
        "{{ message.content[:100] }}",
        "{{ message.content.replace('a', 'b') }}",
        "{{ message.content | replace('a', 'b') }}",
        "{{ message.content.strip('x') }}",
        "{{ message.content.lstrip(chars) }}",
        "{{ message.content | trim('x') }}",
        "{% set text = message['content'] %}{{ text.rstrip('.') }}",
        "{% macro show(text) %}{{ text[1:] }}{% endmacro %}{{ show(message.content) }}",
        "{% for part in message.content %}{{ part.text.replace('a', 'b') }}{% endfor %}",
    ],
)
def test_a_text_that_is_changed_in_part_is_edited(body: str) -> None:
    edited = text_edits(LOOP.replace("[BODY]", body)).fields
    assert edited is not None
    assert {"content", "text"} <= edited


@pytest.mark.parametrize(
    "body",
    [
        "{% filter trim('x') %}{{ message.content }}{% endfilter %}",
        "{% set text | trim('x') %}{{ message.content }}{% endset %}{{ text }}",
        "{% for key, value in message.items() %}{{ value[1:] }}{% endfor %}",
    ],
)
def test_all_fields_may_be_edited_if_the_field_is_not_known(body: str) -> None:
    assert text_edits(LOOP.replace("[BODY]", body)).fields is None


@pytest.mark.parametrize(
    ("body", "tests_space"),
    [
        ("{{ message.content | trim }}{{ message.content.strip('\n') }}{{ message.content.lstrip(' \t') }}", False),
        ("{% if message.content.startswith('<a>') or message.content.endswith(('b', 'c')) %}{% endif %}", False),
        ("{% if message.content == 'a b' %}{% endif %}", False),
        ("{% if message.content.startswith(' ') %}{% endif %}", True),
        ("{% if message.content.endswith('.\n') %}{% endif %}", True),
        ("{% if message.content.startswith(('a', '\n')) %}{% endif %}", True),
        ("{% if message.content.startswith(prefix) %}{% endif %}", True),
        ("{% if message.content[-1] == '\n' %}{% endif %}", True),
        ("{% if '\n' in message.content %}{% endif %}", True),
        ("{{ message.content.strip('\u00a0') }}", True),
        ("{{ message.content | trim(chars) }}", True),
    ],
)
def test_tests_of_whitespace_are_found(body: str, tests_space: bool) -> None:
    assert text_edits(LOOP.replace("[BODY]", body)).tests_space is tests_space
