"""Tests of `renderers.rollout.storage`."""

from __future__ import annotations

from pathlib import Path

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
