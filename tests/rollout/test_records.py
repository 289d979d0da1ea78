"""Tests of `renderers.rollout.records`."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from renderers import EXAMPLE_MODEL, ChatRenderer, create_renderer
from renderers.client.completion import Completion, WeightVersion
from renderers.errors import MessageError
from renderers.rollout import Rollout
from renderers.rollout.recorded import RecordedRollout
from renderers.rollout.records import FORMAT, VERSION, from_record, to_record
from tests.support.conversations import TOOLS, user
from tests.support.scripted_sampler import ScriptedSampler, encode

TEXTS = (
    '<|think|>I look.<|/think|>Yes.<|call|>{"name": "search", "arguments": {"query": "sky"}}<|/call|><|end|>',
    '<|call|>{"name": "search", "arguments": {"query": <|/call|><|end|>after',
    "<|think|>Open<|end|>",
    "cut",
)


@pytest.fixture(scope="module")
def renderer() -> ChatRenderer:
    return create_renderer(EXAMPLE_MODEL)


def rollout_of(renderer: ChatRenderer, *texts: str, **changes: Any) -> Rollout:
    rollout = Rollout(renderer, None, [user("Größe? 🙂")], tools=TOOLS, max_total_tokens=5000)
    sampler = ScriptedSampler(renderer, ())
    for text in texts:
        completion = dataclasses.replace(sampler.complete(encode(renderer, text)), **changes)
        rollout.record(completion)
        rollout.add([user("And?")])
    return rollout


def restored(rollout: RecordedRollout) -> RecordedRollout:
    return from_record(json.loads(json.dumps(to_record(rollout))), RecordedRollout)


@pytest.mark.parametrize("text", TEXTS)
def test_a_turn_survives_as_it_is(renderer: ChatRenderer, text: str) -> None:
    rollout = rollout_of(renderer, text)
    [turn], [read] = rollout._trajectory.turns, restored(rollout)._trajectory.turns
    assert read == turn
    # Comparisons ignore the texts of calls, and enums are equal to their values.
    assert repr(read) == repr(turn)
    assert [call.text for call in read.parsed.tool_calls] == [call.text for call in turn.parsed.tool_calls]


def test_all_fields_of_a_completion_survive(renderer: ChatRenderer) -> None:
    full: dict[str, Any] = {
        "stop_reason": 7,
        "request_id": "r",
        "usage": {"prompt_tokens": 3},
        "weight_versions": (WeightVersion("1", 0, 2), WeightVersion("2", 2, 3)),
        "top_ids": [[1, 2]],
        "top_logprobs": [[-0.5, -1.0]],
        "routed_experts": [[[1, 2], [3, 4]]],
        "sampling_mask": {"shape": [1]},
        "extras": {"a": [None, True, 0.1]},
    }
    fields = {field.name for field in dataclasses.fields(Completion)}
    assert {*full, "token_ids", "logprobs", "finish_reason", "prompt_ids"} == fields
    rollout = rollout_of(renderer, TEXTS[0], **full)
    assert restored(rollout)._trajectory.turns == rollout._trajectory.turns


def test_forks_positions_and_values_survive(renderer: ChatRenderer) -> None:
    rollout = rollout_of(renderer, TEXTS[0], TEXTS[2])
    sampler = ScriptedSampler(renderer, ())
    first, second = rollout.fork(2)
    [third] = first.fork(1)
    third.record(sampler.complete(encode(renderer, "A<|end|>")))
    third.reward, third.advantage, third.extras = 1.0, -0.5, {"x": None}
    read = restored(rollout)
    for ours, theirs in zip(rollout.self_and_forks(), read.self_and_forks(), strict=True):
        for name in ("reward", "advantage", "extras", "_position", "_lineage", "_base", "_stopped", "_options"):
            assert getattr(theirs, name) == getattr(ours, name), name
    assert read._trajectory == rollout._trajectory
    assert read.branches == rollout.branches
    assert [fork.number for fork in read.forks] == [first.number, second.number]


def test_turns_of_one_prompt_share_it_in_the_record(renderer: ChatRenderer) -> None:
    rollout = Rollout(renderer, None, [user("Hi")])
    for fork in rollout.fork(3):
        fork.record(ScriptedSampler(renderer, ()).complete(encode(renderer, "A<|end|>")))
    record = to_record(rollout)
    assert len(record["prompts"]) == 1
    turns = restored(rollout)._trajectory.turns
    assert turns[0].prompt is turns[2].prompt


def test_a_long_conversation_that_is_not_yet_rendered_survives(renderer: ChatRenderer) -> None:
    rollout = Rollout(renderer, None, [user("word " * 25_000)])
    assert restored(rollout)._position == rollout._position
    assert restored(rollout)._position.prompt_ids is None


def test_a_record_has_its_format_and_version(renderer: ChatRenderer) -> None:
    record = to_record(rollout_of(renderer))
    assert (record["format"], record["version"]) == (FORMAT, VERSION)


@pytest.mark.parametrize(
    ("extras", "text"),
    [({"x": object()}, r"extras\['x'\]|extras.x"), ({"x": {3: 4}}, "the key 3"), ({"x": {1, 2}}, "extras")],
)
def test_values_that_are_not_json_data_are_an_error(renderer: ChatRenderer, extras: dict[str, Any], text: str) -> None:
    rollout = rollout_of(renderer)
    rollout.extras = extras
    with pytest.raises(ValueError, match=f"the rollout cannot be saved: .*({text})") as caught:
        to_record(rollout)
    assert not isinstance(caught.value, MessageError)


@pytest.mark.parametrize("name", ["prompts", "turns", "rollouts", "options", "starts"])
def test_a_record_without_a_part_is_damaged(renderer: ChatRenderer, name: str) -> None:
    record = json.loads(json.dumps(to_record(rollout_of(renderer, TEXTS[0]))))
    del record[name]
    with pytest.raises(TypeError, match=f"{name} is missing"):
        from_record(record, RecordedRollout)


def test_a_turn_with_too_few_logprobs_is_damaged(renderer: ChatRenderer) -> None:
    record = json.loads(json.dumps(to_record(rollout_of(renderer, TEXTS[0]))))
    record["turns"][0]["completion"]["logprobs"].pop()
    with pytest.raises(ValueError, match=r"turn 0: completion token count \(\d+\) does not match logprob count"):
        from_record(record, RecordedRollout)
