"""Templates are probed for the formats that they accept, with the arguments that matter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from renderers import EMBEDDED, create_renderer, load_tokenizer
from renderers.core.probe_words import PROBE_ARGUMENT
from renderers.probing.turn_format import ProbeKey, TurnFormat
from renderers.programs.adapt import InputAdapter
from renderers.programs.input_formats import AcceptedFormats, probe_arguments
from renderers.programs.template import TemplateProgram
from renderers.templating import ChatTemplate
from renderers.templating.written_variables import written_variables
from tests.support.parity import EACH_ONCE, NOW, TOKENS

STRINGS = "{% for m in messages %}{{ m.role + ': ' + m.content + '\\n' }}{% endfor %}"
PARTS = "{% for m in messages %}{% for p in m.content %}{{ p.text }}{% endfor %}{% endfor %}"
CALLS = "{% for m in messages %}{{ m.content or '' }}{% for c in m.tool_calls or [] %}CALL{% endfor %}{% endfor %}"
TWO_PARTS = [{"type": "text", "text": "Hi "}, {"type": "text", "text": "there"}]


def adapted(source: str, *messages: dict[str, Any]) -> list[dict[str, Any]]:
    return InputAdapter(ChatTemplate(source), ()).messages(list(messages))


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
    assert InputAdapter(template, probe).messages([user(TWO_PARTS)]) == [user("Hi there")]
    assert probe_arguments(ChatTemplate(STRINGS), (("eos_token", "</s>"),), {"who": "x"}) == (("eos_token", "</s>"),)


def test_a_switch_that_changes_the_accepted_formats_is_probed() -> None:
    source = (
        "{% for m in messages %}{% if parts %}{% for p in m.content %}{{ p.text }}{% endfor %}"
        "{% else %}{{ m.content }}{% endif %}{% endfor %}"
    )
    template = ChatTemplate(source)
    for switch, content in ((True, [{"type": "text", "text": "Hi"}]), (False, "Hi")):
        probe = probe_arguments(template, (), {"parts": switch})
        assert InputAdapter(template, probe).messages([user("Hi")]) == [user(content)]
    renderer = create_renderer(load_tokenizer(EMBEDDED), chat_template=source)
    assert renderer.trace([user("Hi")], parts=True).text == renderer.trace([user("Hi")], parts=False).text == "Hi"


def test_a_long_text_is_probed_only_if_the_template_needs_it() -> None:
    note = "A note of more than forty characters, which no template compares."
    needs = ChatTemplate("{{ raise_exception('note?') if (note ~ '') | length < 9 }}" + STRINGS)
    assert probe_arguments(needs, (), {"note": note}) == (("note", PROBE_ARGUMENT),)
    needs_it = ChatTemplate("{{ raise_exception('note?') if 'forty' not in note }}" + STRINGS)
    assert probe_arguments(needs_it, (), {"note": note}) == (("note", note),)
    assert probe_arguments(ChatTemplate("{{ note | length }}" + STRINGS), (), {"note": note, "level": 1}) == ()


def test_of_a_list_that_the_template_needs_only_the_shape_is_probed() -> None:
    template = ChatTemplate("{% for d in documents %}{{ d.title ~ d.text }}{% endfor %}" + STRINGS)
    lists = [[{"title": f"A{number}", "text": "B"}] * number for number in range(1, 4)]
    probed = [probe_arguments(template, (), {"documents": documents}) for documents in lists]
    assert probed == [(("documents", [{"title": PROBE_ARGUMENT, "text": PROBE_ARGUMENT}]),)] * 3


def test_a_large_argument_is_probed_if_the_template_reads_it_to_write_turns() -> None:
    note = "A note of more than forty characters, which no template compares."
    documents = [{"title": "A", "text": note}]
    before = ChatTemplate("{{ documents | tojson ~ note | length }}" + STRINGS)
    assert probe_arguments(before, (), {"note": note, "documents": documents}) == ()
    after = ChatTemplate(STRINGS + "{{ documents | length ~ note | upper }}")
    assert probe_arguments(after, (), {"note": note, "documents": documents}) == (
        ("documents", documents),
        ("note", note),
    )


HEADER = "{% for m in messages %}<|turn|>{{ m.role ~ HEADER }}\n{{ m.content }}<|end|>\n{% endfor %}"
PROMPT = "{% if add_generation_prompt %}<|turn|>assistant{{ HEADER }}\n{% endif %}"


@pytest.mark.parametrize(
    ("expression", "arguments"),
    [
        ("opts.style", {"opts": {"style": " bold"}}),
        ("opts[0]", {"opts": [" bold", "y"]}),
        ("persona", {"persona": " Captain Barnaby Butterworth the Third of Cornwall"}),
        ("persona", {"persona": " Bob"}),
    ],
)
def test_an_argument_in_the_header_of_a_turn_is_not_sampled(expression: str, arguments: dict[str, Any]) -> None:
    source = (HEADER + PROMPT).replace("HEADER", expression)
    renderer = create_renderer(EMBEDDED, chat_template=source, chat_template_kwargs=arguments)
    rendered = renderer.render([user("Hi"), {"role": "assistant", "content": "Yes"}])
    sampled = [token for token, flag in zip(rendered.token_ids, rendered.sampled_mask, strict=True) if flag]
    assert renderer.tokenizer.decode(sampled) == "Yes<|end|>"


def test_a_template_that_writes_the_time_is_probed_at_a_fixed_time() -> None:
    source = "{{ strftime_now('%H:%M:%S.%f') }}" + CALLS
    message = {"role": "assistant", "content": "Hi", "tool_calls": []}
    assert adapted(source, message) == [message]


EQUAL_VALUES: list[tuple[Any, Any]] = [(1, True), (True, 1), (0, False), (1.0, 1), (1, 1.0), (-0.0, 0.0), (0.0, -0.0)]


@pytest.mark.parametrize(("first", "second"), EQUAL_VALUES)
def test_formats_are_probed_for_each_type_of_an_argument(first: Any, second: Any) -> None:
    # The source is unique, so that no other test has probed it.
    source = f"{{# {first!r} {second!r} #}}{{% if x | string == '{first}' %}}{STRINGS}{{% else %}}{PARTS}{{% endif %}}"
    template = ChatTemplate(source)
    for value, content in ((first, "Hi"), (second, [{"type": "text", "text": "Hi"}])):
        assert InputAdapter(template, (("x", value),)).messages([user("Hi")]) == [user(content)]


@pytest.mark.parametrize(("first", "second"), EQUAL_VALUES)
def test_needed_texts_are_found_for_each_type_of_an_argument(first: Any, second: Any) -> None:
    note = "A note of more than forty characters, which no template compares."
    needs = f"raise_exception('note?') if x | string == '{second}' and 'forty' not in note"
    template = ChatTemplate(f"{{# {first!r} {second!r} #}}{{{{ {needs} }}}}{STRINGS}")
    assert probe_arguments(template, (), {"x": first, "note": note}) == (("x", first),)
    assert probe_arguments(template, (), {"x": second, "note": note}) == (("note", note), ("x", second))


ROLES = ("user", "assistant", "tool", "system")
LEADING = "{% if date %}{{ 'Date: ' + date }}{% endif %}"
FREE = [
    LEADING,
    "{% set day = date or 'today' %}{{ day ~ '.' }}",
    "{% macro lead() %}{{ date | default('today') }}{% endmacro %}{{ lead() }}",
    "{{ date if date is defined and date is not none else 'today' }}",
    "{{ date | trim | upper }}",
    "{% macro lead(x) %}{{ x }}{% endmacro %}{{ lead(date) if date | length > 0 }}",
]
NOT_FREE = [
    "{{ 'x' if date == '1 May' }}",
    "{{ 'x' if 'May' in date }}",
    "{{ date[0] }}",
    "{{ date.split(' ')[0] }}",
    "{{ date | length }}",
    "{% for c in date %}{{ c }}{% endfor %}",
    "{% set lead %}{{ date }}{% endset %}{{ lead | length }}",
    "{% macro lead(x) %}{{ x | length }}{% endmacro %}{{ lead(date) }}",
    "{% macro lead() %}{{ date }}{% endmacro %}{{ 'x' if lead() == '1 May' }}",
    "{% set day = date %}{{ 'x' if day == '1 May' }}",
    "{% set ns = namespace(day=date) %}{{ ns.day }}",
    "{{ ['x', date] | join }}",
    "{{ {'x': date}.x }}",
    "{% with day = date %}{{ day }}{% endwith %}",
    "{% filter upper %}{{ date }}{% endfilter %}",
]


@pytest.mark.parametrize("source", FREE)
def test_a_text_that_is_only_written_before_the_messages_is_not_probed(source: str) -> None:
    template = ChatTemplate(source + STRINGS)
    probed = {probe_arguments(template, (), {"date": date}) for date in ("1 May", "2 May", "A day in May. " * 9)}
    assert probed == {(("date", PROBE_ARGUMENT),)}
    # A template may trim a text, and test whether it is empty then.
    for empty in ("", "\u3000"):
        assert probe_arguments(template, (), {"date": empty}) == (("date", empty),)


@pytest.mark.parametrize("source", NOT_FREE)
def test_a_text_that_is_used_in_another_way_is_probed(source: str) -> None:
    assert "date" not in written_variables(source + STRINGS)
    assert probe_arguments(ChatTemplate(source + STRINGS), (), {"date": "3 May"}) == (("date", "3 May"),)


@pytest.mark.parametrize(
    "source",
    [
        STRINGS + "{{ date }}",
        STRINGS + "{% if add_generation_prompt %}{{ date }}{% endif %}",
        STRINGS + "{{ date | upper }}",
        STRINGS.replace("m.content", "date + m.content"),
        STRINGS.replace("{{ m.role", "{% if m.reasoning_content %}{{ date }}{% endif %}{{ m.role"),
        STRINGS + "{% if messages[-1].reasoning_content %}{{ date }}{% endif %}",
        STRINGS + "{% if messages[-1].tool_calls and messages[-1].thinking %}{{ date }}{% endif %}",
        STRINGS + "{% if messages | length > 99 %}{{ date }}{% endif %}",
        "{% if tools %}{{ messages[0].content + date }}{% else %}{{ date }}{% endif %}" + STRINGS,
        "{{ raise_exception('no') }}{{ date }}",
    ],
)
def test_a_text_that_is_written_among_the_messages_is_probed(source: str) -> None:
    template = ChatTemplate(source)
    assert probe_arguments(template, (), {"date": "3 May"}) == (("date", "3 May"),)


def test_a_text_of_the_source_and_a_special_token_are_probed() -> None:
    template = ChatTemplate("{{ date | default('today') + bos_token }}" + STRINGS)
    arguments = {"date": "today", "bos_token": "<s>"}
    assert probe_arguments(template, (), arguments) == (("bos_token", "<s>"), ("date", "today"))


def test_each_text_is_judged_on_its_own_and_the_order_of_arguments_does_not_matter() -> None:
    template = ChatTemplate("{{ date + name }}" + STRINGS + "{{ name }}")
    expected = (("date", PROBE_ARGUMENT), ("eos_token", "</s>"), ("name", "Bob"))
    for arguments in ({"date": "3 May", "name": "Bob"}, {"name": "Bob", "date": "4 May"}):
        assert probe_arguments(template, (("eos_token", "</s>"),), arguments) == expected


def formats_with(program: TemplateProgram, arguments: dict[str, Any]) -> Any:
    pairs = tuple(sorted(arguments.items()))
    turns = TurnFormat(ProbeKey(program, pairs, False, NOW, frozenset({"<|im_end|>", "<|eot_id|>"})))
    accepted = AcceptedFormats(program.template, tuple(sorted({**TOKENS, **arguments}.items())))
    names = ("text", "parts", "reasoning", "call", "arguments", "arguments as text", "none", "wrapped tool")
    return (
        [accepted[role, name] for role in ROLES for name in names],
        [turns.headers(role) for role in ROLES],
        turns.end_token,
        turns.field_delimiters,
    )


@pytest.mark.parametrize("path", EACH_ONCE, ids=lambda path: path.stem)
def test_formats_do_not_depend_on_free_text(path: Path) -> None:
    template = ChatTemplate(path.read_text(encoding="utf-8"), verify=False)
    program = TemplateProgram(template, tuple(TOKENS.items()))
    given = {"messages", "tools", "documents", "add_generation_prompt", "strftime_now", "raise_exception"}
    arguments = dict.fromkeys(written_variables(template.source) - given, "Some free text")
    probed = dict(program.probe_arguments(arguments))
    free = {name: text for name, text in arguments.items() if probed.get(name) == PROBE_ARGUMENT}
    assert formats_with(program, arguments) == formats_with(program, arguments | dict.fromkeys(free, PROBE_ARGUMENT))
    assert formats_with(program, arguments) == formats_with(program, arguments | dict.fromkeys(free, "<b>"))
