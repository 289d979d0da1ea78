"""Templates are probed for the formats that they accept, with the arguments that matter."""

from __future__ import annotations

from typing import Any

import pytest

from renderers import EMBEDDED, create_renderer, load_tokenizer
from renderers.programs.adapt import adapt_messages
from renderers.programs.input_formats import probe_arguments
from renderers.templating import ChatTemplate

STRINGS = "{% for m in messages %}{{ m.role + ': ' + m.content + '\\n' }}{% endfor %}"
PARTS = "{% for m in messages %}{% for p in m.content %}{{ p.text }}{% endfor %}{% endfor %}"
CALLS = "{% for m in messages %}{{ m.content or '' }}{% for c in m.tool_calls or [] %}CALL{% endfor %}{% endfor %}"
TWO_PARTS = [{"type": "text", "text": "Hi "}, {"type": "text", "text": "there"}]


def adapted(source: str, *messages: dict[str, Any]) -> list[dict[str, Any]]:
    return adapt_messages(ChatTemplate(source), list(messages), arguments=())


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def test_a_template_that_requires_a_system_message_is_probed_with_one() -> None:
    source = "{% if messages[0].role != 'system' %}{{ raise_exception('no') }}{% endif %}" + STRINGS
    system = {"role": "system", "content": "S"}
    assert adapted(source, system, user(TWO_PARTS)) == [system, user("Hi there")]


def test_a_template_that_requires_a_switch_is_probed_with_it() -> None:
    template = ChatTemplate("{% if not who %}{{ raise_exception('who?') }}{% endif %}" + STRINGS)
    probe = probe_arguments(template, (("eos_token", "</s>"),), {"who": "x", "documents": []})
    assert probe == (("eos_token", "</s>"), ("who", "x"))
    assert adapt_messages(template, [user(TWO_PARTS)], arguments=probe) == [user("Hi there")]
    assert probe_arguments(ChatTemplate(STRINGS), (("eos_token", "</s>"),), {"who": "x"}) == (("eos_token", "</s>"),)


def test_a_switch_that_changes_the_accepted_formats_is_probed() -> None:
    source = (
        "{% for m in messages %}{% if parts %}{% for p in m.content %}{{ p.text }}{% endfor %}"
        "{% else %}{{ m.content }}{% endif %}{% endfor %}"
    )
    template = ChatTemplate(source)
    for switch, content in ((True, [{"type": "text", "text": "Hi"}]), (False, "Hi")):
        probe = probe_arguments(template, (), {"parts": switch})
        assert adapt_messages(template, [user("Hi")], arguments=probe) == [user(content)]
    renderer = create_renderer(load_tokenizer(EMBEDDED), chat_template=source)
    assert renderer.trace([user("Hi")], parts=True).text == renderer.trace([user("Hi")], parts=False).text == "Hi"


def test_a_long_text_is_probed_only_if_the_template_needs_it() -> None:
    note = "A note of more than forty characters, which no template compares."
    needs = ChatTemplate("{{ raise_exception('note?') if not note }}" + STRINGS)
    assert probe_arguments(needs, (), {"note": note}) == (("note", note),)
    assert probe_arguments(ChatTemplate("{{ note }}" + STRINGS), (), {"note": note, "level": 1}) == ()


def test_a_template_that_writes_the_time_is_probed_at_a_fixed_time() -> None:
    source = "{{ strftime_now('%H:%M:%S.%f') }}" + CALLS
    message = {"role": "assistant", "content": "Hi", "tool_calls": []}
    assert adapted(source, message) == [message]


EQUAL_VALUES: list[tuple[Any, Any]] = [(1, True), (True, 1), (0, False), (1.0, 1), (1, 1.0)]


@pytest.mark.parametrize(("first", "second"), EQUAL_VALUES)
def test_formats_are_probed_for_each_type_of_an_argument(first: Any, second: Any) -> None:
    # The source is unique, so that no other test has probed it.
    source = f"{{# {first!r} {second!r} #}}{{% if x | string == '{first}' %}}{STRINGS}{{% else %}}{PARTS}{{% endif %}}"
    template = ChatTemplate(source)
    for value, content in ((first, "Hi"), (second, [{"type": "text", "text": "Hi"}])):
        assert adapt_messages(template, [user("Hi")], arguments=(("x", value),)) == [user(content)]


@pytest.mark.parametrize(("first", "second"), EQUAL_VALUES)
def test_needed_texts_are_found_for_each_type_of_an_argument(first: Any, second: Any) -> None:
    note = "A note of more than forty characters, which no template compares."
    needs = f"{{# {first!r} {second!r} #}}{{{{ raise_exception('note?') if x | string == '{second}' and not note }}}}"
    template = ChatTemplate(needs + STRINGS)
    assert probe_arguments(template, (), {"x": first, "note": note}) == (("x", first),)
    assert probe_arguments(template, (), {"x": second, "note": note}) == (("x", second), ("note", note))
