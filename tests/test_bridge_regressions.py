"""Rollouts that were once extended in a wrong way, or not at all."""

from __future__ import annotations

from typing import Any

import pytest

from renderers import EMBEDDED, Bridge, BridgeReason, BridgeRefusal, ChatRenderer, create_renderer, load_tokenizer
from renderers.bridge import Prior
from renderers.parse.response import CompletionState, Region
from tests.test_totality import NO_IDS

ASK = [{"role": "user", "content": "Hi"}]


@pytest.fixture(scope="module")
def renderer() -> ChatRenderer:
    return create_renderer(load_tokenizer(EMBEDDED), thinking_retention="all")


def prior_of(renderer: ChatRenderer, text: str) -> tuple[list[Any], list[Any]]:
    """Returns a prompt, and a completion of it."""
    return renderer.render_ids(ASK, add_generation_prompt=True), renderer.tokenizer.encode(text)


@pytest.mark.parametrize("kind", NO_IDS)
def test_what_is_no_id_is_kept_where_it_is(renderer: ChatRenderer, kind: str) -> None:
    prompt, completion = prior_of(renderer, "Hello<|end|>")
    junk = NO_IDS[kind]
    for before, after in ((junk + prompt, completion), (prompt, junk + completion), (prompt, completion[:-1] + junk)):
        bridged = renderer.bridge(before, after, ASK)
        assert isinstance(bridged, Bridge)
        ids = bridged.tokens.token_ids
        assert all(one is other for one, other in zip(ids, [*before, *after], strict=False))
        assert len(ids) > len(before) + len(after)


@pytest.mark.parametrize("kind", NO_IDS)
def test_what_is_no_id_does_not_hide_the_tokens_beside_it(kind: str) -> None:
    prior = Prior([*NO_IDS[kind], 7], [*NO_IDS[kind], 8], CompletionState(Region.START, None), "")
    assert [prior.has(token) for token in (7, 8, 9, None)] == [True, True, False, False]


@pytest.mark.parametrize("name", ["Qwen/Qwen3-8B", "zai-org/GLM-4.5-Air"])
def test_a_turn_that_is_cut_off_in_its_reasoning_is_closed_where_all_reasoning_is_kept(name: str, hub: object) -> None:
    tokenizer = load_tokenizer(name)
    keeping = create_renderer(tokenizer, thinking_retention="all")
    prompt = keeping.render_ids(ASK, add_generation_prompt=True)
    completion = tokenizer.encode("<think>\nHm, the")
    bridged = keeping.bridge(prompt, completion, ASK)
    assert isinstance(bridged, Bridge)
    added = tokenizer.decode(bridged.tokens.token_ids[len(prompt) + len(completion) :])
    assert added.lstrip().startswith("</think>")
    assert added.endswith(tokenizer.decode(prompt[-2:]))
    refused = create_renderer(tokenizer).bridge(prompt, completion, ASK)
    assert isinstance(refused, BridgeRefusal)
    assert refused.reason is BridgeReason.HISTORY_REWRITTEN


LAST_STOP = """{% for message in messages %}{{ "<|turn|>" + message.role + "\\n" + message.content }}
{%- if message.role == "assistant" and loop.last %}<|/call|>{% else %}<|end|>{% endif %}{% endfor %}
{%- if add_generation_prompt %}{{ "<|turn|>assistant\\n" }}{% endif %}"""


@pytest.mark.parametrize(("said", "closed"), [("Hello<|/call|>", ""), ("Hello<|end|>", ""), ("Hello", "<|end|>")])
def test_a_turn_that_is_the_last_may_have_a_stop_token_of_its_own(said: str, closed: str) -> None:
    """As gpt-oss, whose last turn returns and whose earlier ones end."""
    tokenizer = load_tokenizer(EMBEDDED)
    keeping = create_renderer(tokenizer, chat_template=LAST_STOP, thinking_retention="all")
    prompt, completion = prior_of(keeping, said)
    refused = create_renderer(tokenizer, chat_template=LAST_STOP).bridge(prompt, completion, ASK)
    assert isinstance(refused, BridgeRefusal)
    assert (refused.reason, refused.detail) == (
        BridgeReason.HISTORY_REWRITTEN,
        "after a question: 'Fluss<|/call|>' would become 'Fluss'",
    )
    bridged = keeping.bridge(prompt, completion, ASK)
    assert isinstance(bridged, Bridge)
    assert not bridged.keeps
    added = tokenizer.decode(bridged.tokens.token_ids[len(prompt) + len(completion) :])
    assert added == f"{closed}<|turn|>user\nHi<|end|><|turn|>assistant\n"


AFTER = """{% for message in messages %}{% if message.role == "tool" %}{{ "<|turn|>tool\\n" + message.content }}
{{- messages[loop.index0 - 1].content + "<|end|>" }}{% else %}{{ "<|turn|>" + message.role + "\\n" + message.content }}
{%- for call in message.tool_calls or [] %}{{ "<|call|>" + call.function | tojson + "<|/call|>" }}{% endfor %}<|end|>
{%- endif %}{% endfor %}{% if add_generation_prompt %}{{ "<|turn|>assistant\\n" }}{% endif %}"""


def test_what_a_turn_says_is_never_made_up_after_it() -> None:
    """As Gemma 4 writes what is said beside a call after the call's result."""
    keeping = create_renderer(load_tokenizer(EMBEDDED), chat_template=AFTER, thinking_retention="all")
    result = [{"role": "tool", "content": "R"}]
    call = '<|call|>{"name": "f", "arguments": {}}<|/call|><|end|>'
    alone = keeping.bridge(*prior_of(keeping, call), result)
    assert isinstance(alone, Bridge)
    refused = keeping.bridge(*prior_of(keeping, f"Hello{call}"), result)
    assert isinstance(refused, BridgeRefusal)
    assert refused.reason is BridgeReason.SUFFIX_VARIES
