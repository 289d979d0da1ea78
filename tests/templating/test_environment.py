"""The environment renders as transformers does, keeps owners through filters, and exposes nothing more to templates."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from transformers.utils.chat_template_utils import _compile_jinja_template

from renderers.core.spans import Trace
from renderers.errors import MessageError, TemplateError, TemplateRefusalError, TemplateRunError
from renderers.templating import ChatTemplate

MESSAGES: list[dict[str, Any]] = [
    {
        "role": "user",
        "content": "first line\n\n <b>third</b> & last",
        "n": 12,
        "x": 0.5,
        "list": ["p", "q"],
        "d": {"k": "v"},
    },
    {"role": "assistant", "content": "Answer", "none": None, "flag": True},
]
C = "messages[0].content"

SAME_TEXT = [
    f"{{{{ {C} }}}}",
    f"{{{{ {C} ~ '-' ~ messages[0].n ~ none ~ true }}}}",
    f"{{{{ 'a' + {C} + 'b' }}}}",
    f"{{{{ '%s|%s' % ({C}, messages[0].n) }}}}",
    "{{ '%d%%' % messages[0].n }}",
    f"{{{{ '{{}}-{{x:>9}}-{{0[0]}}'.format({C}, x=messages[1].content) }}}}",
    f"{{{{ '{{a}}'.format_map({{'a': {C}}}) }}}}",
    f"{{{{ ', '.join([{C}, messages[1].content]) }}}}",
    f"{{{{ [{C}, messages[1].content] | join('; ') }}}}",
    "{{ messages | join(', ', attribute='role') }}",
    "{{ messages | map(attribute='content') | list | join }}",
    f"{{{{ {C} | replace('line', messages[1].content) | replace('z', 'y', 1) }}}}",
    f"{{{{ 'x-x'.replace('-', {C}) }}}}",
    f"{{{{ {C} | indent }}}}/{{{{ {C} | indent(2, first=true, blank=true) }}}}/{{{{ {C} | indent('> ', true) }}}}",
    f"{{{{ {C} | safe }}}}{{{{ ({C} | safe) + '<' }}}}{{{{ '<' + ({C} | safe) }}}}{{{{ ({C}|safe) ~ '<' }}}}",
    f"{{{{ {C} | upper | lower | title | capitalize }}}}{{{{ {C} | trim | reverse }}}}",
    f"{{{{ {C} | e }}}}{{{{ {C} | striptags }}}}{{{{ {C} | wordwrap(5) }}}}{{{{ {C} | truncate(9) }}}}",
    f"{{{{ {C} | urlize }}}}{{{{ {C} | center(60) }}}}{{{{ {C} | wordcount }}}}{{{{ {C} | length }}}}",
    f"{{{{ {C} | first }}}}{{{{ {C} | last }}}}{{{{ {C} | list | length }}}}{{{{ '%s' | format({C}) }}}}",
    f"{{{{ {C}.split('\\n')[-1].strip().partition(' ')[0] }}}}{{{{ {C}[2:5] }}}}{{{{ {C}[-1] }}}}",
    f"{{{{ {C}.startswith('first') and 'line' in {C} and {C} is string }}}}",
    "{{ messages[0] | tojson }}{{ messages[0].d | tojson(indent=2) }}{{ 'ü<' | tojson(ensure_ascii=true) }}",
    "{{ {'a': messages[0].content, 'b': [messages[0].n]} | tojson(separators=(',', ':'), sort_keys=true) }}",
    "{{ messages[0].d }}{{ messages[0].list }}{{ messages[1].none }}{{ messages[1].flag }}{{ messages[0].x }}",
    "{{ messages[0].n + 1 }}{{ messages[0].n * 2 }}{{ messages[0].x ** 2 }}{{ messages[0].n is integer }}",
    "{% set x %}<{{ messages[1].content }}>{% endset %}{{ x }}{{ x | length }}",
    (
        "{% macro m(a) %}[{{ a }}{{ caller() if caller }}]{% endmacro %}"
        "{{ m(messages[1].content) }}{% call m(1) %}c{% endcall %}"
    ),
    "{% filter upper %}a{{ messages[1].content }}{% endfilter %}",
    "{% generation %}{% set y = 1 %}{{ messages[1].content }}{% endgeneration %}{{ y is defined }}",
    (
        "{% for m in messages %}{% if loop.first %}{% continue %}{% endif %}"
        "{{ loop.index }}{{ m.role }}{% break %}{% endfor %}"
    ),
    "{% set ns = namespace(a='') %}{% for m in messages %}{% set ns.a = ns.a + m.role %}{% endfor %}{{ ns.a }}",
    "{{ dict(a=1) }}{{ dict.fromkeys(['b'], 2) }}",
    "{{ 12 is sameas(messages[0].n) }}{{ messages[0].n is sameas(12) }}{{ messages[1].flag is sameas(true) }}",
    "{{ messages[1].none is sameas(none) }}{{ messages[0].n is sameas(13) }}{{ messages[0] is sameas(messages[0]) }}",
    "{{ [1, 2] | sum }}{{ ([0.1] * 10) | sum }}{{ [messages[0]] | sum('n', 3) }}{{ [[1], [2]] | sum(start=[]) }}",
    "{{ namespace(a=1) }}{% set n = namespace({'a': 1}, b=[2]) %}{{ n }}{{ n.b }}{{ n.c is defined }}",
    "{{ messages[0].x.fromhex('0x1p3') }}{{ messages[0].d.fromkeys('ab', 1) }}",
    "{{ (messages[0].content | safe) | sort }}{{ [messages[0].content | safe] }}",
    "{{ (messages[0].content | safe) | list }}{{ {'a': messages[0].content | safe} }}",
    "  {% if true %}\n  x\n  {% endif %}\n  y",
    "{{ messages | groupby('role') | list | length }}{{ messages | selectattr('role', 'eq', 'user') | list | length }}",
    "{{ messages[0]['content'] }}{{ messages[0].get('role') }}",
    "{% for k, v in messages[0].d.items() %}{{ k }}={{ v }}{% endfor %}",
]


@pytest.mark.parametrize("source", SAME_TEXT)
def test_the_text_equals_that_of_the_plain_environment(source: str) -> None:
    expected = _compile_jinja_template(source).render(messages=MESSAGES, tools=None, documents=None)
    assert ChatTemplate(source).run(MESSAGES).text == expected


def owned(trace: Trace, message: int, *path: str) -> str:
    return "".join(
        trace.text[span.start : span.end] for span in trace.spans if (span.message, span.path) == (message, path)
    )


@pytest.mark.parametrize(
    "source",
    [
        "{{ 'a' ~ messages[1].content }}",
        "{{ '%s!' % messages[1].content }}",
        "{{ '%s' % messages[1].content.split('-') | join }}",
        "{{ ['-', messages[1].content] | join('+') }}",
        "{{ 'x' | replace('x', messages[1].content) }}",
        "{{ ('\\n' + messages[1].content) | indent }}",
        "{{ messages[1].content | safe }}",
        "{{ messages[1].content | trim | string }}",
        "{% set x %}-{{ messages[1].content }}{% endset %}{{ x }}",
        "{% macro m(a) %}[{{ a }}]{% endmacro %}{{ m(messages[1].content) }}",
        "{% generation %}{{ messages[1].content }}{% endgeneration %}",
    ],
)
def test_a_field_keeps_its_owner(source: str) -> None:
    assert owned(ChatTemplate(source).run(MESSAGES), 1, "content") == "Answer"


@pytest.mark.parametrize(
    "source",
    [
        "<{{ '%s' % [messages[1].content] }}>",
        "<{{ '%s' | format([messages[1].content]) }}>",
        "<{{ '{}'.format([messages[1].content]) }}>",
        "<{{ '{a}'.format(a=[messages[1].content]) }}>",
        "<{{ [messages[1].content] }}>",
        "<{{ [messages[1].content] | string }}>",
        "<{{ '' ~ [messages[1].content] }}>",
    ],
)
def test_a_list_that_the_template_built_is_emitted_with_the_owner_of_its_items(source: str) -> None:
    assert owned(ChatTemplate(source).run(MESSAGES), 1, "content") == "['Answer']"


def test_json_of_a_container_belongs_to_the_container() -> None:
    trace = ChatTemplate("<{{ messages[0].d | tojson }}>").run(MESSAGES)
    assert owned(trace, 0, "d") == '{"k": "v"}'


ESCAPES = [
    "{{ messages[0].content.__class__ }}",
    "{{ messages[0].content._runs }}",
    "{{ messages[0]._owner }}",
    "{{ messages[0].content | attr('__class__') }}",
    "{{ messages[0].content | attr('_runs') }}",
    "{{ messages[0].content.strip.__func__ }}",
    "{{ messages[0].content.strip.__globals__ }}",
    "{{ messages | map(attribute='__class__') | list }}",
    "{{ '{0.__class__}'.format(messages[0].content) }}",
    "{{ ('{0._runs}' | attr('format'))(messages[0].content) }}",
    "{% set f = '{a.__class__}'.format_map %}{{ f({'a': messages[0].content}) }}",
    "{{ messages[0].update({'a': 1}) }}",
    "{{ messages.append(1) }}",
    "{{ messages[0].list.pop() }}",
    "{{ messages[0].clear() }}",
    "{% set ns = namespace() %}{% set ns._x = 1 %}",
    "{{ namespace(_x=1) }}",
    "{{ dict.__class__ }}",
    "{{ dict.mro() }}",
    "{{ range(10000000) }}",
]


@pytest.mark.parametrize("source", ESCAPES)
def test_a_template_can_access_no_more_than_with_plain_strings(source: str) -> None:
    try:
        expected: str | None = _compile_jinja_template(source).render(messages=MESSAGES)
    except Exception:
        expected = None
    try:
        got: str | None = ChatTemplate(source).run(MESSAGES).text
    except TemplateError:
        got = None
    assert got == expected
    assert got is None or not re.search("<class|Owner|Run", got)


def test_a_refusal_contains_the_message_of_raise_exception() -> None:
    with pytest.raises(TemplateRefusalError, match=r"^the chat template refuses these messages: no Answer$"):
        ChatTemplate("{{ raise_exception('no ' + messages[1].content) }}").run(MESSAGES)


@pytest.mark.parametrize(
    "source",
    [
        "{{ false | join(attribute='role') }}",
        "{{ false | sum(attribute='role') }}",
        "{% filter sort %}a{% endfilter %}",
        "{% macro m() %}{% filter list %}a{% endfilter %}{% endmacro %}{{ m() }}",
    ],
)
def test_a_template_that_fails_in_a_plain_run_fails(source: str) -> None:
    with pytest.raises(TemplateRunError, match="TypeError"):
        ChatTemplate(source).run(MESSAGES)


def test_an_error_names_the_plain_types() -> None:
    with pytest.raises(TemplateRunError, match="'str object' has no attribute 'items'"):
        ChatTemplate("{{ messages[0].content.items() }}").run(MESSAGES)


def test_data_that_is_not_json_is_refused_with_its_path() -> None:
    with pytest.raises(
        MessageError, match=r"^message 0: content\.0 is a object, but chat templates accept only JSON data$"
    ):
        ChatTemplate("").run([{"content": [object()]}])
    with pytest.raises(MessageError, match=r"^style is a set"):
        ChatTemplate("").run([], style={1})


class Rigged(str):
    """A string subclass with methods that a template must never call."""

    def strip(self, _: str | None = None, /) -> str:
        raise AssertionError

    def steal(self) -> str:
        raise AssertionError


class RiggedDict(dict[str, Any]):
    def items(self) -> Any:
        raise AssertionError

    def steal(self) -> str:
        raise AssertionError


def test_a_template_sees_subclasses_as_plain_types() -> None:
    message = RiggedDict(role=Rigged("user"), content=Rigged(" x "), n=np.float64(1.5), flag=True)
    source = "{% for m in messages %}{{ m.content.strip() }}{{ m.n }}{{ m.items() | list | length }}{{ m.role.steal }}"
    trace = ChatTemplate(source + "{{ m.steal }}{% endfor %}", verify=False).run([message])
    assert trace.text == "x1.54"


class RiggedInt(int):
    def steal(self) -> str:
        raise AssertionError


def test_no_argument_exposes_its_subclass() -> None:
    source = "{{ bos_token.steal }}{{ add_generation_prompt.steal }}{{ style.steal }}{{ tools[0].name.steal }}"
    trace = ChatTemplate(source, verify=False).run(
        MESSAGES,
        tools=[{"name": Rigged("f")}],
        add_generation_prompt=RiggedInt(1),  # type: ignore[arg-type]
        bos_token=Rigged("<s>"),
        style=RiggedInt(2),
    )
    assert trace.text == ""
    with pytest.raises(MessageError, match="x_token is a function, but chat templates accept only JSON data"):
        ChatTemplate("").run(MESSAGES, x_token=lambda: None)


def test_the_callers_messages_cannot_be_changed_by_a_template() -> None:
    messages = [{"role": "user", "content": "x", "list": ["a"]}]
    for source in (
        "{% set messages[0].role = 'system' %}",
        "{% set m = messages[0] %}{% set m.role = 'system' %}",
        "{{ messages[0].setdefault('x', 1) }}",
        "{{ messages[0].list.insert(0, 1) }}",
        "{{ messages[0].list.__setitem__(0, 1) }}",
        "{{ messages[0].update(role='system') }}",
        "{{ messages | map('attr', 'clear') | map('string') | list }}",
    ):
        try:
            ChatTemplate(source).run(messages)
        except TemplateError:
            continue
        finally:
            assert messages == [{"role": "user", "content": "x", "list": ["a"]}]


def test_threads_can_run_a_compiled_template_at_the_same_time() -> None:
    template = ChatTemplate("{% for m in messages %}<{{ m.content }}>{% endfor %}")

    def run(number: int) -> bool:
        messages = [{"role": "user", "content": f"{number}.{index}"} for index in range(50)]
        trace = template.run(messages)
        return all(trace.text[span.start : span.end] == f"{number}.{span.message}" for span in trace.spans if span.path)

    with ThreadPoolExecutor(16) as threads:
        assert all(threads.map(run, range(400)))
