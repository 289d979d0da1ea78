"""System messages alone are rendered, although the template requires a user message."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from renderers import EXAMPLE_MODEL, create_renderer, load_tokenizer
from renderers.errors import TemplateRefusalError
from tests.support.conversations import assistant, system, user

TURNS = (
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
REFUSE = (
    "{% if messages | selectattr('role', 'equalto', 'user') | list | length == 0 %}"
    "{{ raise_exception('no question') }}{% endif %}"
)
MERGED = REFUSE + "{% for m in messages[1:] %}<{{ m.role }}>{{ messages[0].content }} {{ m.content }}{% endfor %}"


def render(source: str, *messages: Any, **arguments: Any) -> Any:
    renderer = create_renderer(load_tokenizer(EXAMPLE_MODEL), chat_template=source)
    return renderer.render(messages, **arguments), renderer.trace(messages, **arguments)


@pytest.mark.parametrize("prompt", [False, True])
def test_the_result_is_that_of_a_template_without_the_requirement(prompt: bool) -> None:
    messages = [system("Be brief."), system("Be kind.")]
    got, trace = render(REFUSE + TURNS, *messages, add_generation_prompt=prompt)
    expected, expected_trace = render(TURNS, *messages, add_generation_prompt=prompt)
    assert (trace.text, trace.spans) == (expected_trace.text, expected_trace.spans)
    assert got.token_ids == expected.token_ids
    assert got.message_indices == expected.message_indices
    assert got.sampled_mask == expected.sampled_mask


@pytest.mark.parametrize("messages", [[assistant("Hi")], [system("Be brief."), assistant("Hi")]])
def test_other_conversations_without_a_user_message_are_refused(messages: Any) -> None:
    with pytest.raises(TemplateRefusalError, match="no question"):
        render(REFUSE + TURNS, *messages)


def test_a_template_that_writes_the_system_message_into_the_users_turn_refuses_it_alone() -> None:
    assert render(MERGED, system("Be brief."), user("Hi"))[1].text == "<user>Be brief. Hi"
    with pytest.raises(TemplateRefusalError, match="no question"):
        render(MERGED, system("Be brief."))


def test_a_template_that_refuses_a_question_too_raises_the_first_error() -> None:
    with pytest.raises(TemplateRefusalError, match="no question"):
        render(REFUSE + "{{ raise_exception('never') }}", system("Be brief."))


@pytest.mark.parametrize("name", ["Qwen/Qwen3.5-9B", "Qwen/Qwen3.6-35B-A3B", "Qwen/Qwen3.8-27B"])
def test_a_lone_system_message_is_the_start_of_the_conversation_on_real_models(hub: Path, name: str) -> None:
    renderer = create_renderer(load_tokenizer(name))
    alone = renderer.render_ids([system("Be brief.")])
    assert renderer.render_ids([system("Be brief."), user("Hi")])[: len(alone)] == alone
    assert renderer.tokenizer.decode(alone).endswith("Be brief.<|im_end|>\n")
