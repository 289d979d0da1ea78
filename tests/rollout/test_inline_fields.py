"""Tests of `renderers.rollout.inline_fields`."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from renderers import EXAMPLE_MODEL, ChatRenderer, create_renderer
from renderers.client.completion import Completion
from renderers.rollout.inline_fields import InlineFields
from renderers.rollout.trajectory import Prompt, Turn
from tests.support.conversations import TOOLS, user
from tests.support.scripted_sampler import encode

CALL = '<|call|>{"name": "search", "arguments": {"query": "sky"}}<|/call|>'
REASONED = "<|think|>I look.<|/think|>Let me see."
FIELDS = {"role": "assistant", "content": "Let me see.", "reasoning_content": "I look."}
CALLS = [{"id": "call_1", "type": "function", "function": {"name": "search", "arguments": '{"query": "sky"}'}}]


@pytest.fixture(scope="module")
def renderer() -> ChatRenderer:
    return create_renderer(EXAMPLE_MODEL)


def turn_of(renderer: ChatRenderer, text: str) -> Turn:
    prompt_ids = renderer.render_ids([user("Hi")], tools=TOOLS, add_generation_prompt=True)
    ids = encode(renderer, f"{text}<|end|>")
    parsed = renderer.parse_response(ids, tools=TOOLS, prompt_ids=prompt_ids)
    return Turn(
        number=0,
        rollout=0,
        prompt=Prompt(parent=None, messages=(user("Hi"),), token_ids=prompt_ids),
        completion=Completion(token_ids=ids, logprobs=[-1.0] * len(ids), finish_reason="stop"),
        parsed=parsed,
        message=dict(parsed.to_message()),
    )


def split(renderer: Any, turn: Turn, **message: Any) -> Any:
    [result] = InlineFields().split([{"role": "assistant", **message}], [turn], renderer, TOOLS)
    return result


def test_reasoning_in_the_content_becomes_a_field(renderer: ChatRenderer) -> None:
    turn = turn_of(renderer, REASONED)
    assert split(renderer, turn, content=f"{REASONED}\n") == FIELDS
    assert split(renderer, turn, content=[{"type": "text", "text": REASONED}]) == FIELDS
    assert split(renderer, turn, content=REASONED, reasoning_content="I look.", refusal=None) == {
        **FIELDS,
        "refusal": None,
    }


def test_calls_in_the_content_become_fields(renderer: ChatRenderer) -> None:
    turn = turn_of(renderer, REASONED + CALL)
    assert split(renderer, turn, content=REASONED + CALL) == turn.message


def test_calls_beside_the_content_keep_their_ids(renderer: ChatRenderer) -> None:
    turn = turn_of(renderer, REASONED + CALL)
    for content in (REASONED, REASONED + CALL):
        assert split(renderer, turn, content=content, tool_calls=CALLS) == {**FIELDS, "tool_calls": CALLS}


@pytest.mark.parametrize(
    "message",
    [
        {"content": "Let me see."},
        {"content": None},
        {"content": [{"type": "image_url", "image_url": "x"}]},
        {"content": REASONED.replace("look", "hear")},
        {"content": f"{REASONED} And more."},
        {"content": REASONED, "reasoning_content": "Other."},
        {"content": REASONED, "tool_calls": CALLS},
        {"content": REASONED + CALL},
    ],
)
def test_other_messages_are_not_changed(renderer: ChatRenderer, message: dict[str, Any]) -> None:
    assert split(renderer, turn_of(renderer, REASONED), **message) == {"role": "assistant", **message}


def test_content_around_calls_is_recognised(renderer: ChatRenderer) -> None:
    turn = turn_of(renderer, f"{REASONED}{CALL} And so on.")
    assert split(renderer, turn, content=f"{REASONED}{CALL} And so on.") == turn.message


def test_an_empty_think_block_in_the_content_is_no_edit(renderer: ChatRenderer) -> None:
    turn = turn_of(renderer, "<|think|><|/think|>Yes.")
    assert split(renderer, turn, content="<|think|><|/think|>Yes.")["content"] == "Yes."


def test_messages_of_others_and_of_renderers_without_a_tokenizer_are_not_changed(renderer: ChatRenderer) -> None:
    turn = turn_of(renderer, REASONED)
    messages = [user(REASONED), {"role": "assistant", "content": REASONED}]
    assert InlineFields().split(messages, [turn], renderer, TOOLS)[0] == messages[0]
    custom: Any = SimpleNamespace(parse_response=renderer.parse_response)
    assert InlineFields().split(messages, [turn], custom, TOOLS) == messages
    assert InlineFields().split(messages, [], renderer, TOOLS) == messages


def test_a_text_is_parsed_once(renderer: ChatRenderer) -> None:
    turn, parsed = turn_of(renderer, REASONED), []

    def parse(ids: list[int], **options: Any) -> Any:
        parsed.append(ids)
        return renderer.parse_response(ids, **options)

    counting: Any = SimpleNamespace(tokenizer=renderer.tokenizer, parse_response=parse)
    inline, messages = InlineFields(), [{"role": "assistant", "content": REASONED}]
    assert [inline.split(messages, [turn], counting, TOOLS) for _ in range(3)] == [[FIELDS]] * 3
    assert len(parsed) == 1
    for text, count in (("Edited.", 1), (f"{REASONED} Edited.", 2), (f"{REASONED} Edited.", 2)):
        edited = [{"role": "assistant", "content": text}]
        assert inline.split(edited, [turn], counting, TOOLS) == edited
        assert len(parsed) == count
