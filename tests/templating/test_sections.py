"""The output of a loop over tools is kept for later runs, if it depends on nothing but the tools."""

from __future__ import annotations

from typing import Any

import pytest

from renderers.core.tool_list import ToolList, share
from renderers.errors import TemplateRefusalError, TemplateRunError
from renderers.templating import ChatTemplate
from renderers.templating.compiler import _Compiler
from renderers.templating.limits import LIMITS
from renderers.templating.sections import _MOST_SECTIONS
from renderers.templating.syntax import parse_template
from renderers.templating.template import _wrapped_tools

TOOLS = ToolList([{"name": "f", "tags": ["a", "b"]}, {"name": "g", "tags": []}])
SYSTEM = {"role": "system", "content": "S"}
USER = {"role": "user", "content": "U"}
LOOP = "{% for t in tools %}<{{ t.name }}>{% endfor %}"
CALLS = "{% for t in tools %}{{ a(t) }}{% endfor %}"
ALL = "{% macro all(list) %}{% for t in list %}{{ t.name }},{% endfor %}{% endmacro %}"
KEPT = [
    LOOP,
    "{% if tools %}[" + LOOP + "]{% endif %}{{ messages[0].content }}",
    "{% for t in tools %}{{ loop.index }}{% for g in t.tags %}{{ g ~ '!' }}{% else %}-{% endfor %}{% endfor %}",
    "{% for t in tools %}{{ t | tojson }}{{ (t.name ~ 'x') | upper }}{% endfor %}",
    "{% macro m(t) %}({{ t.name }}){% endmacro %}{% for t in tools %}{{ m(t) | trim }}{{ m(t) }}{% endfor %}",
    "{% macro a(t) %}{{ b(t) }}{% endmacro %}{% macro b(t) %}({{ t.name }}){% endmacro %}" + CALLS,
    "{% if not tools is defined %}{% set tools = [] %}{% endif %}" + LOOP,
    ALL + "{{ all(tools) }}{% for m in messages %}{{ m.content }}{{ all(tools) }}{% endfor %}",
    "{% set text %}" + LOOP + "{% endset %}{% for m in messages %}{{ text }}{{ m.content }}{% endfor %}",
    "{% for t in tools %}{% set n = namespace(x='') %}{% set n.x = n.x ~ t.name ~ '.' %}{{ n.x }}{% endfor %}",
    "{% macro a(t) %}{% if t.tags %}{% set n = namespace(x=t.name) %}{{ n.x }}{% endif %}{% endmacro %}"
    "{% set n = namespace(x=messages | length) %}" + CALLS + "{{ n.x }}",
]
NOT_KEPT = [
    "{% set n = namespace(x='') %}{% for t in tools %}{{ t.name }}{% set n.x = n.x ~ t.name %}{% endfor %}{{ n.x }}",
    "{% for m in messages %}" + LOOP + "{% endfor %}",
    "{% set x = messages | length %}{% for t in tools %}{{ t.name }}{{ x }}{% endfor %}",
    "{% set x = messages | length %}{% macro a(t) %}{{ t.name }}{{ x }}{% endmacro %}" + CALLS,
    "{% for t in tools recursive %}{{ t.name }}{% endfor %}",
    "{% for m in messages %}{{ m.content }}{% endfor %}",
]


def code(source: str) -> str:
    return _Compiler(parse_template(source, LIMITS)).source()


def outcome(source: str, *messages: dict[str, Any], tools: Any = TOOLS, **arguments: Any) -> Any:
    run = ChatTemplate(source, verify=True).run(messages, tools=tools, **arguments)
    return run.text, run.spans


@pytest.fixture(autouse=True)
def new_tools() -> None:
    TOOLS._derived.clear()


@pytest.mark.parametrize("source", [*KEPT, *NOT_KEPT])
@pytest.mark.parametrize("messages", [(SYSTEM, USER), (USER,), (USER, SYSTEM, USER)])
def test_later_runs_have_the_same_text_and_owners(source: str, messages: tuple[dict[str, Any], ...]) -> None:
    expected = []
    for count in (1, 2, 3):
        TOOLS._derived.clear()
        expected.append(outcome(source, *messages * count))
    for _ in range(2):
        assert [outcome(source, *messages * count) for count in (1, 2, 3)] == expected


@pytest.mark.parametrize("source", KEPT)
def test_the_output_of_a_loop_over_tools_is_kept(source: str) -> None:
    assert "recall(" in code(source)
    outcome(source, USER)
    assert _wrapped_tools(TOOLS)._sections


@pytest.mark.parametrize("source", [*NOT_KEPT, "{% for t in tools %}{{ [t.name] | random }}{% endfor %}"])
def test_the_output_of_a_loop_that_depends_on_anything_else_is_not_kept(source: str) -> None:
    assert "recall(" not in code(source)


def test_an_argument_that_a_loop_reads_must_be_undefined() -> None:
    source = "{% for t in tools %}{{ t.name }}{{ x }}{% if t.tags %}{% set y = 1 %}{% endif %}{{ y }}{% endfor %}"
    texts = [outcome(source, USER, **more)[0] for more in ({"x": 1}, {}, {"x": 2}, {}, {"y": 3}, {"x": 4, "y": 5})]
    assert texts == ["f11g1", "f1g", "f21g2", "f1g", "f1g3", "f41g45"]


def test_only_the_output_for_tools_is_kept() -> None:
    for name in "ab":
        message = {"role": "user", "content": [{"type": "text", "name": name}]}
        assert outcome(ALL + "{{ all(messages[0].content) }}", message)[0] == f"{name},"


def test_tools_with_equal_values_of_other_types_are_other_tools() -> None:
    source = "{% for t in tools %}{{ t.x }}{% endfor %}"
    assert [outcome(source, USER, tools=share([{"x": x}]))[0] for x in (1, True, 1.0, "1", 1)] == [
        "1",
        "True",
        "1.0",
        "1",
        "1",
    ]


def test_templates_do_not_share_outputs_and_few_are_kept() -> None:
    sources = [LOOP + str(number) + LOOP.replace("<", f"<{number}") for number in range(_MOST_SECTIONS)]
    for _ in range(2):
        for number, source in enumerate(sources):
            assert outcome(source, USER)[0] == f"<f><g>{number}<{number}f><{number}g>"
    assert len(_wrapped_tools(TOOLS)._sections) == _MOST_SECTIONS


def test_errors_name_the_message_also_after_a_loop_over_tools() -> None:
    source = LOOP + "{% for m in messages %}{% if m.role == 'user' %}{{ raise_exception('no') }}{% endif %}{% endfor %}"
    for _ in range(2):
        with pytest.raises(TemplateRefusalError) as caught:
            outcome(source, SYSTEM, USER)
        assert caught.value.message == 1
    for _ in range(2):
        with pytest.raises(TemplateRunError):
            outcome("{% for t in tools %}{{ t.name }}{{ t.name + 1 }}{% endfor %}", USER)
