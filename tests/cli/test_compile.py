"""`renderers compile` writes compiled vocabularies to the cache folder."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

import pytest

from renderers.cli import main
from renderers.core.native import COMPILED

pytestmark = pytest.mark.skipif(not COMPILED, reason="the C extension was not built")


def test_compile_writes_a_file_and_prints_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RENDERERS_CACHE", str(tmp_path / "cache"))
    assert main(["compile", "example", "example"]) == 0
    (path,) = (tmp_path / "cache").iterdir()
    size = f"{path.stat().st_size / 1e6:.1f} MB"
    assert capsys.readouterr().out.splitlines() == [f"example: {path} ({size})"] * 2


def test_compile_without_a_cache_folder_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", "example"]) == 1
    fault = "there is no cache folder, because RENDERERS_CACHE=off switches it off. Set RENDERERS_CACHE to a folder"
    assert capsys.readouterr().err == f"renderers: {fault}\n"


def test_compile_names_the_fault_of_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("RENDERERS_CACHE", str(tmp_path / "file"))
    assert main(["compile", "example"]) == 1
    fault = f"the cache folder {tmp_path / 'file'} cannot be written to: {os.strerror(errno.EEXIST)}"
    assert capsys.readouterr().err == f"renderers: {fault}. Set RENDERERS_CACHE to another folder\n"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
def test_compile_does_not_write_to_a_folder_of_all_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tmp_path.chmod(0o777)
    monkeypatch.setenv("RENDERERS_CACHE", str(tmp_path))
    assert main(["compile", "example"]) == 1
    assert f"{tmp_path} cannot be written to: other users can write to it" in capsys.readouterr().err
