"""The version of `tokenizers` and the machine are found without long imports."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest
import tokenizers

from renderers.tokenizer.storage import versions
from renderers.tokenizer.storage.versions import machine, tokenizers_version


def test_the_version_is_that_of_the_package() -> None:
    assert tokenizers_version() == tokenizers.__version__
    code = "import sys; from renderers.tokenizer.storage.versions import tokenizers_version as version; version()"
    command = [sys.executable, "-c", code + "; print('tokenizers' in sys.modules)"]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == "False\n"


@pytest.mark.parametrize("recorded", [[], ["0.1.0", "0.2.0"]])
def test_if_the_metadata_do_not_decide_the_package_does(monkeypatch: pytest.MonkeyPatch, recorded: list[str]) -> None:
    monkeypatch.setattr(versions, "_recorded_versions", lambda: recorded)
    versions._installed_version.cache_clear()
    try:
        assert versions._installed_version() == tokenizers.__version__
    finally:
        versions._installed_version.cache_clear()


def test_the_version_of_the_imported_package_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "_installed_version", lambda: "9.9.9")
    assert tokenizers_version() == tokenizers.__version__


def test_the_machine_is_that_of_the_standard_library() -> None:
    assert machine() == platform.machine()
