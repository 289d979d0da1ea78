"""The short form of `tests.stress_rerender`; `make stress` runs the long one."""

from __future__ import annotations

import pytest

from renderers import EMBEDDED
from tests.stress_rerender import TEMPLATES, run
from tests.support.completions import HUB
from tests.support.sources import wrong_in


def test_a_bridge_of_a_made_up_template_has_the_ids_of_a_render() -> None:
    counts = run((TEMPLATES, 0, 160))
    assert wrong_in(counts) == []
    assert counts["equal"] > 50


def test_a_bridge_of_a_random_completion_claims_only_the_ids_of_a_render() -> None:
    counts = run((str(EMBEDDED), 0, 150))
    assert wrong_in(counts) == []
    assert counts["equal"] > 2
    assert counts["differs, not claimed"] > 20


@pytest.mark.parametrize("key", ["harmony", "hermes", "gemma", "kimi", "deepseek_v4"])
def test_a_bridge_of_a_real_model_claims_only_the_ids_of_a_render(key: str, hub: object) -> None:
    counts = run((HUB[key], 0, 60))
    assert wrong_in(counts) == []
