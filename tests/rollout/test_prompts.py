"""Tests of `renderers.rollout.prompts`."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from renderers import EXAMPLE_MODEL, BridgeReason, ChatRenderer, create_renderer, create_renderer_pool
from renderers.bridging.refusal import BridgeRefusal, refuse
from renderers.rollout.position import RolloutOptions
from renderers.rollout.prompts import bridge_ids, copy_messages, render_prompt_ids
from tests.support.conversations import TOOLS, user
from tests.support.scripted_sampler import encode

OPTIONS = RolloutOptions(tools=TOOLS)


@pytest.fixture(scope="module")
def renderer() -> ChatRenderer:
    return create_renderer(EXAMPLE_MODEL)


def test_a_conversation_is_rendered_up_to_the_next_turn(renderer: ChatRenderer) -> None:
    expected = renderer.render_ids([user("Hi")], tools=TOOLS, add_generation_prompt=True)
    assert render_prompt_ids(renderer, (user("Hi"),), OPTIONS) == expected


def test_messages_are_appended_to_the_prompt_and_the_completion(renderer: ChatRenderer) -> None:
    prompt, completion = render_prompt_ids(renderer, [user("Hi")], OPTIONS), encode(renderer, "Yes.<|end|>")
    ids, refusal = bridge_ids(renderer, prompt, completion, [user("And?")], OPTIONS)
    assert ids is not None
    assert ids[: len(prompt) + len(completion)] == prompt + completion
    assert refusal is None


def test_a_refusal_has_its_reason(renderer: ChatRenderer) -> None:
    prompt = render_prompt_ids(renderer, [user("Hi")], OPTIONS)
    ids, refusal = bridge_ids(renderer, prompt, [], [{"role": "assistant", "content": "No."}], OPTIONS)
    assert ids is None
    assert refusal is not None
    assert refusal.reason is BridgeReason.ASSISTANT_MESSAGE
    assert refusal.detail.endswith("Remove it, or go on with the rendered conversation.")


def test_a_refusal_does_not_advise_what_the_rollout_does(renderer: ChatRenderer) -> None:
    for reason in BridgeReason:
        refusing = SimpleNamespace(bridge=lambda *_, reason=reason, **__: refuse(reason, "a fault"))
        refusal = bridge_ids(refusing, [1], [2], [user("And?")], OPTIONS).refusal
        assert refusal is not None
        assert refusal.reason is reason
        assert refusal.detail.startswith("a fault. ")
        assert "ender the whole conversation" not in refusal.detail


def test_only_the_remedy_of_a_refusal_changes() -> None:
    quoted = "the template rejects 'or render the whole conversation'"
    refusing = SimpleNamespace(bridge=lambda *_, **__: refuse(BridgeReason.SUFFIX_VARIES, quoted))
    refusal = bridge_ids(refusing, [1], [2], [user("And?")], OPTIONS).refusal
    assert refusal is not None
    assert refusal.detail == f"{quoted}. The conversation is rendered again."


def test_the_detail_of_a_custom_renderer_is_kept() -> None:
    own = BridgeRefusal(BridgeReason.SUFFIX_VARIES, "Render the whole conversation, please")
    refusing = SimpleNamespace(bridge=lambda *_, **__: own)
    assert bridge_ids(refusing, [1], [2], [user("And?")], OPTIONS).refusal == own


def test_a_pool_of_renderers_bridges(renderer: ChatRenderer) -> None:
    pool = create_renderer_pool(EXAMPLE_MODEL, size=2)
    prompt, completion = render_prompt_ids(pool, [user("Hi")], OPTIONS), encode(renderer, "Yes.<|end|>")
    assert bridge_ids(pool, prompt, completion, [user("And?")], OPTIONS) == bridge_ids(
        renderer, prompt, completion, [user("And?")], OPTIONS
    )


def test_copied_messages_have_the_keys_of_the_caller() -> None:
    turn = {"role": "assistant", "content": "Hi", "reasoning_content": "Hm."}
    assert copy_messages([user("Hi"), turn]) == [user("Hi"), turn]
    copied = copy_messages([{"role": "assistant", "content": "Hi", "thinking": "Hm."}])
    assert copied == [turn]
    other = {**turn, "thinking": "Other."}
    assert copy_messages([other]) == [other]
    assert copy_messages([turn])[0] is not turn
