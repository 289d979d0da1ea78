"""Messages are adapted to the input format of a template, and unchanged if the template accepts them."""

from __future__ import annotations

import contextlib
import copy
import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest

from renderers.core.spans import Trace
from renderers.errors import BrokenArgumentsWarning, MessageError, TemplateError, TemplateLimitError
from renderers.programs import adapt
from renderers.programs.adapt import InputAdapter, _MessageAdapter
from renderers.templating import ChatTemplate, Limits
from tests.support.conversations import CONVERSATIONS, TOOLS
from tests.support.parity import EACH_ONCE, NOW, REQUIRED, TOKENS, run_traced

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
OTHERWISE = FUNCTION.replace(
    "ARGUMENTS",
    "{% if f.arguments is string %}[{{ f.arguments }}]{% else %}{{ f.arguments.values() | join }}{% endif %}",
)
BARE = CALLS.replace("CALL", "{% set f = c.function or c %}{{ f.name }}{{ f.arguments | tojson }}")
TWO_PARTS = [{"type": "text", "text": "Hi "}, {"type": "text", "text": "there"}]


def adapted(source: str, *messages: dict[str, Any]) -> list[dict[str, Any]]:
    return InputAdapter(ChatTemplate(source), ()).messages(list(messages))


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


@pytest.mark.parametrize("source", [STRINGS, REPR])
def test_parts_become_a_string_if_the_template_fails_on_them_or_prints_them_as_data(source: str) -> None:
    assert adapted(source, user(TWO_PARTS)) == [user("Hi there")]


def test_a_string_becomes_a_part_if_the_template_accepts_only_parts() -> None:
    assert adapted(PARTS, user("Hi")) == [user([{"type": "text", "text": "Hi"}])]
    assert adapted(PARTS, user(TWO_PARTS)) == [user(TWO_PARTS)]


@pytest.mark.parametrize("content", ["Hi", TWO_PARTS])
def test_content_is_unchanged_if_the_template_accepts_strings_and_parts(content: Any) -> None:
    assert adapted(BOTH, user(content)) == [user(content)]


@pytest.mark.parametrize(
    ("part", "is_what"),
    [
        ({"type": "image", "image": "<Image>"}, "is a part of type 'image'"),
        ({"type": "image", "image": "<Image>", "text": "a cat"}, "is a part of type 'image'"),
        ({"image_url": "http://"}, "is a part of type 'image_url'"),
        ({"type": "refusal", "refusal": "No."}, "is a part of type 'refusal'"),
        ({"type": "text", "text": None}, "is a part without a text"),
        ({"words": "Hi"}, "is a part without a text"),
        (3, "is of type int"),
        (None, "is of type NoneType"),
    ],
)
def test_a_part_that_is_not_text_is_rejected_with_its_path_if_the_template_accepts_only_text(
    part: Any, is_what: str
) -> None:
    with pytest.raises(MessageError) as caught:
        adapted(STRINGS, user("Hi"), user([*TWO_PARTS, part]))
    assert str(caught.value) == f"message 1: content.2 {is_what}, and this chat template accepts text parts only"
    assert (caught.value.message, caught.value.path) == (1, ("content", 2))


@pytest.mark.parametrize("source", [DICT, JSON])
def test_arguments_become_an_object_if_the_template_requires_one(source: str) -> None:
    (message,) = adapted(source, with_calls('{"city": "Paris"}'))
    assert message["tool_calls"][0]["function"]["arguments"] == {"city": "Paris"}


def with_calls(*arguments: Any, **more: Any) -> dict[str, Any]:
    calls = [{"id": "1", "type": "function", "function": {"name": "f", "arguments": value}} for value in arguments]
    return {"role": "assistant", "content": "", "tool_calls": calls, **more}


def test_the_arguments_of_a_growing_history_are_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [json.dumps({"unique": f"history {number}", "list": [number]}) for number in range(3)]
    parsed: list[str] = []
    parse = adapt._parse_object

    def counted(text: str) -> dict[str, Any] | None:
        parsed.append(text)
        return parse(text)

    monkeypatch.setattr(adapt, "_parse_object", counted)
    template = ChatTemplate(DICT)
    for size in (1, 2, 3, 3):
        messages = adapted(DICT, *map(with_calls, texts[:size]))
        arguments = [message["tool_calls"][0]["function"]["arguments"] for message in messages]
        assert arguments == list(map(json.loads, texts[:size]))
        template.run(messages)
        assert arguments == list(map(json.loads, texts[:size])), "a run does not change them"
    assert parsed == texts
    long = with_calls(json.dumps({"text": "x" * adapt._LONGEST_KEPT}))
    assert adapted(DICT, long) == adapted(DICT, long)
    assert len(parsed) == 5, "long arguments are not kept"


@pytest.mark.parametrize("source", [TEXT, EITHER])
def test_argument_text_is_unchanged_if_the_template_accepts_it(source: str) -> None:
    raw = '{"city":  "Par\\u0069s", "city": 1}'
    (message,) = adapted(source, with_calls(raw))
    assert message["tool_calls"][0]["function"]["arguments"] == raw


def test_arguments_become_text_if_the_template_requires_it() -> None:
    (message,) = adapted(TEXT, with_calls({"city": "北京", "n": [1, None]}))
    assert message["tool_calls"][0]["function"]["arguments"] == '{"city": "北京", "n": [1, null]}'


@pytest.mark.parametrize("arguments", [{"a": 1}, {}, {"a": {"b": None}}])
def test_an_object_is_unchanged_if_the_template_accepts_it(arguments: Any) -> None:
    for source in (DICT, JSON, EITHER):
        assert adapted(source, with_calls(arguments)) == [with_calls(arguments)]


@pytest.mark.parametrize("source", [DICT, JSON, OTHERWISE])
def test_arguments_become_an_object_if_the_template_writes_text_differently(source: str) -> None:
    assert adapted(source, with_calls('{"city": "Paris"}')) == [with_calls({"city": "Paris"})]


@pytest.mark.parametrize(
    ("raw", "used"),
    [
        *((raw, {}) for raw in ("{broken", "[1]", '"x"', "3", "[" * 100_000, '{"a": 1e400}')),
        ('{"a": 1, "a": 2}', {"a": 2}),
    ],
)
def test_broken_arguments_are_replaced_and_reported_if_the_template_fails_on_text(raw: str, used: Any) -> None:
    with pytest.warns(BrokenArgumentsWarning, match=r"^message 1: tool_calls\.1\.function\.arguments is not the JSON"):
        assert adapted(DICT, user("Q"), with_calls({}, raw)) == [user("Q"), with_calls({}, used)]


@pytest.mark.parametrize("raw", ["{broken", "[1]", "[" * 100_000, '{"a": 1, "a": 2}'])
def test_broken_arguments_are_unchanged_and_reported_if_the_template_writes_text(raw: str) -> None:
    with pytest.warns(BrokenArgumentsWarning, match="so the template writes the text in its own way"):
        assert adapted(JSON, with_calls(raw)) == [with_calls(raw)]


def test_broken_arguments_are_reported_once_at_the_callers_line() -> None:
    adapter = InputAdapter(ChatTemplate(DICT), ())
    with pytest.warns(BrokenArgumentsWarning) as caught:
        adapter.messages([with_calls("{broken"), with_calls("{broken")])
    assert [Path(warning.filename) for warning in caught] == [Path(__file__)]
    adapter.messages([with_calls("{broken")])


@pytest.mark.parametrize("raw", [[1], 3, False])
def test_arguments_that_are_neither_text_nor_an_object_are_passed_unchanged(raw: Any) -> None:
    assert adapted(JSON, with_calls(raw)) == [with_calls(raw)]


@pytest.mark.parametrize("raw", [[1], 3, False])
@pytest.mark.parametrize("source", [DICT, TEXT])
def test_arguments_of_another_type_are_rejected_if_the_template_writes_no_json(source: str, raw: Any) -> None:
    with pytest.raises(MessageError, match=r"arguments must be a dict or a JSON object string, not an? ") as caught:
        adapted(source, user("Q"), with_calls({}, raw))
    assert (caught.value.message, caught.value.path) == (1, ("tool_calls", 1, "function", "arguments"))


def test_argument_text_that_is_nested_too_deeply_is_rejected_like_an_object() -> None:
    raw = '{"a": ' + "[" * 500 + "]" * 500 + "}"
    assert adapted(EITHER, with_calls(raw)) == [with_calls(raw)]
    with pytest.raises(MessageError, match="is nested more than 100 levels deep"):
        adapted(DICT, with_calls(raw))


@pytest.mark.parametrize("raw", ["{broken", "[1]", "[" * 100_000])
def test_text_that_is_not_a_json_object_is_unchanged_if_the_template_accepts_text(raw: str) -> None:
    for source in (TEXT, EITHER, OTHERWISE):
        assert adapted(source, with_calls(raw)) == [with_calls(raw)]


@pytest.mark.parametrize("nothing", ["", " \n", "null", None])
def test_missing_arguments_become_an_empty_object_if_the_template_requires_one(nothing: Any) -> None:
    for source in (DICT, JSON, OTHERWISE):
        assert adapted(source, with_calls(nothing)) == [with_calls({})]


def test_arguments_that_are_none_or_missing_become_empty_in_the_input_format_of_the_template() -> None:
    missing = with_calls(None)
    del missing["tool_calls"][0]["function"]["arguments"]
    for message in (with_calls(None), missing):
        assert adapted(EITHER, message) == adapted(DICT, message) == [with_calls({})]
        assert adapted(TEXT, message) == [with_calls("{}")]
        assert adapted(STRINGS, message) == [message]


def test_empty_text_becomes_an_empty_object_inside_json_and_is_otherwise_unchanged() -> None:
    within = EITHER.replace("{{ f.arguments", '{"arguments": {{ f.arguments').replace("tojson }}", "tojson }} }")
    assert adapted(within, with_calls("")) == [with_calls({})]
    assert adapted(within, with_calls('{"a":1}')) == [with_calls('{"a":1}')]
    for source in (TEXT, EITHER):
        assert adapted(source, with_calls("")) == [with_calls("")]


def test_a_bare_call_is_wrapped_if_the_template_requires_it() -> None:
    bare = {"id": "1", "name": "f", "arguments": '{"a": 1}'}
    message = {"role": "assistant", "content": "", "tool_calls": [bare]}
    (wrapped,) = adapted(JSON, message)
    assert wrapped["tool_calls"] == [{"type": "function", "id": "1", "function": {"name": "f", "arguments": {"a": 1}}}]
    (taken,) = adapted(BARE, message)
    assert taken["tool_calls"] == [{"id": "1", "name": "f", "arguments": {"a": 1}}]


def test_a_call_with_a_function_of_none_is_a_bare_call() -> None:
    bare = {"name": "f", "arguments": {"a": 1}, "function": None}
    (message,) = adapted(DICT, {"role": "assistant", "content": "", "tool_calls": [bare]})
    assert message["tool_calls"] == [{"type": "function", "function": {"name": "f", "arguments": {"a": 1}}}]


def test_thinking_parts_become_reasoning_if_the_template_does_not_read_them() -> None:
    parts = [{"type": "thinking", "thinking": "Hm. "}, {"type": "thinking", "thinking": "So."}, *TWO_PARTS]
    message = {"role": "assistant", "content": parts}
    (lifted,) = adapted(STRINGS, message)
    assert (lifted["content"], lifted["reasoning_content"], lifted["thinking"]) == ("Hi there", "Hm. So.", "Hm. So.")
    assert adapted(BOTH, message) == [message]


def test_a_thinking_part_with_parts_becomes_text() -> None:
    thought = {"type": "thinking", "thinking": TWO_PARTS}
    (lifted,) = adapted(STRINGS, {"role": "assistant", "content": [thought, {"type": "thinking"}, "Yes."]})
    assert (lifted["content"], lifted["reasoning_content"]) == ("Yes.", "Hi there")
    (message,) = adapted(BOTH, {"role": "assistant", "content": [thought]})
    assert message["content"] == [{"type": "thinking", "thinking": "Hi there"}]
    for wrong, where in ((3, "content.0.thinking is of type int"), ([3], "content.0.thinking.0 is of type int")):
        with pytest.raises(MessageError, match=f"^message 0: {where}"):
            adapted(STRINGS, {"role": "assistant", "content": [{"type": "thinking", "thinking": wrong}]})


def test_thinking_parts_that_repeat_the_reasoning_are_removed_and_others_are_rejected() -> None:
    message = {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm."}, *TWO_PARTS]}
    assert adapted(STRINGS, {**message, "reasoning_content": "Hm."})[0]["content"] == "Hi there"
    with pytest.raises(MessageError, match=r"content\.0 is a part of type 'thinking'"):
        adapted(STRINGS, {**message, "reasoning_content": "So."})


@pytest.mark.parametrize(
    ("content", "parts"), [("Hi", [{"type": "text", "text": "Hi"}]), (TWO_PARTS, TWO_PARTS), (None, [])]
)
def test_reasoning_becomes_a_thinking_part_if_the_template_reads_only_those(content: Any, parts: Any) -> None:
    message = {"role": "assistant", "content": content, "reasoning_content": "Hm.", "thinking": "Hm."}
    assert adapted(BOTH, message)[0]["content"] == [{"type": "thinking", "thinking": "Hm."}, *parts]
    both = BOTH.replace("{{ m.role }}", "{{ m.reasoning_content }}")
    assert adapted(both, message)[0]["content"] == (content or "")
    assert adapted(BOTH, {**message, "reasoning_content": ""})[0]["content"] == (content or "")


@pytest.mark.parametrize("message", [{"role": "user", "content": None}, {"role": "user"}])
def test_missing_content_becomes_empty_if_the_template_fails_without_it(message: dict[str, Any]) -> None:
    assert adapted(STRINGS, message) == [user("")]
    assert adapted(CALLS, message) == [message]


WITH_CALLS = REPR.replace("\n", "{% for c in m.tool_calls or [] %}{{ c.id }}{{ c.function.name }}{% endfor %}\n")


def test_content_of_none_is_unchanged_if_the_template_handles_none() -> None:
    silent = WITH_CALLS.replace("m.content", "m.content or ''")
    assert adapted(silent, user(None)) == [user(None)]
    assert adapted(silent, with_calls({}, content=None)) == [with_calls({}, content=None)]


@pytest.mark.parametrize("source", [WITH_CALLS, WITH_CALLS.replace("m.content", "m.content | tojson")])
def test_content_of_none_becomes_empty_if_the_template_writes_it_as_a_word(source: str) -> None:
    messages = [user(None), with_calls({}, content=None), {"role": "tool", "content": None}]
    assert adapted(source, *messages) == [{**message, "content": ""} for message in messages]
    kept = InputAdapter(ChatTemplate(source), (), none_content="as_template")
    assert kept.messages(list(messages)) == messages


def test_content_of_none_becomes_an_empty_part_if_the_template_accepts_only_parts() -> None:
    source = (
        "{% for m in messages %}{% if m.content is none %}{{ m.content }}{% endif %}"
        "{% for part in m.content or [] %}{{ part['text'] + '' }}{% endfor %}{% endfor %}"
    )
    assert adapted(source, user(None)) == [user([{"type": "text", "text": ""}])]


def test_content_of_none_is_omitted_if_only_some_contexts_write_it_as_a_word() -> None:
    source = REPR.replace("m.content", "m.content if m.reasoning_content else m.content or ''")
    message = {"role": "assistant", "content": None}
    assert adapted(source, message) == [{**message, "content": ""}]


def test_missing_content_beside_calls_does_not_become_a_word() -> None:
    message = {"role": "assistant", "tool_calls": with_calls({})["tool_calls"]}
    source = (
        "{% for m in messages %}{{ m['content'] ~ '' if 'content' in m else m.none.none }}"
        "{{ m.tool_calls[0].function.name if m.tool_calls }}{% endfor %}"
    )
    assert adapted(source, message) == [{**message, "content": ""}]


def test_other_keys_that_are_none_are_removed_if_the_template_writes_them_as_a_word() -> None:
    message = {"role": "user", "content": "Hi", "name": None, "weight": None}
    named = REPR.replace("m.content", "m.name ~ m.content")
    assert adapted(named, message) == [{"role": "user", "content": "Hi", "weight": None}]
    assert adapted(REPR, message) == [message]
    assert adapted(REPR.replace("m.content", "(m.name or '') ~ m.content"), message) == [message]
    assert InputAdapter(ChatTemplate(named), (), none_content="as_template").messages([message]) == [message]


def test_a_call_id_of_none_is_removed_if_the_template_writes_it_as_a_word() -> None:
    message = with_calls({})
    call = message["tool_calls"][0]
    unnamed = {**message, "tool_calls": [{**call, "id": None}]}
    (got,) = adapted(WITH_CALLS, unnamed)
    assert "id" not in got["tool_calls"][0]
    assert adapted(WITH_CALLS.replace("c.id", "c.id or ''"), unnamed) == [unnamed]
    assert InputAdapter(ChatTemplate(WITH_CALLS), (), none_content="as_template").messages([unnamed]) == [unnamed]


def test_the_adaptations_of_none_are_listed() -> None:
    adapter = InputAdapter(ChatTemplate(WITH_CALLS), ())
    assert [text.partition(" is omitted: ")[0] for text in adapter.adaptations()] == [
        "None as the content of a system message",
        "None as the content of a user message",
        "None as the content of a tool message",
        "None as the content of an assistant message",
        "None as the content of an assistant message with tool calls",
        "None as the id of a tool call",
    ]
    assert InputAdapter(ChatTemplate(WITH_CALLS), (), none_content="as_template").adaptations() == ()
    assert InputAdapter(ChatTemplate(REPR.replace("m.content", "m.content or ''")), ()).adaptations() == ()


@pytest.mark.parametrize("path", EACH_ONCE, ids=lambda path: path.stem)
def test_no_template_writes_a_word_for_none(path: Path) -> None:
    template, tokens = ChatTemplate(path.read_text(encoding="utf-8")), tuple((TOKENS | REQUIRED).items())
    adapter = InputAdapter(template, tokens)
    calls = with_calls({"city": "Rome"})["tool_calls"]
    for fields in (
        {"role": "system"},
        {"role": "user"},
        {"role": "assistant"},
        {"role": "assistant", "tool_calls": calls},
    ):
        texts = []
        for content in (None, ""):
            conversation = [{**fields, "content": content}]
            conversation = conversation if fields["role"] == "user" else [*conversation, user("Hi")]
            conversation = [user("Hi"), *conversation] if fields["role"] == "assistant" else conversation
            trace = run_traced(template, adapter.messages(conversation), **TOKENS, **REQUIRED)
            texts += [trace.text] if isinstance(trace, Trace) else []
        if len(texts) == 2:
            assert re.findall("None|null", texts[0]) == re.findall("None|null", texts[1]), fields


@pytest.mark.parametrize("content", [{"city": "北京"}, [{"a": 1}], [1, 2]])
def test_content_that_is_data_becomes_json_text_unless_the_template_writes_json(content: Any) -> None:
    message = {"role": "tool", "content": content}
    assert adapted(REPR, message)[0]["content"] == json.dumps(content, ensure_ascii=False)
    assert adapted(REPR.replace("m.content", "m.content | tojson"), message) == [message]


@pytest.mark.parametrize("content", [3, 1.5])
def test_a_number_becomes_text_if_the_template_drops_it(content: Any) -> None:
    message = {"role": "tool", "content": content}
    assert adapted(REPR, message) == [message]
    lost = REPR.replace("m.content", "m.content if m.content is string")
    assert adapted(lost, message)[0]["content"] == str(content)


def test_content_of_none_is_unchanged_if_the_template_distinguishes_none_from_empty() -> None:
    source = (
        "{% for m in messages %}{% if m.content is none %}CALLS {{ m.tool_calls[0].function.name }}"
        "{% else %}{{ 'SAYS ' + m.content }}{% endif %}{% endfor %}"
    )
    message = with_calls({}, content=None)
    assert adapted(source, message) == [message]


def test_a_developer_message_becomes_a_system_message_if_the_template_drops_or_rejects_it() -> None:
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
    only_parts = PARTS.replace("{{ m.role }}", "{% if m.role == 'developer' %}{{ raise_exception('no') }}{% endif %}")
    assert adapted(only_parts, developer, user("Hi"))[0] == {
        "role": "system",
        "content": [{"type": "text", "text": "Be brief."}],
    }


def test_tools_are_wrapped_or_unwrapped_for_the_template() -> None:
    spec = {"name": "f", "description": "d", "parameters": {}}
    wrapped = {"type": "function", "function": spec}
    needs_wrapped = "{{ messages[0].content }}{% for t in tools %}{{ t.function.name }}{% endfor %}"
    needs_bare = "{{ messages[0].content }}{% for t in tools %}{{ t.name }}{% endfor %}"
    takes_both = "{{ messages[0].content }}{{ tools | tojson }}"

    def tools(source: str, tool: dict[str, Any]) -> Any:
        return InputAdapter(ChatTemplate(source), ()).tools([tool])

    assert tools(needs_wrapped, spec) == tools(needs_wrapped, wrapped) == [wrapped]
    assert tools(needs_bare, spec) == tools(needs_bare, wrapped) == [spec]
    assert (tools(takes_both, spec), tools(takes_both, wrapped)) == ([spec], [wrapped])
    assert tools(needs_wrapped, {"type": "function", **spec}) == [wrapped]
    assert tools(needs_wrapped, {"type": "web_search"}) == [{"type": "web_search"}]
    assert InputAdapter(ChatTemplate(needs_bare), ()).tools(None) is None


def test_an_empty_list_of_tools_is_unchanged() -> None:
    assert InputAdapter(ChatTemplate("{% if tools is not none %}{{ tools | tojson }}{% endif %}"), ()).tools([]) == []


def test_the_callers_messages_are_not_changed() -> None:
    messages = [message for conversation in CONVERSATIONS.values() for message in conversation]
    before = copy.deepcopy((messages, TOOLS))
    for source in (STRINGS, PARTS, BOTH, DICT, TEXT):
        for conversation in CONVERSATIONS.values():
            try:
                InputAdapter(ChatTemplate(source), ()).messages(conversation)
            except MessageError:
                continue
        InputAdapter(ChatTemplate(source), ()).tools(TOOLS)
    assert (messages, TOOLS) == before


def test_messages_are_unchanged_if_the_template_rejects_everything() -> None:
    for conversation in CONVERSATIONS.values():
        assert InputAdapter(ChatTemplate("{{ raise_exception('no') }}"), ()).messages(conversation) == conversation


def test_missing_content_becomes_none_if_the_template_writes_calls_only_for_none() -> None:
    call = "{% set f = m.tool_calls[0].function %}{{ f.name + f.arguments }}"
    text = "{{ m['content'] + '' }}"
    source = (
        "{% for m in messages %}{% if m['content'] is none %}" + call + "{% else %}" + text + "{% endif %}{% endfor %}"
    )
    message = with_calls({"a": 1}, content=None)
    del message["content"]
    (taken,) = adapted(source, message)
    assert taken["content"] is None
    assert taken["tool_calls"][0]["function"]["arguments"] == '{"a": 1}'


def test_a_format_that_is_accepted_only_in_the_last_turn_is_not_used() -> None:
    source = (
        "{% for m in messages %}{% if loop.last %}{{ m.content or '' }}{% else %}{{ m.content.strip() }}{% endif %}"
        "{% for c in m.tool_calls or [] %}{{ c.function.name }}{% endfor %}{% endfor %}"
    )
    assert adapted(source, with_calls({}, content=None), user("Q"))[0]["content"] == ""


def test_a_call_in_python_syntax_gets_its_arguments_as_an_object() -> None:
    source = FUNCTION.replace("ARGUMENTS", "({% for k, v in f.arguments.items() %}{{ k }}='{{ v }}'{% endfor %})")
    (message,) = adapted(source, with_calls('{"city": "Paris"}'))
    assert message["tool_calls"][0]["function"]["arguments"] == {"city": "Paris"}


def test_a_template_that_exceeds_a_limit_raises_and_is_not_probed_further() -> None:
    template = ChatTemplate("{% for i in range(9000) %}{% endfor %}", limits=Limits(steps=100))
    with pytest.raises(TemplateLimitError):
        InputAdapter(template, ()).messages([user("x")])


# ==================
# Missing values
# ==================

IN = (
    "{% for m in messages %}{% if 'KEY' in m %}{% for c in m.KEY %}{{ c.function.name }}{% endfor %}!"
    "{% else %}{{ m.content or '' }}{% endif %}{% endfor %}"
)


@pytest.mark.parametrize("key", ["tool_calls", "reasoning_content", "thinking", "reasoning"])
@pytest.mark.parametrize("empty", [None, []])
@pytest.mark.parametrize("role", ["user", "assistant", "system", "tool", "critic"])
def test_a_key_with_none_is_dropped_if_it_changes_the_output(key: str, empty: Any, role: str) -> None:
    message = {"role": role, "content": "Hi"}
    assert adapted(IN.replace("KEY", key), {**message, key: empty}) == [message]
    assert adapted(CALLS, {**message, key: empty}) == [{**message, key: empty}]


def test_a_key_with_none_is_dropped_if_it_changes_the_output_without_content() -> None:
    source = (
        "{% for m in messages %}{% if m.content is none and 'tool_calls' in m %}{{ m.tool_calls[0].function.name }}"
        "{% else %}{{ m.content or '' }}{% endif %}{% endfor %}"
    )
    message = {"role": "assistant", "content": None}
    assert adapted(source, {**message, "tool_calls": None}) == [message]
    assert adapted(source, with_calls({}, content=None)) == [with_calls({}, content=None)]


def test_thinking_of_none_does_not_hide_the_reasoning() -> None:
    (message,) = adapted(REPR, {"role": "assistant", "content": "x", "reasoning_content": "Hm.", "thinking": None})
    assert message["thinking"] == "Hm."


@pytest.mark.parametrize("path", EACH_ONCE, ids=lambda path: path.stem)
def test_an_empty_list_of_calls_renders_like_a_missing_one(path: Path) -> None:
    template = ChatTemplate(path.read_text(encoding="utf-8"), verify=False)
    tokens: dict[str, Any] = dict(TOKENS)

    def text(*messages: dict[str, Any]) -> str | None:
        plain = InputAdapter(template, tuple(tokens.items())).messages(list(messages))
        try:
            return template.run(plain, now=NOW, **tokens).text
        except TemplateError:
            return None

    contents: list[Any] = ["Hi", "", None, TWO_PARTS]
    empties: list[Any] = [None, []]
    for content, calls in itertools.product(contents, empties):
        message = {"role": "assistant", "content": content}
        assert text(user("Q"), {**message, "tool_calls": calls}, user("Q")) == text(user("Q"), message, user("Q"))
        assert text({**user(content), "tool_calls": calls}) == text(user(content))


# ==================
# Parts
# ==================


@pytest.mark.parametrize(
    "part",
    ["Hi", {"text": "Hi"}, {"type": "input_text", "text": "Hi"}, {"type": "output_text", "text": "Hi"}],
)
def test_text_parts_of_other_types_become_text_if_the_template_would_drop_them(part: Any) -> None:
    assert adapted(PARTS, user([part, *TWO_PARTS])) == [user([{"type": "text", "text": "Hi"}, *TWO_PARTS])]
    takes_all = BOTH.replace("p.text or p.thinking", "p if p is string else p.text")
    assert adapted(takes_all, user([part])) == [user([part])]
    assert adapted(STRINGS, user([part])) == [user("Hi")]


def test_keys_with_none_in_a_part_are_dropped_if_they_change_the_output() -> None:
    part = {"type": "text", "text": "Hi", "image": None, "image_url": None}
    assert adapted(MEDIA, user([part])) == [user([{"type": "text", "text": "Hi"}])]
    assert adapted(BOTH, user([part])) == [user([part])]


MEDIA = PARTS.replace("{% if p.type == 'text' %}", "{% if p.type == 'image' or 'image' in p %}<image>{% else %}")
BY_TYPE = PARTS.replace("{% endif %}{% endfor %}", "{% elif p.type == 'image' %}<image>{% endif %}{% endfor %}")


@pytest.mark.parametrize(
    ("part", "typed"),
    [
        ({"type": "image", "image": "x"}, "image"),
        ({"type": "image"}, "image"),
        ({"type": "image_url", "image_url": {"url": "x"}}, "image"),
        ({"image": "x"}, "image"),
        ({"image_url": "x"}, "image"),
        ({"type": "input_image", "image_url": "x", "detail": "auto"}, "image"),
        ({"type": "input_image", "file_id": "x"}, "image"),
    ],
)
def test_an_image_part_gets_the_type_that_the_template_reads(part: dict[str, Any], typed: str) -> None:
    assert adapted(BY_TYPE, user([part])) == [user([{**part, "type": typed}])]
    assert adapted(MEDIA, user([{"image": "x"}])) == [user([{"image": "x"}])]


def test_an_image_part_of_the_responses_api_can_be_an_image_url() -> None:
    template = BY_TYPE.replace("'image'", "'image_url'")
    part = {"type": "input_image", "image_url": "x"}
    assert adapted(template, user([part])) == [user([{**part, "type": "image_url"}])]


def test_an_image_that_the_template_would_drop_is_rejected_with_its_path() -> None:
    for part in ({"type": "image_url", "image_url": "x"}, {"image_url": "x"}):
        with pytest.raises(MessageError) as caught:
            adapted(BOTH, user([*TWO_PARTS, part]))
        assert str(caught.value) == (
            "message 0: content.2 is a part of type 'image_url', "
            "which this chat template does not accept for the role 'user'"
        )


@pytest.mark.parametrize(
    "part", [{"type": "chart", "chart": "x"}, {"words": "Hi"}, 3, {"type": "text", "content": "Hi"}]
)
def test_a_part_that_the_template_would_drop_is_rejected_with_its_path(part: Any) -> None:
    with pytest.raises(MessageError, match=r"^message 0: content\.1 is .*, which this chat template does not accept"):
        adapted(PARTS, user([*TWO_PARTS[:1], part]))


def test_a_part_of_a_type_that_the_template_names_is_unchanged() -> None:
    parts = [{"type": "chart", "chart": "x"}]
    assert adapted(PARTS + "{# chart #}", user(parts)) == [user(parts)]


USUAL: list[dict[str, Any]] = [
    {"content": "T"},
    {"content": "T", "reasoning_content": "R", "thinking": "R"},
    {"content": "T", "reasoning_content": " ", "thinking": " "},
    {"content": "T", "reasoning_content": ["R"], "thinking": ["R"]},
    {"content": "", "tool_calls": [{"function": {"name": "f", "arguments": {"x": 1}}}]},
    {"content": "", "tool_calls": [{"function": {"name": "f", "arguments": '{"x": 1}'}}]},
    {"content": "", "tool_calls": [{"function": {"name": "f"}}, {"name": "f", "arguments": {}}]},
    {"content": "T", "reasoning_content": "R", "tool_calls": [{"function": {"name": "f", "arguments": {}}}]},
    {"content": "T", "reasoning_content": "", "tool_calls": []},
    {"content": "T", "thinking": None, "reasoning_content": "R"},
    {"content": None, "tool_calls": None},
]


@pytest.mark.parametrize("path", EACH_ONCE, ids=lambda path: path.stem)
def test_messages_of_usual_forms_are_converted_like_others(path: Path) -> None:
    template = ChatTemplate(path.read_text(encoding="utf-8"), verify=False)
    adapter = InputAdapter(template, tuple(TOKENS.items()))
    for role, fields in itertools.product(("user", "assistant", "tool", "system", "developer"), USUAL):
        message: dict[str, Any] = {"role": role, **fields}
        with contextlib.suppress(MessageError, TemplateError):
            expected = _MessageAdapter(adapter, 0, role).adapt(message)
            assert adapter.messages([message]) == [expected]
