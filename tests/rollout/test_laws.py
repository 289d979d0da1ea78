"""Prompts of rollouts extend or equal the rendered conversation, and every sampled token is trained once."""

from __future__ import annotations

import pickle
import random
import warnings
from pathlib import Path
from typing import Any

import pytest

from renderers import EXAMPLE_MODEL, MessageError, TemplateError, create_renderer, load_tokenizer
from renderers.rollout import Rollout
from tests.support.conversations import TOOLS, assistant, call, tool, user
from tests.support.models import one_model_per_template, unpack_hub
from tests.support.rollouts import check_laws, check_prompt, sampled_ids
from tests.support.scripted_sampler import ScriptedSampler

MODELS = [str(EXAMPLE_MODEL), *one_model_per_template()]

TURNS: list[tuple[dict[str, Any], list[dict[str, Any]]]] = [
    (assistant("", "I must look.", [call("search", {"query": "sky"})]), [tool("blue", "search")]),
    (assistant("It is blue.", "It says so."), [user("And the sea?")]),
    (assistant("I look.", None, [call("search", {"query": "sea"})]), [tool("green", "search")]),
    (assistant("It is green."), [user("Thanks!")]),
]
"""Turns with the messages that follow them."""


def harness_copy(message: dict[str, Any]) -> dict[str, Any]:
    """Return an assistant message as a harness returns it: without reasoning, and with trimmed text."""
    if message["role"] != "assistant":
        return message
    kept = {key: value for key, value in message.items() if key not in ("reasoning_content", "thinking")}
    return {**kept, "content": message["content"].strip()}


def try_to_add(rollout: Rollout, messages: list[dict[str, Any]]) -> bool:
    """Add messages. Return False if the template accepts none of them, not even in a rendered conversation."""
    try:
        rollout.add(messages)
    except (MessageError, TemplateError):
        return False
    return True


@pytest.mark.parametrize("name", MODELS)
def test_the_laws_hold_for_a_rollout_with_tools_forks_and_a_harness(name: str, tmp_path: Path) -> None:
    if name != str(EXAMPLE_MODEL):
        unpack_hub()
    chance = random.Random(name)
    renderer = create_renderer(load_tokenizer(name), thinking_retention=chance.choice([None, "all"]))
    tools = TOOLS if renderer.supports_tools else None
    sampler = ScriptedSampler(renderer, ())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rollout = Rollout(renderer, None, [user("What color is the sky?")], tools=tools)
        turns = 0
        for turn, following in TURNS:
            ids = sampled_ids(renderer, turn, tools)
            if ids is None:
                continue
            if chance.random() < 0.25:
                ids, following = ids[: chance.randrange(len(ids))], [user("Go on.")]
            sampled = rollout.record(record(sampler, ids))
            turns += 1
            if not try_to_add(rollout, following) and not try_to_add(rollout, [user("Go on.")]):
                break
            check_prompt(rollout, renderer, sampled, tools)
            if turns == 2:
                sync_texts_and_check(rollout, renderer)
                sync_and_check(rollout, renderer, tools)
        assert turns
        if rollout._position.turn is None:
            for fork in rollout.fork(2):
                fork.record(record(sampler, chance.choices(range(100, 200), k=5)))
        check_laws(rollout, sampler.completions)
        rollout.save(tmp_path / "rollout.jsonl")
    assert Rollout.load(tmp_path / "rollout.jsonl").rows() == rollout.rows()
    assert pickle.loads(pickle.dumps(rollout)).rows() == rollout.rows()


def record(sampler: ScriptedSampler, ids: list[int]) -> Any:
    sampler.completions.append(sampler.complete(ids))
    return sampler.completions[-1]


def sync_and_check(rollout: Rollout, renderer: Any, tools: Any) -> None:
    """Check that a harness that drops reasoning and trims text keeps the tokens."""
    before, turns, bridged = rollout.prompt_ids, rollout.turns, rollout._position.prompt.parent is not None
    harness = [harness_copy(message) for message in rollout.messages]
    added = rollout.sync(harness)
    assert added.is_bridged == bridged
    if bridged:
        assert rollout.prompt_ids == before
        assert rollout.turns == turns
    else:
        assert rollout.prompt_ids == renderer.render_ids(harness, tools=tools, add_generation_prompt=True)


def sync_texts_and_check(rollout: Rollout, renderer: Any) -> None:
    """Check that a harness that keeps the sampled texts, with reasoning and calls, keeps the tokens."""
    before, turns, bridged = rollout.prompt_ids, rollout.turns, rollout._position.prompt.parent is not None
    stops = renderer.get_stop_token_ids()
    texts = iter([renderer.tokenizer.decode([id_ for id_ in turn.token_ids if id_ not in stops]) for turn in turns])
    harness = [
        {"role": "assistant", "content": next(texts)} if message["role"] == "assistant" else message
        for message in rollout.messages
    ]
    added = rollout.sync(harness)
    assert (added.is_bridged, added.edited) == (bridged, None)
    if bridged:
        assert (rollout.prompt_ids, rollout.turns) == (before, turns)
