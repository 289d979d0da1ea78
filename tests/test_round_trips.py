"""Turns that templates render are parsed back, or a reason says why not."""

from __future__ import annotations

import pytest

from tests.support.bridging import EACH_ONCE
from tests.support.round_trips import REASONS, evidence_of, misread_classes

SAMPLE = [name for name in EACH_ONCE if name in REASONS or EACH_ONCE.index(name) % 8 == 0]
"""Every eighth template, and all with a reason. The table of `make parse-table` has all."""


@pytest.mark.parametrize("name", SAMPLE)
def test_a_template_is_parsed_back_in_every_class_unless_there_is_a_reason(
    name: str, request: pytest.FixtureRequest
) -> None:
    request.getfixturevalue("hub")
    result = evidence_of(name)
    if result is None:
        pytest.skip("a model without a template")
    assert bool(misread_classes(result[1])) == (name in REASONS), misread_classes(result[1])
