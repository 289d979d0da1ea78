"""A turn of several messages is scanned message by message."""

from __future__ import annotations

import pytest

from renderers import create_renderer, load_tokenizer
from tests.support.responses import HARMONY, OK, TOOLS, read, said


def test_text_between_the_messages_of_a_turn_is_skipped(hub: object) -> None:
    renderer = create_renderer(load_tokenizer("openai/gpt-oss-20b"))
    text = "<|channel|>final<|message|>A<|end|>lost<|start|>assistant<|channel|>final<|message|>B<|end|>" + "é" * 2000
    parsed = read(text, prompt="<|start|>assistant", renderer=renderer)
    assert said(parsed) == ("A\nB", None, [])
    assert [skipped.text for skipped in parsed.skipped] == ["lost", "é" * 2000]


@pytest.mark.parametrize(
    ("close", "own"),
    [("<|call|>", True), ("<|end|>", True), ("<|return|>", False), ("<|start|>assistant", False), ("", False)],
)
def test_the_tokens_of_a_call_of_gpt_oss_include_its_closing_marker(close: str, own: bool, hub: object) -> None:
    renderer = create_renderer(load_tokenizer("openai/gpt-oss-20b"))
    call = HARMONY.removesuffix("<|call|>")
    ids = renderer.tokenizer.encode(f"<|channel|>analysis<|message|>A<|end|><|start|>assistant{call}{close}")
    parsed = renderer.parse_response(ids, tools=TOOLS)
    span = parsed.tool_calls[0].token_span
    assert span is not None
    assert renderer.tokenizer.decode(ids[slice(*span)]) == f"<|start|>assistant{call}{close if own else ''}"
    assert [part.end for part in parsed.parts][-1] == len(ids)


def test_a_call_of_gpt_oss_may_end_with_the_stop_token(hub: object) -> None:
    renderer = create_renderer(load_tokenizer("openai/gpt-oss-20b"))
    ids = renderer.tokenizer.encode(HARMONY)
    parser = renderer.stream()
    parser.feed(ids)
    (call,) = parser.close().tool_calls
    assert (call.token_span, call.status, parser.state.stop_token_id) == ((0, len(ids)), OK, ids[-1])
