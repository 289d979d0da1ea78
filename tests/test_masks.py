"""A token of the generation prompt is never sampled, and a token that the model has to write always is."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from renderers import MessageError, TemplateError, create_renderer, load_tokenizer
from tests.support.conversations import CONVERSATIONS, TOOLS
from tests.support.masks import faults_of_template
from tests.support.models import one_model_per_template
from tests.support.parity import EACH_ONCE

EVERY = 31
"""One of this many settings of a conversation is tested. It shares no factor with the number of tools and switches."""


@pytest.mark.parametrize("path", EACH_ONCE, ids=lambda path: path.stem)
def test_the_text_after_the_generation_prompt_is_sampled_and_nothing_else(path: Path) -> None:
    assert faults_of_template(path, every=EVERY) == {}


@pytest.mark.parametrize("model", one_model_per_template())
def test_the_tokens_after_the_generation_prompt_are_sampled_and_no_others(hub: object, model: str) -> None:
    renderer = create_renderer(load_tokenizer(model))
    compared = 0
    for messages, index in itertools.product((CONVERSATIONS["two"], CONVERSATIONS["two cycles"]), range(9)):
        if index >= len(messages) or messages[index]["role"] != "assistant":
            continue
        try:
            prompt = renderer.render_ids(messages[:index], tools=TOOLS[1:], add_generation_prompt=True)
            rendered = renderer.render(messages[: index + 1], tools=TOOLS[1:])
        except (MessageError, TemplateError):
            continue
        if rendered.token_ids[: len(prompt)] == prompt:
            owners = zip(rendered.message_indices, rendered.sampled_mask, strict=True)
            sampled = [at for at, (owner, is_sampled) in enumerate(owners) if is_sampled and owner == index]
            assert sampled == list(range(len(prompt), sampled[-1] + 1))
            compared += 1
    assert compared
