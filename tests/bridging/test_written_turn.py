"""The parsed turn of a rollout is compared with the text that the template writes for it."""

from __future__ import annotations

from typing import Any

import pytest

from renderers import EMBEDDED, Bridge, BridgeRefusal, create_renderer, load_tokenizer
from renderers.bridging.written_turn import parsed_turn

ASK: dict[str, Any] = {"role": "user", "content": "Hi"}
CALL = '<|call|>{"name": "get", "arguments": {"x": 1}}<|/call|>'


def parsed(text: str) -> Any:
    renderer = create_renderer(load_tokenizer(EMBEDDED))
    return renderer.parse_response(renderer.tokenizer.encode(text))


def test_a_turn_has_the_fields_and_arguments_of_the_completion() -> None:
    result = {"role": "tool", "tool_call_id": "c1", "name": "get", "content": "R"}
    message = parsed_turn(parsed(f"<|think|>Hm.<|/think|>Look.{CALL}<|end|>"), [result])
    assert message is not None
    assert (message["content"], message["reasoning_content"]) == ("Look.", "Hm.")
    assert [call["function"] for call in message["tool_calls"]] == [{"name": "get", "arguments": {"x": 1}}]


@pytest.mark.parametrize("text", ['<|call|>{"name": "get", "argu<|/call|><|end|>', "Look.<|end|>"])
def test_calls_that_are_not_determined_give_no_turn(text: str) -> None:
    assert parsed_turn(parsed(text), [{"role": "tool", "content": "R"}]) is None


BODY = "{{ m.content | upper if m.role == 'assistant' and not loop.last else m.content }}"
LAST = "{% for m in messages %}<|turn|>{{ m.role }}\n" + BODY + "<|end|>\n{% endfor %}"
PROMPT = "{% if add_generation_prompt %}{{ '<|turn|>assistant\\n' + (lead or '') }}{% endif %}"


@pytest.mark.parametrize(
    ("completion", "lead", "extended"),
    [("A<|end|>", "", True), ("a<|end|>", "", False), ("A<|end|>", "<|think|>", False)],
)
def test_a_rollout_is_extended_if_the_template_writes_it_unchanged(completion: str, lead: str, extended: bool) -> None:
    # Earlier turns are written in capital letters. The prompt may have another end.
    renderer = create_renderer(load_tokenizer(EMBEDDED), chat_template=LAST + PROMPT)
    prompt = renderer.render_ids([ASK], add_generation_prompt=True, lead=lead)
    bridged = renderer.bridge(prompt, renderer.tokenizer.encode(completion), [ASK])
    assert isinstance(bridged, Bridge if extended else BridgeRefusal), bridged
