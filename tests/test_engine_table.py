"""The table of the tests against real engines."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from scripts.engine_table import Results


def report(
    name: str, outcome: Literal["passed", "failed", "skipped"], *facts: tuple[str, Any], when: Any = "call"
) -> pytest.TestReport:
    node = f"tests/engine/test_generate.py::{name}"
    return pytest.TestReport(node, ("", 0, ""), {}, outcome, None, when, user_properties=facts)


def test_results_are_rows_by_test_and_columns_by_version() -> None:
    results = Results()
    for each in (
        report("test_ids_are_kept[0.31.0-AsyncOpenAI]", "passed", when="setup"),
        report("test_ids_are_kept[0.31.0-AsyncOpenAI]", "passed", ("turns", 1234), ("tokens", 5)),
        report("test_ids_are_kept[0.32.0-AsyncOpenAI]", "failed"),
        report("test_an_error_is_reported[0.32.0]", "failed", when="setup"),
        report("test_requests_are_accepted", "passed"),
    ):
        results.pytest_runtest_logreport(each)
    assert results.table() == [
        "| test | vLLM 0.31.0 | vLLM 0.32.0 | other engines |",
        "|---|---|---|---|",
        "| ids are kept (AsyncOpenAI) | 1,234 turns, 5 tokens | FAILED |  |",
        "| an error is reported |  | FAILED |  |",
        "| requests are accepted |  |  | passed |",
    ]
