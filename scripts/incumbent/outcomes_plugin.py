"""A pytest plugin that writes the outcome of every test to a JSON file.

    pytest -p outcomes_plugin --outcomes FILE --models MODEL,MODEL

Tests with a model as parameter run only if it is one of the available models. The file maps each test id to None if the
test passed, else to the outcome and the first line of its message. A module that cannot be collected has an entry too,
with its path as the id.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    parser.addoption("--outcomes", type=Path, required=True, help="the file to write")
    parser.addoption("--models", default="", help="the names of the available models, separated by commas")


def pytest_configure(config: pytest.Config) -> None:
    """Collect outcomes from now on."""
    config.pluginmanager.register(Recorder(config.getoption("--outcomes")))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect tests of models that are not available. Each of them would take long to fail."""
    available = config.getoption("--models").split(",")
    missing = [item for item in items if any(name not in available for name in _models(item))]
    config.hook.pytest_deselected(items=missing)
    items[:] = [item for item in items if item not in set(missing)]


def _models(item: pytest.Item) -> Iterator[str]:
    """Yield the names of models among the parameters of a test."""
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    for value in parameters.values():
        name = getattr(value, "model", value)
        if isinstance(name, str) and re.fullmatch(r"[\w-]+/[\w.-]+", name):
            yield name


class Recorder:
    """Collects the outcomes of a run, and writes them at its end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._outcomes: dict[str, str | None] = {}

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Record a module that fails or is skipped while it is collected."""
        if report.outcome != "passed":
            self._outcomes[report.nodeid] = f"{report.outcome}: {_first_line(report)}"

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record a phase of a test. A failed setup or teardown is a failed test."""
        if report.outcome != "passed":
            self._outcomes[report.nodeid] = f"{report.outcome}: {_first_line(report)}"
        else:
            self._outcomes.setdefault(report.nodeid, None)

    def pytest_sessionfinish(self) -> None:
        """Write the file."""
        self._path.write_text(json.dumps(self._outcomes, indent=0))


def _first_line(report: Any) -> str:
    if isinstance(report.longrepr, tuple):
        text = report.longrepr[2]
    else:
        crash = getattr(report.longrepr, "reprcrash", None)
        text = str(report.longrepr) if crash is None else crash.message
    lines = str(text).strip().splitlines()
    return lines[0][:300] if lines else ""
