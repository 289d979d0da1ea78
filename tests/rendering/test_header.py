"""The header of a turn is the text that the generation prompt contains, even if the history writes it differently."""

from __future__ import annotations

from typing import Any

import pytest

from renderers.probing.turn_format import TurnHeader
from renderers.rendering.header import TurnPlace, header_end
from tests.rendering.test_label import assistant, sampled, user

LINE_BREAK_IN_PROMPT = (
    "{% for m in messages %}<s>{{ m.role }}\n{{ m.content }}\n<end>{% endfor %}"
    "{% if add_generation_prompt %}{{ '\n<s>assistant\n' }}{% endif %}"
)
LINE_BREAK_IN_HISTORY = (
    "{% for m in messages %}{{ '\n' }}<s>{{ m.role }}\n{{ m.content }}<end>{% endfor %}"
    "{% if add_generation_prompt %}<s>assistant\n{% endif %}"
)
INDENTED = (
    "{% for m in messages %}"
    "{% if m.role == 'user' %}{{ '<user>' + m.content + '<model>' }}"
    "{% else %}{{ '        ' + m.content + '<end>' }}{% endif %}{% endfor %}{{ '\n' if add_generation_prompt }}"
)
CLOSED_THINK = (
    "{% for m in messages %}<s>{{ m.role }}\n{{ '</think>' if m.role == 'assistant' }}{{ m.content }}<end>{% endfor %}"
    "{% if add_generation_prompt %}<s>assistant\n<think></think>{% endif %}"
)
OTHER_HEADER = (
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}{{ '<s>' if add_generation_prompt }}"
)
AFTER_RESULTS = (
    "{% for m in messages %}"
    "{% if m.role == 'tool' %}<tool>{{ m.content }}</tool>"
    "{% else %}{% if m.role == 'user' or messages[loop.index0 - 1].role != 'tool' %}<s>{{ m.role }}\n{% endif %}"
    "{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}"
    "{{ m.content }}{% for c in m.tool_calls or [] %}<call>{{ c.function.name }}</call>{% endfor %}"
    "{% if not m.tool_calls %}<end>{% endif %}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{% if messages[-1].role != 'tool' %}<s>assistant\n{% endif %}"
    "{% if enable_thinking %}<think>{% endif %}{% endif %}"
)
CALL: dict[str, Any] = {"id": "call00000", "type": "function", "function": {"name": "f", "arguments": {}}}
CYCLE = [user("Q"), assistant("", tool_calls=[CALL]), {"role": "tool", "content": "T"}]


@pytest.mark.parametrize("source", [LINE_BREAK_IN_PROMPT, LINE_BREAK_IN_HISTORY])
def test_a_line_break_of_the_prompt_or_of_the_history_alone_does_not_matter(source: str) -> None:
    end = "\n<end>" if source == LINE_BREAK_IN_PROMPT else "<end>"
    assert sampled(source, user("hi"), assistant("yes")) == [f"yes{end}"]
    assert sampled(source, user("hi"), assistant("yes"), user("hi"), assistant("")) == [f"yes{end}", end]


def test_other_spaces_than_those_at_the_end_of_the_prompt_are_part_of_the_header() -> None:
    assert sampled(INDENTED, user("hi"), assistant("yes"), user("hi"), assistant("no")) == ["yes<end>", "no<end>"]


def test_a_header_that_lacks_a_marker_of_the_prompt_ends_with_the_last_marker_of_it() -> None:
    assert sampled(CLOSED_THINK, user("hi"), assistant("yes")) == ["yes<end>"]


def test_text_of_which_the_prompt_contains_nothing_is_sampled() -> None:
    source = OTHER_HEADER.replace("<{{ m.role }}>", "<x>")
    assert sampled(source, user("hi"), assistant("yes")) == ["<x>yes<end>"]


@pytest.mark.parametrize("prompt", ["<s>model\n", "\n", "<s>", "<s>model:", "<end>"])
@pytest.mark.parametrize("name", ["{{ m.role }}\n", "{{ m.role }}: ", "{{ m.role }}>"])
def test_the_role_is_header_even_if_the_prompt_has_another_name(prompt: str, name: str) -> None:
    source = (
        f"{{% for m in messages %}}<s>{name}{{% if m.reasoning_content %}}<think>{{{{ m.reasoning_content }}}}</think>"
        "{% endif %}{% for c in m.tool_calls or [] %}<call>{{ c.function.name }}</call>{% endfor %}"
        f"{{{{ m.content }}}}<end>\n{{% endfor %}}{{% if add_generation_prompt %}}{{{{ {prompt!r} }}}}{{% endif %}}"
    )
    assert sampled(source, user("hi"), assistant("yes")) == ["yes<end>"]
    assert sampled(source, user("hi"), assistant("yes", reasoning_content="R")) == ["<think>R</think>yes<end>"]
    assert sampled(source, user("hi"), assistant("", tool_calls=[CALL])) == ["<call>f</call><end>"]


def test_a_role_that_is_text_of_the_template_is_header_if_the_prompt_has_another_word_in_its_place() -> None:
    turn = "{{ m.content }}<end>{% endfor %}{{ '<s>model\n' if add_generation_prompt }}"
    source = "{% for m in messages %}<s>{{ 'bot' if m.role == 'assistant' else 'human' }}\n" + turn
    assert sampled(source, user("hi"), assistant("yes")) == ["yes<end>"]


def test_words_that_the_prompt_has_no_place_for_are_sampled() -> None:
    turn = "{% for c in m.tool_calls or [] %}Action: {{ c.function.name }}{% endfor %}{{ m.content }}<end>{% endfor %}"
    for prompt in ("<s>assistant\n", "<s>assistant\n<think>"):
        source = f"{{% for m in messages %}}<s>{{{{ m.role }}}}\n{turn}{{{{ {prompt!r} if add_generation_prompt }}}}"
        assert sampled(source, user("hi"), assistant("", tool_calls=[CALL])) == ["Action: f<end>"]


def test_text_that_the_prompt_after_a_result_lacks_is_sampled() -> None:
    turns = (*CYCLE, assistant("yes", reasoning_content="R"))
    assert sampled(AFTER_RESULTS, *turns) == ["<call>f</call>", "<think>R</think>yes<end>"]
    assert sampled(AFTER_RESULTS, *turns, enable_thinking=True) == ["<call>f</call>", "R</think>yes<end>"]


def test_an_empty_turn_before_another_prompt_has_a_sampled_stop_token() -> None:
    source = "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}<assistant>"
    assert sampled(source, user(""), assistant("")) == ["<end>"]


def place_in(text: str) -> TurnPlace:
    """Return the places that `[`, `(`, `)` and `]` mark in a text. Each is left out of the text."""
    places = [text.index(mark) - at for at, mark in enumerate("[()]")]
    return TurnPlace(*places)


@pytest.mark.parametrize(
    ("text", "header", "expected"),
    [
        ("a[<end>\n(<s>role\n)b]", "<end>\n<s>role\n", "b"),
        ("a[<end>(<s>role\n)b]", "<end>\n<s>role\n", "b"),
        ("a[<end>(<s> role )b]", "<end>\n<s>role\n", "b"),
        ("a[<end>(<s>role\n)b]", "<end>\n<s>role\n<think>", "b"),
        ("a[<end>(<s>role\n<x>)b]", "<end>\n<s>role\n<think>", "<x>b"),
        ("a[<end>(<s>role\n\n)b]", "\n<end><s>role\n", "\nb"),
        ("a[<end>(<s>role\n</think>)b]", "<end><s>role\n<think></think>", "b"),
        ("a[<end>(<call>{:)b]", "<s>role:", "<call>{:b"),
        ("a[:(<call>)b]", ":<s>", "<call>b"),
        ("a[(\n)b]", "\n<s>role", "\nb"),
    ],
)
def test_the_header_ends_where_the_prompt_contains_no_more_of_the_text(text: str, header: str, expected: str) -> None:
    place = place_in(text)
    plain = text.translate(dict.fromkeys(map(ord, "[()]")))
    assert plain[header_end(plain, place, [TurnHeader(header, header, is_default=True)]) :] == expected


def test_a_header_with_reasoning_switched_the_other_way_counts_if_it_is_complete() -> None:
    text = "a[<end>(<s>role\n</think>)b]"
    place, plain = place_in(text), text.translate(dict.fromkeys(map(ord, "[()]")))
    headers = [TurnHeader("<end>\n<s>role\n<think>", "", is_default=True)]
    assert plain[header_end(plain, place, headers) :] == "</think>b"
    headers.append(TurnHeader("<end>\n<s>role\n</think>", "", is_default=False))
    assert plain[header_end(plain, place, headers) :] == "b"


def test_without_any_prompt_only_the_body_is_sampled() -> None:
    assert header_end("a<s>b", TurnPlace(1, 1, 4, 5), []) == 4
