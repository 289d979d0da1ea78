"""A bridge claims the ids of a render only if the template writes the parsed turn as the model did."""

from __future__ import annotations

from typing import Any

import pytest

from renderers import EMBEDDED, Bridge, ChatRenderer, create_renderer, load_tokenizer
from renderers.bridging.rerender import parsed_messages
from renderers.core.completions import CalledTool, CompletionState, ParsedResponse, ParsedToolCall, Region

ASK = [{"role": "user", "content": "Hi"}]
BYE = [{"role": "user", "content": "Bye"}]
RESULT = [{"role": "tool", "content": "R", "name": "look"}]
CALL = '<|channel|>commentary <|constrain|>json<|message|>{"x": "a"}<|call|>'


def bridged(renderer: ChatRenderer, text: str, new: list[dict[str, Any]]) -> tuple[Bridge, list[int]]:
    """Return a bridge from a completion, and the ids of rendering the parsed conversation."""
    prompt = renderer.render_ids(ASK, add_generation_prompt=True)
    completion = renderer.tokenizer.encode(text, add_special_tokens=False)
    bridge = renderer.bridge(prompt, completion, new)
    assert isinstance(bridge, Bridge)
    turn = renderer.parse_response(completion, prompt_ids=prompt).to_message()
    return bridge, renderer.render_ids([*ASK, turn, *new], add_generation_prompt=True)


@pytest.mark.parametrize(
    ("text", "new"),
    [
        ("Hm<|call|>", RESULT),
        ("<|channel|>commentary<|message|>Hm<|call|>", RESULT),
        ("<|channel|>final<|message|>Hm<|call|>", RESULT),
        ("<|call|>", RESULT),
        ("", BYE),
        ("Hm<|end|>", BYE),
        ("<|channel|>final", BYE),
        (f" to=look{CALL}", RESULT),
        ("json<|call|>", RESULT),
        (" to=functions.look<|channel|>commentary <|constrain|>json<|call|>", RESULT),
        (" to=functions.look<|channel|>commentary <|constrain|>json<|call|>", BYE),
        (f" to=functions.look{CALL}<|call|>", BYE),
        ("<|channel|>commentary<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b<|end|>", BYE),
    ],
)
def test_a_turn_of_harmony_that_no_render_contains_is_no_match(text: str, new: Any, hub: object) -> None:
    renderer = create_renderer(load_tokenizer("openai/gpt-oss-20b"), date="2026-01-31", on_loss="ignore")
    bridge, full = bridged(renderer, text, new)
    assert bridge.tokens.token_ids != full
    assert not bridge.matches_rerender


@pytest.mark.parametrize(
    ("text", "new"),
    [
        (f" to=functions.look{CALL}", RESULT),
        (f" to=functions.look{CALL}", BYE),
        (f"<|channel|>commentary<|message|>Wait<|end|><|start|>assistant to=functions.look{CALL}", RESULT),
        ("<|channel|>final<|message|>Hm<|end|>", BYE),
        ("<|channel|>final<|message|>Hm", BYE),
    ],
)
def test_a_turn_of_harmony_as_a_render_writes_it_is_a_match(text: str, new: Any, hub: object) -> None:
    renderer = create_renderer(load_tokenizer("openai/gpt-oss-20b"), date="2026-01-31", on_loss="ignore")
    bridge, full = bridged(renderer, text, new)
    assert bridge.tokens.token_ids == full
    assert bridge.matches_rerender


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("Yes<|end|>", True),
        ("Yes", True),
        ("Yes<|end|>Yes", False),
        ('<|call|>{"name": "look", "arguments": {"x": 1}}<|/call|><|end|>', True),
        ('<|call|>{"name":"look","arguments":{"x":1}}<|/call|><|end|>', False),
        ('<|call|>{"name": "look", "arguments": {"x": 1<|/call|><|end|>', True),
    ],
)
def test_the_ids_of_a_match_are_those_of_a_render(text: str, matches: bool) -> None:
    bridge, full = bridged(create_renderer(load_tokenizer(EMBEDDED), on_loss="ignore"), text, BYE)
    assert bridge.matches_rerender is matches is (bridge.tokens.token_ids == full)


def test_other_tokens_of_the_same_text_are_no_match() -> None:
    renderer = create_renderer(load_tokenizer(EMBEDDED))
    prompt = renderer.render_ids(ASK, add_generation_prompt=True)
    pieces = [*"Hello there", "<|end|>"]
    completion = [token for piece in pieces for token in renderer.tokenizer.encode(piece, add_special_tokens=False)]
    bridge = renderer.bridge(prompt, completion, BYE)
    assert isinstance(bridge, Bridge)
    assert not bridge.matches_rerender


def test_calls_without_ids_get_those_of_their_results() -> None:
    call = ParsedToolCall("", name="look", arguments={"x": 1})
    state = CompletionState(Region.CONTENT, 1, calls=(CalledTool(None, "look"),))
    parsed = ParsedResponse("Hm", "Why?", tool_calls=[call], state=state)
    (message,) = parsed_messages(parsed, [{"role": "tool", "tool_call_id": "c7", "content": "R"}])
    function = {"name": "look", "arguments": {"x": 1}}
    assert message["tool_calls"] == [{"type": "function", "function": function, "id": "c7"}]
    assert (message["content"], message["reasoning_content"]) == ("Hm", "Why?")
    # A second result belongs to no call.
    others = [{"role": "tool", "tool_call_id": number, "content": "R"} for number in ("c7", "c8")]
    assert all(len(message["tool_calls"]) == 1 for message in parsed_messages(parsed, others))
