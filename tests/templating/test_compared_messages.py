"""Comparisons of messages with each other are found in a template's source."""

from __future__ import annotations

import pytest

from renderers.templating.compared_messages import compares_messages


@pytest.mark.parametrize(
    "test",
    [
        "m == messages[0]",
        "messages[0] != m",
        "m in messages[:-1]",
        "loop.previtem == m",
        "m is eq messages[0]",
        "m is in messages[:-1]",
        "m.content == messages[0].content",
        "messages[0].content in m.content",
        "messages.index(m) < loop.index0",
        "messages.count(m) > 1",
        "loop.changed(m.content)",
        "messages | selectattr('content', 'equalto', m.content) | list",
        "messages | unique | list | length > 3",
        "m.content.startswith(messages[0].content)",
    ],
)
def test_a_comparison_of_messages_is_found(test: str) -> None:
    assert compares_messages("{% for m in messages %}{{ 1 if " + test + " }}{% endfor %}")


def test_a_comparison_through_a_variable_is_found() -> None:
    body = "{% set ns.seen = ns.seen + [m.content] %}{% if m.content in ns.seen %}x{% endif %}"
    assert compares_messages("{% set ns = namespace(seen=[]) %}{% for m in messages %}" + body + "{% endfor %}")


@pytest.mark.parametrize(
    "test",
    [
        "m.content == 'Hi'",
        "m.role == messages[0].role",
        "m.role in ['user', 'tool']",
        "'content' in m",
        "m.tool_call_id == messages[0].tool_calls[0].id",
        "loop.index0 == messages | length - 1",
        "m.get('content')",
        "m.content.replace('a', 'b')",
    ],
)
def test_tests_of_a_single_message_are_no_comparison(test: str) -> None:
    assert not compares_messages("{% for m in messages %}{{ 1 if " + test + " }}{% endfor %}")
