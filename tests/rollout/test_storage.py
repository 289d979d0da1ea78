"""Tests of `renderers.rollout.storage`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from renderers import EXAMPLE_MODEL, create_renderer
from renderers.errors import RolloutFileError
from renderers.rollout import Rollout, load_rollouts, save_rollouts
from tests.support.conversations import user
from tests.support.scripted_sampler import ScriptedSampler, encode


def test_several_rollouts_are_saved_to_one_file(tmp_path: Path) -> None:
    renderer = create_renderer(EXAMPLE_MODEL)
    rollouts = []
    for text in ("A<|end|>", "B<|end|>"):
        rollout = Rollout(renderer, None, [user("Hi")])
        rollout.record(ScriptedSampler(renderer, ()).complete(encode(renderer, text)))
        rollouts.append(rollout)
    path = tmp_path / "rollouts.jsonl"
    save_rollouts(rollouts, path)
    assert [rollout.rows() for rollout in load_rollouts(path)] == [rollout.rows() for rollout in rollouts]
    [first, _] = load_rollouts(path, renderer)
    assert first.add([user("And?")]).is_bridged
    with pytest.raises(RolloutFileError, match="has 2 rollouts: use load_rollouts"):
        Rollout.load(path)


def test_an_empty_file_has_no_rollout(tmp_path: Path) -> None:
    path = tmp_path / "rollouts.jsonl"
    save_rollouts([], path)
    assert load_rollouts(path) == []
    with pytest.raises(RolloutFileError, match=r"rollouts\.jsonl is empty: it has no rollout"):
        Rollout.load(path)


def test_another_object_than_a_renderer_is_not_reported_as_a_damaged_file(tmp_path: Path) -> None:
    renderer: Any = "Qwen/Qwen3-8B"
    path = tmp_path / "rollout.jsonl"
    Rollout(create_renderer(EXAMPLE_MODEL), None, [user("Hi")]).save(path)
    for load in (Rollout.load, load_rollouts):
        with pytest.raises(TypeError, match="renderer must be the result of create_renderer, not a str"):
            load(path, renderer)


def test_what_cannot_be_saved_leaves_no_file(tmp_path: Path) -> None:
    rollout = Rollout(create_renderer(EXAMPLE_MODEL), None, [user("Hi")])
    for rollouts in (rollout, [rollout, 5], None):
        given: Any = rollouts
        with pytest.raises(TypeError, match="rollouts must be a list of rollouts"):
            save_rollouts(given, tmp_path / "rollouts.jsonl")
    assert list(tmp_path.iterdir()) == []
