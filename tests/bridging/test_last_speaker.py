"""The role of the message before a turn is found by the message headers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderers import EMBEDDED, ChatRenderer, create_renderer, load_tokenizer
from renderers.bridging.context import BridgeContext
from renderers.bridging.last_speaker import RoleHeaders, ends_with_assistant_message, role_headers

HEADERS = RoleHeaders(assistant=(1, 2), others=((1, 3), (4,)))
ASK, ANSWER = {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes?"}
CALL = {**ANSWER, "tool_calls": [{"type": "function", "id": "c", "function": {"name": "get", "arguments": {"x": 1}}}]}
RESULT = {"role": "tool", "tool_call_id": "c", "name": "get", "content": "R " * 400}


@pytest.mark.parametrize(
    ("prompt", "after_assistant"),
    [
        ([1, 3, 9, 1, 2, 8, 1, 2], True),
        ([1, 2, 8, 1, 3, 9, 1, 2], False),
        ([1, 2, 8, 4, 9, 1, 2], False),
        ([1, 2], False),
        ([], False),
        ([1, 2, *[8] * 5000, 1, 2], True),
        ([1, 2, 1, 3, *[8] * 5000, 1, 2], False),
    ],
)
def test_the_last_message_is_found_however_long_it_is(prompt: list[Any], after_assistant: bool) -> None:
    assert ends_with_assistant_message(prompt, HEADERS) is after_assistant


@given(st.lists(st.integers(0, 5), max_size=200))
def test_the_last_two_headers_decide(prompt: list[int]) -> None:
    headers = []
    for at in range(len(prompt)):
        headers += [
            header for header in (HEADERS.assistant, *HEADERS.others) if tuple(prompt[at : at + len(header)]) == header
        ]
    assert ends_with_assistant_message(prompt, HEADERS) is (headers[-2:] == [HEADERS.assistant, HEADERS.assistant])


def prompts(renderer: ChatRenderer) -> dict[bool, list[list[int]]]:
    """Return prompts by whether they follow an assistant message."""

    def ids(*messages: Any) -> list[int]:
        return renderer.render_ids(messages, add_generation_prompt=True)

    twice = ids(ASK, ANSWER)
    return {
        # Some templates open no turn after an assistant message.
        True: [twice, ids(ASK, ANSWER, ASK, ANSWER)] if twice != renderer.render_ids([ASK, ANSWER]) else [],
        False: [ids(ASK), ids(ASK, ANSWER, ASK), ids(ASK, CALL, RESULT), ids(ASK, CALL, RESULT, ANSWER, ASK)],
    }


MODELS = ["Qwen/Qwen3-8B", "zai-org/GLM-4.5-Air", "deepseek-ai/DeepSeek-V3.1", "MiniMaxAI/MiniMax-M2"]


@pytest.mark.parametrize("name", [EMBEDDED, *MODELS, "openai/gpt-oss-20b", "moonshotai/Kimi-K2.5"])
def test_real_prompts_are_distinguished(name: Any, request: pytest.FixtureRequest) -> None:
    if name != EMBEDDED:
        request.getfixturevalue("hub")
    renderer = create_renderer(load_tokenizer(name))
    headers = role_headers(BridgeContext(renderer._pipeline, None, renderer.resolution.grammar.header))
    assert headers is not None
    for after_assistant, group in prompts(renderer).items():
        assert [ends_with_assistant_message(prompt, headers) for prompt in group] == [after_assistant] * len(group)


def test_a_template_without_special_tokens_gives_no_answer() -> None:
    template = "{% for message in messages %}{{ message.role }}: {{ message.content }} {% endfor %}"
    renderer = create_renderer(load_tokenizer(EMBEDDED), chat_template=template)
    assert role_headers(BridgeContext(renderer._pipeline, None, "assistant: ")) is None
