"""The short forms of the stress tests; `make stress` runs the long ones."""

from __future__ import annotations

from pathlib import Path

from renderers import EMBEDDED
from tests import stress_parsing
from tests.stress_loading import PROCESSES, THREADS, make_cases, stress
from tests.support.models import HUB_AT_HAND, unpack_hub


def test_every_load_gives_the_right_ids_or_a_load_error(tmp_path: Path) -> None:
    if HUB_AT_HAND:
        unpack_hub()
    cases = make_cases(tmp_path)
    counts = stress(cases, seconds=0)
    assert [outcome for outcome in counts if outcome.startswith("WRONG")] == []
    assert counts.total() - counts["rounds"] - counts["processes"] == counts["rounds"] * PROCESSES * THREADS
    for fault in {case.fault for case in cases}:
        assert any(outcome.endswith(f", {fault}") for outcome in counts), fault


def test_every_completion_is_parsed_and_accounted_for() -> None:
    by_model = stress_parsing.stress(12_000, models=[str(EMBEDDED)], processes=2)
    (counts,) = by_model.values()
    assert [outcome for outcome in counts if outcome.startswith("WRONG")] == []
    assert counts["completions"] == 12_000
    assert counts["with calls"] > 1_000
    assert {"ok", "invalid_json", "missing_name", "unclosed_block"} <= counts.keys()
