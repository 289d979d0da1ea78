"""The short form of the comparison of Kimi K3 with vLLM's renderer; `make stress` runs the long one."""

from __future__ import annotations

import json

from renderers.core.text import digest_of
from tests.stress_kimi_k3 import GOLDENS, text_of


def test_texts_equal_the_recorded_ones_of_the_reference(hub: object) -> None:
    jobs = [json.loads(line) for line in GOLDENS.read_text(encoding="utf-8").splitlines()]
    assert len(jobs) >= 50
    assert [job for job in jobs if digest_of(text_of(job)) != job["digest"]] == []


def test_the_sample_has_results_in_another_order_than_the_calls() -> None:
    orders = set()
    for line in GOLDENS.read_text(encoding="utf-8").splitlines():
        messages = json.loads(line)["messages"]
        ids = [call["id"] for message in messages for call in message.get("tool_calls", ())]
        results = [message["tool_call_id"] for message in messages if message["role"] == "tool"]
        orders.add(ids == results)
    assert orders == {True, False}
