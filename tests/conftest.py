"""Settings of all tests: an environment and a Hugging Face cache of their own.

Real models come from the folder in the variable `SHARED` (`../shared` by default): its `hub/unpack` lays them out
as a cache. Tests that need them are skipped with a reason if there is no such folder.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.models import CACHE, HUB_AT_HAND, hub_models, model_behind, unpack_hub

FOREIGN_SETTINGS = ("HF_", "HUGGINGFACE_", "HUGGING_FACE_", "TRANSFORMERS_", "TOKENIZERS_", "RENDERERS_")
"""Prefixes of environment variables that change the outcome of tests. They are removed."""

# Before anything imports huggingface_hub, which reads these once.
for variable in [name for name in os.environ if name.startswith(FOREIGN_SETTINGS)]:
    # The suite also runs without the compiled module.
    if variable != "RENDERERS_PURE_PYTHON":
        del os.environ[variable]
os.environ["HF_HOME"] = str(CACHE)
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
os.environ["RENDERERS_CACHED_TOKENIZERS"] = "8"  # tests load many models, in several processes
os.environ["RENDERERS_CACHE"] = "off"  # tests of the cache folder choose one
os.environ["RENDERERS_VERIFY"] = "1"  # every run of a template is compared with a plain one


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the tests of one real model one after the other, before all others, so that it is loaded once."""
    places = {name: at for at, name in enumerate(hub_models())}

    def place(item: pytest.Item) -> int:
        callspec = getattr(item, "callspec", None)
        models = [model_behind(value) for value in callspec.params.values()] if callspec else []
        return min((places[name] for name in models if name), default=len(places))

    items.sort(key=place)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the figures that tests have measured. The output of tests that pass is not shown."""
    for report in terminalreporter.getreports("passed"):
        for name, lines in report.user_properties:
            if name == "figures":
                terminalreporter.section(report.nodeid)
                terminalreporter.write_line(str(lines))


@pytest.fixture(scope="session")
def hub() -> Path:
    """Return the root of a Hugging Face cache with real models."""
    if not HUB_AT_HAND:
        pytest.skip("real models are not available (set SHARED)")
    return unpack_hub()
