"""Preference pairs: two answers with one prompt."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from renderers import (
    ChatRenderer,
    PreferencePair,
    PromptMismatchWarning,
    build_preference_pair,
    build_training_samples,
    create_renderer,
    load_tokenizer,
)
from tests.stress_training import MODELS
from tests.support.models import HUB_AT_HAND, unpack_hub
from tests.support.training import TOOLS, embedded

PROMPT = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What is 2 + 2?"}]
GOOD = {"role": "assistant", "reasoning_content": "Easy.", "content": "4"}
BAD = {"role": "assistant", "reasoning_content": "Hard.", "content": "It may be 5, or 6."}


def pair_of(renderer: ChatRenderer, good: Any = GOOD, bad: Any = BAD, **options: Any) -> PreferencePair:
    pair = build_preference_pair(renderer, PROMPT, good, bad, **options)
    assert pair is not None
    return pair


def test_both_answers_follow_the_prompt() -> None:
    renderer = embedded()
    pair = pair_of(renderer, tools=TOOLS)
    assert pair.prompt_ids == renderer.render_ids(PROMPT, tools=TOOLS, add_generation_prompt=True)
    assert renderer.tokenizer.decode(pair.chosen_ids) == "<|think|>Easy.<|/think|>4<|end|>"
    assert renderer.tokenizer.decode(pair.rejected_ids) == "<|think|>Hard.<|/think|>It may be 5, or 6.<|end|>"
    for sample, answer in ((pair.chosen, GOOD), (pair.rejected, BAD)):
        assert [sample] == build_training_samples(renderer, [*PROMPT, answer], tools=TOOLS)
    assert pickle.loads(pickle.dumps(pair)) == pair
    assert pair_of(renderer, [GOOD], (BAD,), tools=TOOLS) == pair


def test_the_prompt_is_rendered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    prompts: list[bool] = []
    render = ChatRenderer.render

    def counted(self: ChatRenderer, messages: Any, **options: Any) -> Any:
        prompts.append(bool(options.get("add_generation_prompt")))
        return render(self, messages, **options)

    monkeypatch.setattr(ChatRenderer, "render", counted)
    pair_of(embedded())
    assert sorted(prompts) == [False, False, True]


@pytest.mark.parametrize("answer", [PROMPT[1], [GOOD, GOOD], [], None, "4"])
def test_an_answer_is_one_assistant_message(answer: Any) -> None:
    with pytest.raises(ValueError, match="chosen must be one assistant message"):
        build_preference_pair(embedded(), PROMPT, answer, BAD)


def test_a_pair_that_is_too_long_is_an_error_or_none() -> None:
    pair = pair_of(embedded())
    limit = len(pair.chosen.token_ids)
    with pytest.raises(ValueError, match="max_length"):
        pair_of(embedded(), max_length=limit)
    assert build_preference_pair(embedded(), PROMPT, GOOD, BAD, max_length=limit, overlong="drop") is None
    assert build_preference_pair(embedded(), PROMPT, GOOD, BAD, max_length=limit, overlong="cut") is None
    assert pair_of(embedded(), max_length=len(pair.rejected.token_ids)) == pair


def test_answers_after_different_prompts_are_an_error() -> None:
    template = (
        "{% for m in messages %}<|turn|>{{ m.role }}\n{% if m.role == 'assistant' %}"
        "{% if m.reasoning_content %}<|think|>{{ m.reasoning_content }}{% endif %}<|/think|>{% endif %}"
        "{{ m.content }}<|end|>\n{% endfor %}{% if add_generation_prompt %}<|turn|>assistant\n<|think|>{% endif %}"
    )
    renderer = create_renderer(embedded().tokenizer, chat_template=template)
    silent = {"role": "assistant", "content": "4"}
    with pytest.raises(ValueError, match="do not continue the same prompt"):
        pair_of(renderer, GOOD, silent)
    with pytest.warns(PromptMismatchWarning):
        pair = pair_of(renderer, silent, silent)
    assert pair.chosen.turns[-1].follows_prompt is False


@pytest.mark.skipif(not HUB_AT_HAND, reason="real models are not available (set SHARED)")
@pytest.mark.filterwarnings("ignore::renderers.PromptMismatchWarning")
@pytest.mark.parametrize("name", MODELS)
def test_pairs_of_real_models_have_one_prompt(name: str) -> None:
    unpack_hub()
    renderer = create_renderer(load_tokenizer(name))
    prompt = PROMPT[1:]
    pair = build_preference_pair(renderer, prompt, GOOD, BAD, ensure_final_stop=True)
    assert pair is not None
    for sample, ids in ((pair.chosen, pair.chosen_ids), (pair.rejected, pair.rejected_ids)):
        assert sample.token_ids[: sample.turns[-1].end] == pair.prompt_ids + ids
        assert sample.turns[-1].has_stop
    if pair.chosen.turns[-1].follows_prompt:
        assert pair.prompt_ids == renderer.render_ids(prompt, add_generation_prompt=True)
