"""Environments are created once, and again if they are incomplete."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import environments
from tests.support.environments import find_environment


@pytest.fixture(autouse=True)
def created(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Create folders instead of environments, and return the list of those that were created."""
    homes: list[Path] = []

    def create(home: Path) -> str:
        home.mkdir(exist_ok=True)
        homes.append(home)
        return str(home / "bin" / "python")

    monkeypatch.setattr(environments, "create_environment", create)
    return homes


def test_an_environment_is_filled_once(tmp_path: Path, created: list[Path]) -> None:
    filled: list[str] = []
    pythons = {find_environment(tmp_path / "a", filled.append) for _ in range(3)}
    assert pythons == {str(tmp_path / "a" / "bin" / "python")} == set(filled)
    assert len(filled) == len(created) == 1


def test_an_environment_that_could_not_be_filled_is_created_again(tmp_path: Path, created: list[Path]) -> None:
    def fail(python: str) -> None:
        raise OSError("no network")

    with pytest.raises(OSError, match="no network"):
        find_environment(tmp_path / "a", fail)
    filled: list[str] = []
    find_environment(tmp_path / "a", filled.append)
    assert len(filled) == 1
    assert len(created) == 2
