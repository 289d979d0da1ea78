"""The file of a vocabulary depends on its digest and on all versions."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

import renderers
from renderers.tokenizer.storage import container, store
from renderers.tokenizer.storage.store import find, key_of, save, save_or_raise


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache folder of a test."""
    monkeypatch.setenv("RENDERERS_CACHE", str(tmp_path))
    tmp_path.chmod(0o700)
    return tmp_path


def test_sections_are_found_by_digest(folder: Path) -> None:
    assert find("a") is None
    assert save("a", {"x": b"1"})
    found = find("a")
    assert found is not None
    assert bytes(found.section("x")) == b"1"
    assert find("b") is None
    assert save_or_raise("b", {"x": b"2"}).parent == folder


VERSIONS = [
    *((store, name) for name in ("RECORD_VERSION", "FORMAT", "NATIVE_VERSION")),
    (container, "VERSION"),
    (renderers, "__version__"),
]


@pytest.mark.parametrize(("module", "name"), VERSIONS)
def test_each_version_is_part_of_the_key(monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str) -> None:
    before = key_of("a")
    monkeypatch.setattr(module, name, "another")
    assert key_of("a") != before


def test_another_machine_has_another_key(monkeypatch: pytest.MonkeyPatch) -> None:
    before = key_of("a")
    monkeypatch.setattr(store, "machine", lambda: "another")
    assert key_of("a") != before


def test_a_file_under_the_name_of_another_is_not_used(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = save_or_raise("a", {"x": b"1"})
    path.rename(folder / (key_of("b") + path.suffix))
    with caplog.at_level("INFO", logger="renderers"):
        assert find("b") is None
    assert "another key" in caplog.text


def test_without_a_folder_nothing_is_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RENDERERS_CACHE", "off")
    assert not save("a", {})
    with pytest.raises(OSError, match="no cache folder"):
        save_or_raise("a", {})


def test_a_file_that_is_intact_is_not_replaced(folder: Path) -> None:
    assert save("digest", {"a": b"one"})
    (path,) = folder.iterdir()
    written = path.stat().st_ino
    assert save("digest", {"a": b"one"})
    assert path.stat().st_ino == written
    path.write_bytes(path.read_bytes().replace(b"one", b"two"))
    assert save("digest", {"a": b"one"})
    content = find("digest")
    assert content is not None
    assert bytes(content.section("a")) == b"one"
