"""A switch that controls reasoning in the history is found by probing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from renderers import EXAMPLE_MODEL, create_renderer
from renderers.core.probe_words import PROBE_EARLIER_REASONING
from renderers.families import FAMILIES
from renderers.retention import find_contradiction, retention_of
from tests.support.models import HUB_AT_HAND, snapshot_of


def write(messages: list[dict[str, Any]], switches: Mapping[str, Any]) -> str | None:
    """Imitate a template that keeps reasoning with `keep`, and fails with `broken`."""
    if switches.get("broken"):
        return None
    return PROBE_EARLIER_REASONING if switches.get("keep") else ""


@pytest.mark.parametrize(
    ("switches", "retention", "wrong"),
    [
        ({"keep": True}, "tool_cycle", True),
        ({"keep": False}, "all", True),
        ({"keep": True}, "all", False),
        ({"keep": False}, "tool_cycle", False),
        ({"keep": True}, None, False),
        ({"other": True}, "all", False),
        ({"keep": "yes"}, "tool_cycle", False),
        ({"broken": True}, "all", False),
    ],
)
def test_only_an_effective_switch_can_contradict_the_retention(
    switches: dict[str, Any], retention: Any, wrong: bool
) -> None:
    contradiction = find_contradiction(write, switches, retention)
    assert (contradiction is not None) == wrong
    assert contradiction is None or "keep" in contradiction


@pytest.mark.parametrize(("family", "retention"), [("deepseek-v3", "all"), ("deepseek-r1", None)])
def test_a_family_without_switches_has_one_retention(family: str, retention: str | None) -> None:
    assert retention_of(FAMILIES[family], {}, silent=False) == retention


@pytest.mark.parametrize(
    ("switches", "retention"),
    [
        ({}, "all"),
        ({"thinking": True}, None),
        ({"enable_thinking": True}, None),
        ({"enable_thinking": False}, "all"),
        ({"enable_thinking": True, "thinking": False}, "all"),
        ({"enable_thinking": False, "thinking": True}, None),
    ],
)
def test_two_names_of_one_switch_are_one_rule(switches: dict[str, bool], retention: str | None) -> None:
    assert retention_of(FAMILIES["deepseek-v3.2"], switches, silent=False) == retention


@pytest.mark.parametrize(("chosen", "effective"), [(None, "template"), ("tool_cycle", "tool_cycle"), ("all", "all")])
def test_a_renderer_names_the_retention_of_its_bridges(chosen: Any, effective: str) -> None:
    renderer = create_renderer(EXAMPLE_MODEL, thinking_retention=chosen)

    assert renderer.effective_thinking_retention == effective


@pytest.mark.skipif(not HUB_AT_HAND, reason="needs a real model")
def test_switches_decide_the_retention_of_a_family() -> None:
    model = snapshot_of("Qwen/Qwen3-8B")

    assert create_renderer(model).effective_thinking_retention == "template"
    silent = create_renderer(model, chat_template_kwargs={"enable_thinking": False})
    assert silent.effective_thinking_retention == "all"
