"""What is learned of a template by running it."""

from __future__ import annotations

import pytest

from renderers import create_renderer, load_tokenizer
from renderers.core.spans import Channel
from renderers.probing.turn_format import Markers, closer, fields, heads, ways_of
from renderers.templating import ChatTemplate

SOURCE = (
    "{% for m in messages %}<s>{{ m.role }}\n"
    "{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}"
    "{{ m.content }}{% for c in m.tool_calls %}<call>{{ c.function.name }}({{ c.function.arguments | tojson }})</call>"
    "{% endfor %}<end>\n{% endfor %}{% if add_generation_prompt %}<s>assistant\n{% endif %}"
)


def test_markers_around_each_field_are_learned() -> None:
    ways = ways_of(ChatTemplate(SOURCE), given=(), tools=False)
    assert fields(ways) == {
        Channel.REASONING: Markers("<s>assistant\n<think>", "</think>"),
        Channel.CONTENT: Markers("</think>", "<call>"),
        Channel.TOOL_NAME: Markers("<call>", "("),
        Channel.TOOL_ARGUMENTS: Markers("(", ")</call><end>\n"),
    }


def test_a_field_that_is_not_written_has_no_markers() -> None:
    ways = ways_of(ChatTemplate("{% for m in messages %}<{{ m.content }}>{% endfor %}"), given=(), tools=False)
    assert fields(ways) == {Channel.CONTENT: Markers("<", ">")}
    assert fields(ways_of(ChatTemplate("{{ raise_exception('no') }}"), given=(), tools=False)) == {}


def test_heads_and_closer_are_learned_for_the_role_before() -> None:
    ways = ways_of(ChatTemplate(SOURCE), given=(), tools=False)
    assert [head.whole for head in heads(ways, "user")] == ["<end>\n<s>assistant\n"]
    assert closer(ways, frozenset({"<s>", "<end>"})) == "<end>"


REAL = {
    "Qwen/Qwen3-8B": ("<think>", "</think>"),
    "zai-org/GLM-4.5-Air": ("<think>", "</think>"),
    "mistralai/Ministral-3-14B-Reasoning-2512": ("[THINK]", "[/THINK]"),
}


@pytest.mark.parametrize("name", REAL)
def test_real_templates_write_markers_around_reasoning(name: str, hub: object) -> None:
    renderer = create_renderer(load_tokenizer(name))
    given = tuple(renderer.tokenizer.special_tokens_map.items())
    markers = fields(ways_of(renderer.template(), given=given, tools=False))[Channel.REASONING]
    opener, closing = REAL[name]
    assert markers.before.rstrip().endswith(opener)
    assert markers.after.lstrip().startswith(closing)
