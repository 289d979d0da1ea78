"""Messages are put into forms that a template takes, and forms that it takes are left alone."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from renderers.adapt import adapt_messages, adapt_tools
from renderers.errors import MessageError, TemplateLimitError
from renderers.trace import ChatTemplate, Limits
from tests.conversations import CONVERSATIONS, TOOLS

STRINGS = "{% for m in messages %}{{ m.role + ': ' + m.content + '\\n' }}{% endfor %}"
REPR = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
PARTS = (
    "{% for m in messages %}{{ m.role }}: {% for p in m.content %}"
    "{% if p.type == 'text' %}{{ p.text }}{% endif %}{% endfor %}\n{% endfor %}"
)
BOTH = (
    "{% for m in messages %}{{ m.role }}: {% if m.content is string %}{{ m.content }}{% else %}"
    "{% for p in m.content %}{{ p.text or p.thinking }}{% endfor %}{% endif %}\n{% endfor %}"
)
CALLS = "{% for m in messages %}{{ m.content or '' }}{% for c in m.tool_calls or [] %}CALL{% endfor %}{% endfor %}"
FUNCTION = CALLS.replace("CALL", "{% set f = c.function %}{{ f.name }}ARGUMENTS")
DICT = FUNCTION.replace("ARGUMENTS", "{% for k, v in f.arguments.items() %}{{ k }}={{ v }}{% endfor %}")
JSON = FUNCTION.replace("ARGUMENTS", "{{ f.arguments | tojson }}")
TEXT = FUNCTION.replace("ARGUMENTS", "{{ '(' + f.arguments + ')' }}")
EITHER = FUNCTION.replace("ARGUMENTS", "{{ f.arguments if f.arguments is string else f.arguments | tojson }}")
BARE = CALLS.replace("CALL", "{% set f = c.function or c %}{{ f.name }}{{ f.arguments | tojson }}")
TWO_PARTS = [{"type": "text", "text": "Hi "}, {"type": "text", "text": "there"}]


def adapted(source: str, *messages: dict[str, Any]) -> list[dict[str, Any]]:
    return adapt_messages(ChatTemplate(source), list(messages), tokens=())


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


@pytest.mark.parametrize("source", [STRINGS, REPR])
def test_parts_become_a_string_for_a_template_that_fails_on_them_or_writes_them_as_data(source: str) -> None:
    assert adapted(source, user(TWO_PARTS)) == [user("Hi there")]


def test_a_string_becomes_a_part_for_a_template_that_takes_nothing_else() -> None:
    assert adapted(PARTS, user("Hi")) == [user([{"type": "text", "text": "Hi"}])]
    assert adapted(PARTS, user(TWO_PARTS)) == [user(TWO_PARTS)]


@pytest.mark.parametrize("content", ["Hi", TWO_PARTS])
def test_a_template_that_takes_both_gets_what_was_sent(content: Any) -> None:
    assert adapted(BOTH, user(content)) == [user(content)]


def test_an_image_for_a_template_that_takes_text_alone_is_refused_by_its_place() -> None:
    parts = [{"type": "text", "text": "See:"}, {"type": "image", "image": "<Image>"}]
    with pytest.raises(MessageError, match=r"^message 1: content\.1 is a image, and this chat template takes text"):
        adapted(STRINGS, user("Hi"), user(parts))


@pytest.mark.parametrize("source", [DICT, JSON])
def test_arguments_become_an_object_where_the_template_wants_one(source: str) -> None:
    (message,) = adapted(source, said('{"city": "Paris"}'))
    assert message["tool_calls"][0]["function"]["arguments"] == {"city": "Paris"}


def said(arguments: Any, **more: Any) -> dict[str, Any]:
    calls = [{"id": "1", "type": "function", "function": {"name": "f", "arguments": arguments}}]
    return {"role": "assistant", "content": "", "tool_calls": calls, **more}


@pytest.mark.parametrize("source", [TEXT, EITHER])
def test_arguments_stay_the_very_text_where_the_template_takes_it(source: str) -> None:
    raw = '{"city":  "Par\\u0069s", "city": 1}'
    (message,) = adapted(source, said(raw))
    assert message["tool_calls"][0]["function"]["arguments"] == raw


def test_arguments_become_text_where_the_template_wants_that() -> None:
    (message,) = adapted(TEXT, said({"city": "北京", "n": [1, None]}))
    assert message["tool_calls"][0]["function"]["arguments"] == '{"city": "北京", "n": [1, null]}'


@pytest.mark.parametrize("arguments", [{"a": 1}, {}, {"a": {"b": None}}])
def test_an_object_stays_one_where_the_template_takes_it(arguments: Any) -> None:
    for source in (DICT, JSON, EITHER):
        assert adapted(source, said(arguments)) == [said(arguments)]


@pytest.mark.parametrize("raw", ["{broken", "[1]", "", "null", "[" * 100_000])
def test_text_that_is_no_json_object_is_passed_on_as_it_is(raw: str) -> None:
    assert adapted(JSON, said(raw)) == [said(raw)]


def test_a_bare_call_is_wrapped_where_the_template_needs_that() -> None:
    bare = {"id": "1", "name": "f", "arguments": '{"a": 1}'}
    message = {"role": "assistant", "content": "", "tool_calls": [bare]}
    (wrapped,) = adapted(JSON, message)
    assert wrapped["tool_calls"] == [{"type": "function", "id": "1", "function": {"name": "f", "arguments": {"a": 1}}}]
    (taken,) = adapted(BARE, message)
    assert taken["tool_calls"] == [{"id": "1", "name": "f", "arguments": {"a": 1}}]


def test_thinking_parts_become_reasoning_where_the_template_does_not_know_them() -> None:
    parts = [{"type": "thinking", "thinking": "Hm. "}, {"type": "thinking", "thinking": "So."}, *TWO_PARTS]
    message = {"role": "assistant", "content": parts}
    (lifted,) = adapted(STRINGS, message)
    assert (lifted["content"], lifted["reasoning_content"], lifted["thinking"]) == ("Hi there", "Hm. So.", "Hm. So.")
    assert adapted(BOTH, message) == [message]


@pytest.mark.parametrize("message", [{"role": "user", "content": None}, {"role": "user"}])
def test_a_missing_content_is_empty_where_the_template_fails_without_one(message: dict[str, Any]) -> None:
    assert adapted(STRINGS, message) == [user("")]
    assert adapted(REPR, message) == [message]


def test_a_template_that_tells_none_from_empty_beside_calls_gets_none() -> None:
    source = (
        "{% for m in messages %}{% if m.content is none %}CALLS {{ m.tool_calls[0].function.name }}"
        "{% else %}{{ 'SAYS ' + m.content }}{% endif %}{% endfor %}"
    )
    message = said({}, content=None)
    assert adapted(source, message) == [message]


def test_a_developer_is_a_system_where_the_template_loses_or_refuses_him() -> None:
    developer = {"role": "developer", "content": "Be brief."}
    loses = "{% for m in messages %}{% if m.role in ['system', 'user'] %}{{ m.content }}{% endif %}{% endfor %}"
    refuses = (
        "{% for m in messages %}{% if m.role == 'developer' %}{{ raise_exception('no') }}{% endif %}"
        "{{ m.content }}{% endfor %}"
    )
    assert adapted(loses, developer, user("Hi"))[0]["role"] == "system"
    assert adapted(refuses, developer, user("Hi"))[0]["role"] == "system"
    assert adapted(REPR, developer, user("Hi"))[0]["role"] == "developer"
    assert adapted("{{ raise_exception('no') }}", developer)[0]["role"] == "developer"


def test_tools_are_wrapped_or_unwrapped_as_the_template_takes_them() -> None:
    spec = {"name": "f", "description": "d", "parameters": {}}
    wrapped = {"type": "function", "function": spec}
    needs_wrapped = "{{ messages[0].content }}{% for t in tools %}{{ t.function.name }}{% endfor %}"
    needs_bare = "{{ messages[0].content }}{% for t in tools %}{{ t.name }}{% endfor %}"
    takes_both = "{{ messages[0].content }}{{ tools | tojson }}"

    def tools(source: str, tool: dict[str, Any]) -> Any:
        return adapt_tools(ChatTemplate(source), [tool], tokens=())

    assert tools(needs_wrapped, spec) == tools(needs_wrapped, wrapped) == [wrapped]
    assert tools(needs_bare, spec) == tools(needs_bare, wrapped) == [spec]
    assert (tools(takes_both, spec), tools(takes_both, wrapped)) == ([spec], [wrapped])
    assert adapt_tools(ChatTemplate(needs_bare), None, tokens=()) is None


def test_nothing_that_is_passed_in_is_changed() -> None:
    messages = [message for conversation in CONVERSATIONS.values() for message in conversation]
    before = copy.deepcopy((messages, TOOLS))
    for source in (STRINGS, PARTS, BOTH, DICT, TEXT):
        for conversation in CONVERSATIONS.values():
            try:
                adapt_messages(ChatTemplate(source), conversation, tokens=())
            except MessageError:
                continue
        adapt_tools(ChatTemplate(source), TOOLS, tokens=())
    assert (messages, TOOLS) == before


def test_a_template_that_refuses_everything_gets_everything_as_it_is() -> None:
    for conversation in CONVERSATIONS.values():
        assert adapt_messages(ChatTemplate("{{ raise_exception('no') }}"), conversation, tokens=()) == conversation


def test_a_template_that_shows_calls_only_where_there_is_no_content_gets_none() -> None:
    call = "{% set f = m.tool_calls[0].function %}{{ f.name + f.arguments }}"
    text = "{{ m['content'] + '' }}"
    source = (
        "{% for m in messages %}{% if m['content'] is none %}" + call + "{% else %}" + text + "{% endif %}{% endfor %}"
    )
    message = said({"a": 1}, content=None)
    del message["content"]
    (taken,) = adapted(source, message)
    assert taken["content"] is None
    assert taken["tool_calls"][0]["function"]["arguments"] == '{"a": 1}'


def test_what_a_template_takes_only_in_the_last_turn_is_not_taken() -> None:
    source = (
        "{% for m in messages %}{% if loop.last %}{{ m.content or '' }}{% else %}{{ m.content.strip() }}{% endif %}"
        "{% for c in m.tool_calls or [] %}{{ c.function.name }}{% endfor %}{% endfor %}"
    )
    assert adapted(source, said({}, content=None), user("Q"))[0]["content"] == ""


def test_a_call_that_is_written_as_python_is_not_taken_for_data() -> None:
    source = FUNCTION.replace("ARGUMENTS", "({% for k, v in f.arguments.items() %}{{ k }}='{{ v }}'{% endfor %})")
    (message,) = adapted(source, said('{"city": "Paris"}'))
    assert message["tool_calls"][0]["function"]["arguments"] == {"city": "Paris"}


def test_a_template_that_uses_too_much_says_so_instead_of_being_tried_on() -> None:
    template = ChatTemplate("{% for i in range(9000) %}{% endfor %}", limits=Limits(steps=100))
    with pytest.raises(TemplateLimitError):
        adapt_messages(template, [user("x")], tokens=())
