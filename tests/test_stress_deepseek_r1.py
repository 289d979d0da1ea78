"""The short form of the comparison of DeepSeek R1 with release 0.1; `make stress` runs the long one."""

from __future__ import annotations

import json

from tests.stress_deepseek_r1 import GOLDENS, digest_of_ids, ids_of


def test_ids_equal_the_recorded_ones_of_release_0_1(hub: object) -> None:
    jobs = [json.loads(line) for line in GOLDENS.read_text(encoding="utf-8").splitlines()]
    assert len(jobs) >= 50
    assert [job for job in jobs if digest_of_ids(ids_of(job)) != job["digest"]] == []
