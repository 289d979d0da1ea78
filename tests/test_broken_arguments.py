"""A rollout goes on after a tool call with broken arguments: it is rendered by every model that renders calls."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

from renderers import Bridge, ChatRenderer, create_renderer, load_tokenizer
from renderers.errors import BrokenArgumentsWarning, TemplateError
from tests.support.conversations import assistant, call, tool, user
from tests.support.models import one_model_per_template
from tests.support.parity import PLAIN_TOOL

MODELS = one_model_per_template()
RESULT = tool("A word.", "look_up")


def conversation(arguments: Any) -> list[Any]:
    return [user("What?"), assistant("", calls=[call("look_up", arguments)]), RESULT]


def rendered(renderer: ChatRenderer, messages: list[Any]) -> str | None:
    """Return the text of messages; None if the template rejects them."""
    try:
        return renderer.trace(messages, tools=[PLAIN_TOOL]).text
    except TemplateError:
        return None


@pytest.mark.parametrize("name", MODELS)
def test_calls_with_broken_arguments_are_rendered_by_all_models_that_render_calls(hub: Path, name: str) -> None:
    renderer = create_renderer(load_tokenizer(name))
    whole = rendered(renderer, conversation({"word": "this"}))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        text = rendered(renderer, conversation('{"missing": '))
        others = [rendered(renderer, conversation(raw)) for raw in ("plain text", "[1]", '{"word": 1, "word": 2}')]
    assert [other is None for other in (text, *others)] == [whole is None] * 4
    reported = [warning for warning in caught if warning.category is BrokenArgumentsWarning]
    assert len(reported) <= 1
    drops_arguments = whole is None or "this" not in whole.rpartition("What?")[2]
    assert reported or drops_arguments or "missing" in str(text)


@pytest.mark.parametrize("name", MODELS)
def test_a_turn_that_a_bridge_accepts_can_be_rendered(hub: Path, name: str) -> None:
    # Gemma 4 writes no result of a call that could not be parsed.
    renderer = create_renderer(load_tokenizer(name), on_loss={"message": "ignore"})
    question, turn, result = conversation({"word": "this"})
    try:
        tokens = renderer.render([question, turn, result], tools=[PLAIN_TOOL])
        prompt = renderer.render_ids([question], tools=[PLAIN_TOOL], add_generation_prompt=True)
    except TemplateError:
        return
    labels = zip(tokens.token_ids, tokens.sampled_mask, tokens.message_indices, strict=True)
    sampled = [token for token, is_sampled, index in labels if is_sampled and index == 1]
    for at in range(2, len(sampled) - 1, 2):
        completion = [*sampled[:at], *sampled[at + 1 :]]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BrokenArgumentsWarning)
            if isinstance(renderer.bridge(prompt, completion, [result], tools=[PLAIN_TOOL]), Bridge):
                parsed = renderer.parse_response(completion, tools=[PLAIN_TOOL], prompt_ids=prompt)
                calls = [call(item.name or "", item.arguments or item.raw) for item in parsed.tool_calls]
                message = assistant(parsed.content, parsed.reasoning_content, calls or None)
                renderer.render_ids([question, message, result], tools=[PLAIN_TOOL])
