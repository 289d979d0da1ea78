"""The short form of the loading stress test; `make stress` runs the long one."""

from __future__ import annotations

from pathlib import Path

from tests.models import HUB_AT_HAND, unpack_hub
from tests.stress_loading import PROCESSES, THREADS, make_cases, stress


def test_every_load_gives_the_right_ids_or_our_error(tmp_path: Path) -> None:
    if HUB_AT_HAND:
        unpack_hub()
    cases = make_cases(tmp_path)
    counts = stress(cases, seconds=0)
    assert [outcome for outcome in counts if outcome.startswith("WRONG")] == []
    assert counts.total() - counts["rounds"] - counts["processes"] == counts["rounds"] * PROCESSES * THREADS
    for fault in {case.fault for case in cases}:
        assert any(outcome.endswith(f", {fault}") for outcome in counts), fault
