"""A bridge computes `matches_rerender` on first access, and shows counts in place of ids."""

from __future__ import annotations

import pickle

import pytest

from renderers import Bridge, BridgeEvidence, RenderedTokens

EVIDENCE = (BridgeEvidence("a question", None),)


def test_the_comparison_with_a_render_is_computed_once_and_on_request() -> None:
    answers = [False, True]
    bridge = Bridge.checked_later(RenderedTokens(), EVIDENCE, matches=answers.pop)
    assert len(answers) == 2
    assert bridge.matches_rerender
    assert bridge.keeps
    assert answers == [False]
    with pytest.raises(AttributeError, match="'Bridge' object has no attribute 'colour'"):
        bridge.colour  # noqa: B018


def test_a_pickled_bridge_is_complete() -> None:
    bridge = Bridge.checked_later(RenderedTokens(token_ids=[1, 2]), EVIDENCE, matches=lambda: False)
    assert pickle.loads(pickle.dumps(bridge)) == Bridge(RenderedTokens(token_ids=[1, 2]), False, EVIDENCE)


def test_the_representation_has_counts_in_place_of_ids() -> None:
    bridge = Bridge(RenderedTokens(token_ids=[7] * 500), True, EVIDENCE)
    assert repr(bridge) == "Bridge(<500 tokens>, matches_rerender=True, evidence=<1 histories>)"
