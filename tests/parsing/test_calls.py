"""A call has its name, its text and its tokens, also if it begins in the prompt."""

from __future__ import annotations

from renderers import Region
from tests.support.responses import CALL, OK, embedded, read


def test_a_call_that_begins_in_the_prompt_is_parsed() -> None:
    prompt = '<|turn|>assistant\n<|call|>{"name": "get", "arguments'
    (call,) = read('": {"city": "Rome"}}<|/call|><|end|>', prompt=prompt).tool_calls
    assert (call.name, call.arguments, call.status) == ("get", {"city": "Rome"}, OK)
    assert call.token_span is not None
    assert call.token_span[0] == 0


def test_a_call_has_its_tokens_and_its_text() -> None:
    renderer = embedded()
    ids = renderer.tokenizer.encode(f"B{CALL}<|end|>")
    (call,) = renderer.parse_response(ids).tool_calls
    assert call.token_span is not None
    assert renderer.tokenizer.decode(ids[slice(*call.token_span)]) == CALL
    assert f"<|call|>{call.raw}<|/call|>" == CALL


def test_the_state_names_the_calls() -> None:
    state = read(f"{CALL}<|call|>{{").state
    assert [(call.id, call.name) for call in state.calls] == [(None, "get"), (None, None)]
    assert (state.region, state.stop_token_id) == (Region.CALL, None)
