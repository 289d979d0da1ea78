"""Losses and policies: their texts, and the forms in which a policy can be passed."""

from __future__ import annotations

import pickle
from typing import Any, get_args

import pytest

from renderers.core.losses import DEFAULT_LOSS_POLICY, Loss, LossKind, LossPolicy


@pytest.mark.parametrize(
    ("loss", "text"),
    [
        (Loss("message", 1, (), "all"), "message 1 is not written"),
        (Loss("tools", None, ("tools",), "all"), "tools is not written"),
        (Loss("content", 0, ("content", 2), "some"), "message 0: content.2 is only written in part"),
    ],
)
def test_a_loss_has_a_text(loss: Loss, text: str) -> None:
    assert str(loss) == text
    assert pickle.loads(pickle.dumps(loss)) == loss


def test_a_policy_has_an_action_for_every_kind() -> None:
    actions = {kind: DEFAULT_LOSS_POLICY[kind] for kind in get_args(LossKind)}
    assert actions.pop("message") == "error"
    assert actions.pop("reasoning") == "ignore"
    assert set(actions.values()) == {"warn"}


def test_one_action_is_for_all_kinds_and_a_mapping_for_some() -> None:
    strict = LossPolicy.of("error")
    assert {strict[kind] for kind in get_args(LossKind)} == {"error"}
    assert LossPolicy.of({"name": "ignore"}) == LossPolicy(name="ignore")
    assert LossPolicy.of({"default": "warn", "tools": "error"}) == LossPolicy.of(
        {**dict.fromkeys(get_args(LossKind), "warn"), "tools": "error"}
    )
    assert LossPolicy.of(strict) is strict
    assert LossPolicy.of(None) == DEFAULT_LOSS_POLICY


@pytest.mark.parametrize("value", ["loud", {"mesage": "warn"}, {"default": 1}, {"name": None}, 3, ["error"]])
def test_an_unknown_kind_or_action_is_an_error(value: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="on_loss"):
        LossPolicy.of(value)
