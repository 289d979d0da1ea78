"""Files are told apart, read as one set, and never taken for missing when they are only out of reach."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from renderers.errors import TokenizerFileError
from renderers.tokenizer.loading.files import FilesChangedError, TokenizerFiles, file_identity


def files_in(directory: Path, *names: str) -> TokenizerFiles:
    paths = {name: directory / name for name in names}
    return TokenizerFiles(
        name="org/model", location=str(directory), commit=None, vocabulary=names[0], paths=paths, missing={}
    )


def test_reading_gives_every_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1")
    (tmp_path / "b").write_bytes(b"")
    files = files_in(tmp_path, "a", "b")
    assert files.read(as_of=files.identity()) == {"a": b"1", "b": b""}


def test_a_file_that_changes_between_look_and_read_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1")
    files = files_in(tmp_path, "a")
    seen = files.identity()
    (tmp_path / "a").write_bytes(b"12")
    with pytest.raises(FilesChangedError):
        files.read(as_of=seen)


def test_a_file_that_is_replaced_by_one_of_equal_size_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1")
    (tmp_path / "new").write_bytes(b"2")
    files = files_in(tmp_path, "a")
    seen = files.identity()
    (tmp_path / "new").replace(tmp_path / "a")
    with pytest.raises(FilesChangedError):
        files.read(as_of=seen)


def test_a_change_is_noticed_though_the_time_of_modification_was_set_back(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1")
    files = files_in(tmp_path, "a")
    seen, times = files.identity(), (tmp_path / "a").stat()
    (tmp_path / "a").write_bytes(b"2")
    os.utime(tmp_path / "a", ns=(times.st_atime_ns, times.st_mtime_ns))
    with pytest.raises(FilesChangedError):
        files.read(as_of=seen)


def test_a_file_that_vanishes_is_a_change(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1")
    files = files_in(tmp_path, "a")
    seen = files.identity()
    (tmp_path / "a").unlink()
    with pytest.raises(FilesChangedError):
        files.identity()
    with pytest.raises(FilesChangedError):
        files.read(as_of=seen)


def test_a_missing_file_has_no_identity(tmp_path: Path) -> None:
    assert file_identity(tmp_path / "nothing") is None


def test_a_dangling_link_is_an_error_not_a_missing_file(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(TokenizerFileError, match=r"link is a link to .*nowhere"):
        file_identity(tmp_path / "link")


def test_a_folder_is_not_a_file(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").mkdir()
    with pytest.raises(TokenizerFileError, match="not a regular file"):
        file_identity(tmp_path / "tokenizer.json")


@pytest.mark.parametrize("call", ["stat", "read_bytes"])
def test_a_file_that_may_not_be_read_is_an_error_that_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    (tmp_path / "a").write_bytes(b"1")
    files = files_in(tmp_path, "a")
    seen = files.identity()

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("os.stat" if call == "stat" else "pathlib.Path.read_bytes", refuse)
    with pytest.raises(TokenizerFileError, match=r"a cannot be read \(Permission denied\)"):
        files.read(as_of=seen)
