"""The tokens that end answers and calls are learned from the template."""

from __future__ import annotations

from renderers import EMBEDDED, ChatRenderer, create_renderer, load_tokenizer
from renderers.bridging.context import BridgeContext
from renderers.bridging.turn_ends import TurnEnds, turn_ends


def ends_of(renderer: ChatRenderer) -> TurnEnds:
    return turn_ends(BridgeContext(renderer._pipeline, None, ""))


def test_a_template_may_end_all_turns_alike() -> None:
    ends = ends_of(create_renderer(load_tokenizer(EMBEDDED)))
    assert ends == TurnEnds(frozenset({"<|end|>"}), frozenset({"<|end|>"}))
    assert ends.has("<|end|>")
    assert not ends.has("<|turn|>")


def test_harmony_ends_calls_with_a_token_of_their_own(hub: object) -> None:
    renderer = create_renderer(load_tokenizer("openai/gpt-oss-20b"), date="2026-01-31")
    assert ends_of(renderer) == TurnEnds(frozenset({"<|end|>", "<|return|>"}), frozenset({"<|call|>"}))


def test_a_template_that_rejects_calls_has_no_token_for_them() -> None:
    template = """{% for message in messages %}{% if message.role == "tool" or message.tool_calls %}
    {{- raise_exception("no tools") }}{% endif %}{{ message.content }}<|end|>{% endfor %}"""
    renderer = create_renderer(load_tokenizer(EMBEDDED), chat_template=template)
    assert ends_of(renderer) == TurnEnds(frozenset({"<|end|>"}), frozenset())
