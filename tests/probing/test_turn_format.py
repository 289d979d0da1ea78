"""Delimiters that are found by running a template."""

from __future__ import annotations

import gc
import weakref

import pytest

from renderers import create_renderer, load_tokenizer
from renderers.core.spans import Channel
from renderers.probing.turn_format import FieldDelimiters, TurnFormat
from tests.support.turn_formats import format_of

SOURCE = (
    "{% for m in messages %}<s>{{ m.role }}\n"
    "{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}"
    "{{ m.content }}{% for c in m.tool_calls %}<call>{{ c.function.name }}({{ c.function.arguments | tojson }})</call>"
    "{% endfor %}<end>\n{% endfor %}{% if add_generation_prompt %}<s>assistant\n{% endif %}"
)


def test_the_delimiters_of_each_field_are_learned() -> None:
    assert format_of(SOURCE).field_delimiters == {
        Channel.REASONING: FieldDelimiters("<s>assistant\n<think>", "</think>"),
        Channel.CONTENT: FieldDelimiters("</think>", "<call>"),
        Channel.TOOL_NAME: FieldDelimiters("<call>", "("),
        Channel.TOOL_ARGUMENTS: FieldDelimiters("(", ")</call><end>\n"),
    }


def test_a_field_that_is_not_written_has_no_delimiters() -> None:
    turns = format_of("{% for m in messages %}<{{ m.content }}>{% endfor %}")
    assert turns.field_delimiters == {Channel.CONTENT: FieldDelimiters("<", ">")}
    assert format_of("{{ raise_exception('no') }}").field_delimiters == {}


def test_headers_and_the_end_token_are_learned_for_the_previous_role() -> None:
    turns = format_of(SOURCE, special_tokens=frozenset({"<s>", "<end>"}))
    assert [header.text for header in turns.headers("user")] == ["<end>\n<s>assistant\n"]
    assert turns.end_token == "<end>"


def test_renderers_of_one_template_share_a_turn_format() -> None:
    assert format_of(SOURCE) is format_of(SOURCE)
    assert format_of(SOURCE) is not format_of(SOURCE, with_tools=True)


def test_arguments_that_are_equal_and_written_differently_have_formats_of_their_own() -> None:
    source = "{% for m in messages %}{{ m.content }}{% endfor %}{% if add_generation_prompt %}<{{ level }}>{% endif %}"
    levels = (1, True, 1.0)
    headers = [format_of(source, arguments={"level": level}).headers("user")[0].text for level in levels]
    assert headers == ["<1>", "<True>", "<1.0>"]


@pytest.mark.parametrize("word", ["Said", "Thought", "A", "R", "Q", "S"])
def test_an_ordinary_word_in_a_template_does_not_matter(word: str) -> None:
    changed = SOURCE.replace("m.content }}", f"m.content if m.content != '{word}' else '' }}}}")
    assert format_of(changed).field_delimiters == format_of(SOURCE).field_delimiters
    tokens = frozenset({"<s>", "<end>"})
    for role in ("user", "tool", "system"):
        headers = format_of(changed, special_tokens=tokens).headers(role)
        assert headers == format_of(SOURCE, special_tokens=tokens).headers(role)
    assert format_of(changed, special_tokens=tokens).end_token == "<end>"


def test_a_format_is_freed_with_its_last_user() -> None:
    turns = TurnFormat(format_of(SOURCE).key)
    assert turns.headers("user") is turns.headers("user")
    turns.placeholder("user", "image")
    freed = weakref.ref(turns)
    del turns
    gc.collect()
    assert freed() is None


REAL = {
    "Qwen/Qwen3-8B": ("<think>", "</think>"),
    "zai-org/GLM-4.5-Air": ("<think>", "</think>"),
    "mistralai/Ministral-3-14B-Reasoning-2512": ("[THINK]", "[/THINK]"),
}


@pytest.mark.parametrize("name", REAL)
def test_real_templates_write_markers_around_reasoning(name: str, hub: object) -> None:
    renderer = create_renderer(load_tokenizer(name))
    delimiters = renderer._pipeline.turn_format(with_tools=False).field_delimiters[Channel.REASONING]
    opening, closing = REAL[name]
    assert delimiters.before.rstrip().endswith(opening)
    assert delimiters.after.lstrip().startswith(closing)
