"""The cache folder: no failure of the file system reaches a caller, and other users are not trusted."""

from __future__ import annotations

import errno
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from renderers.tokenizer.storage import folder as module
from renderers.tokenizer.storage.folder import cache_folder, map_file, write_file

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="owners and permissions of POSIX")
ROOT = pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="needs root to change the owner")
SECONDS = 60


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache folder of a test, which does not exist yet."""
    chosen = tmp_path / "cache"
    monkeypatch.setenv("RENDERERS_CACHE", str(chosen))
    monkeypatch.setattr(module, "_logged", set())
    return chosen


def content_of(name: str) -> bytes | None:
    mapped = map_file(name)
    return None if mapped is None else mapped[:]


def test_a_written_file_is_read_by_its_name(folder: Path) -> None:
    assert content_of("a") is None
    assert write_file("a", [b"one", b"", b" two"])
    assert content_of("a") == b"one two"
    assert content_of("b") is None
    assert [path.name for path in folder.iterdir()] == ["a.vocabulary"]


def test_a_file_is_replaced_as_a_whole_and_the_old_one_stays_mapped() -> None:
    write_file("a", [b"old"])
    old = map_file("a")
    write_file("a", [b"newer"])
    assert old is not None
    assert (old[:], content_of("a")) == (b"old", b"newer")


def test_a_file_that_is_deleted_stays_mapped(folder: Path) -> None:
    write_file("a", [b"content"])
    mapped = map_file("a")
    (folder / "a.vocabulary").unlink()
    assert mapped is not None
    assert mapped[:] == b"content"


def test_the_folder_is_chosen_by_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RENDERERS_CACHE", "off")
    assert cache_folder() is None
    assert not write_file("a", [b"content"])
    monkeypatch.setenv("RENDERERS_CACHE", "relative")
    assert cache_folder() == Path.cwd() / "relative"
    monkeypatch.delenv("RENDERERS_CACHE")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "renderers"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")
    assert cache_folder() == tmp_path / "home" / ".cache" / "renderers"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert cache_folder() == tmp_path / "home" / "Library" / "Caches" / "renderers"
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    assert cache_folder() == tmp_path / "home" / "AppData" / "Local" / "renderers"
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert cache_folder() == tmp_path / "local" / "renderers"


def test_without_a_home_directory_there_is_no_folder(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("RENDERERS_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    with caplog.at_level(logging.INFO, logger="renderers"):
        assert cache_folder() is None
        assert map_file("a") is None
        assert not write_file("a", [b"content"])
    assert len(caplog.records) == 1


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS])
def test_a_write_that_fails_leaves_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, number: int
) -> None:
    write_file("a", [b"old"])
    real = module._write_new

    def full(path: Path, parts: Any) -> None:
        real(path, parts[:1])
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(module, "_write_new", full)
    with caplog.at_level(logging.INFO, logger="renderers"):
        assert not write_file("a", [b"new", b" content"])
        assert not write_file("a", [b"new", b" content"])
    assert os.strerror(number) in caplog.text
    assert len(caplog.records) == 1
    assert content_of("a") == b"old"
    assert os.listdir(folder) == ["a.vocabulary"]


@POSIX
def test_a_full_device_is_no_error(folder: Path) -> None:
    """The limit for the size of files has the effect of a full disk."""
    code = """
import os, resource, signal
from renderers.tokenizer.storage.folder import map_file, write_file
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
print(write_file("a", [bytes(700), bytes(700)]), map_file("a"), os.listdir(os.environ["RENDERERS_CACHE"]))
"""
    assert run(code) == "False None []"


def run(code: str) -> str:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=SECONDS).stdout.strip()


def test_a_folder_that_cannot_be_made_or_read_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("RENDERERS_CACHE", str(tmp_path / "file" / "cache"))
    with caplog.at_level(logging.INFO, logger="renderers"):
        assert not write_file("a", [b"content"])
        assert map_file("a") is None
    assert f"{tmp_path / 'file' / 'cache'} cannot be written to: " in caplog.text


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root can write to any folder")
def test_a_read_only_folder_is_read_and_not_written(folder: Path) -> None:
    write_file("a", [b"content"])
    folder.chmod(0o500)
    try:
        assert content_of("a") == b"content"
        assert not write_file("b", [b"content"])
    finally:
        folder.chmod(0o700)


def test_an_empty_file_a_directory_and_a_link_are_not_used(folder: Path, tmp_path: Path) -> None:
    folder.mkdir(0o700)
    (folder / "empty.vocabulary").touch()
    (folder / "folder.vocabulary").mkdir()
    (tmp_path / "elsewhere").write_bytes(b"content")
    names = ["empty", "folder"]
    if hasattr(os, "O_NOFOLLOW"):
        (folder / "link.vocabulary").symlink_to(tmp_path / "elsewhere")
        names.append("link")
    if hasattr(os, "mkfifo"):
        # Opening a pipe must not wait for a writer.
        os.mkfifo(folder / "pipe.vocabulary")
        names.append("pipe")
    assert [map_file(name) for name in names] == [None] * len(names)


@POSIX
@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o1777])
def test_a_folder_that_others_can_write_to_is_not_used(
    folder: Path, mode: int, caplog: pytest.LogCaptureFixture
) -> None:
    write_file("a", [b"content"])
    folder.chmod(mode)
    with caplog.at_level(logging.INFO, logger="renderers"):
        assert map_file("a") is None
        assert not write_file("b", [b"content"])
    assert "other users can write to it" in caplog.text


@POSIX
def test_files_and_folders_are_never_writable_for_others(folder: Path) -> None:
    before = os.umask(0)
    try:
        write_file("a", [b"content"])
    finally:
        os.umask(before)
    assert folder.stat().st_mode & 0o777 == 0o755
    assert (folder / "a.vocabulary").stat().st_mode & 0o022 == 0
    (folder / "a.vocabulary").chmod(0o666)
    assert map_file("a") is None


@ROOT
def test_a_file_or_a_folder_of_another_user_is_not_used(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_file("a", [b"content"])
    os.chown(folder / "a.vocabulary", 65534, 65534)
    with caplog.at_level(logging.INFO, logger="renderers"):
        assert map_file("a") is None
    assert "it belongs to another user" in caplog.text
    os.chown(folder / "a.vocabulary", 0, 0)
    assert content_of("a") == b"content"
    os.chown(folder, 65534, 65534)
    assert map_file("a") is None
    assert not write_file("b", [b"content"])


@POSIX
def test_a_file_of_root_is_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_file("a", [b"content"])
    if os.geteuid() == 0:
        monkeypatch.setattr(os, "geteuid", lambda: 1000)
        assert content_of("a") == b"content"


def test_files_that_were_not_used_for_longest_are_removed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 250)
    for age, letter in enumerate("abcd"):
        write_file(64 * letter, [bytes(100)])
        os.utime(folder / f"{64 * letter}.vocabulary", (0, 1e9 - age))
    assert f"{64 * 'd'}.vocabulary" in os.listdir(folder)
    assert f"{64 * 'b'}.vocabulary" not in os.listdir(folder)
    (folder / "notes.vocabulary").touch()
    write_file(64 * "e", [bytes(1000)])
    assert sorted(os.listdir(folder)) == [f"{64 * 'e'}.vocabulary", "notes.vocabulary"]


def test_the_use_of_a_file_is_recorded(folder: Path) -> None:
    write_file("a", [b"content"])
    path = folder / "a.vocabulary"
    os.utime(path, (1e9, 1e9))
    assert map_file("a") is not None
    assert path.stat().st_mtime > time.time() - 1000


def test_temporary_files_of_stopped_processes_are_removed_after_a_while(folder: Path) -> None:
    folder.mkdir(0o700)
    old, new = (folder / f".{64 * 'a'}.{process}.00c0ffee.tmp" for process in (1, 2))
    foreign = folder / "results.tmp"
    for path in (old, new, foreign):
        path.touch()
    for path in (old, foreign):
        os.utime(path, (1e9, 1e9))
    write_file("a", [b"content"])
    assert sorted(os.listdir(folder)) == sorted([new.name, foreign.name, "a.vocabulary"])


WRITER = """
import sys
from renderers.tokenizer.storage.folder import map_file, write_file
content = sys.argv[1].encode() * 200_000
print("started", flush=True)
for number in range(int(sys.argv[2])):
    assert write_file("a", [content[:100_000], content[100_000:]])
    mapped = map_file("a")
    assert mapped is not None and len(set(mapped[:])) == 1 and len(mapped) == len(content)
"""


def writer(letter: str, rounds: int) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", WRITER, letter, str(rounds)], stdout=subprocess.PIPE, text=True)


@pytest.mark.skipif(sys.platform == "win32", reason="a mapped file cannot be replaced")
def test_processes_that_write_at_once_do_not_disturb_each_other(folder: Path) -> None:
    processes = [writer(letter, 30) for letter in "ab"]
    assert [process.wait(SECONDS) for process in processes] == [0, 0]
    assert os.listdir(folder) == ["a.vocabulary"]
    for process in processes:
        assert process.stdout is not None
        process.stdout.close()


@pytest.mark.skipif(sys.platform == "win32", reason="a mapped file cannot be replaced")
def test_threads_that_write_at_once_do_not_disturb_each_other(folder: Path) -> None:
    written: list[bool] = []

    def write(letter: bytes) -> None:
        written.extend(write_file("a", [letter * 100_000]) for _ in range(20))

    threads = [threading.Thread(target=write, args=[letter]) for letter in (b"a", b"b", b"c")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    assert written == [True] * 60
    content = content_of("a")
    assert content is not None
    assert len(set(content)) == 1
    assert os.listdir(folder) == ["a.vocabulary"]


@POSIX
def test_a_process_that_is_killed_while_writing_leaves_the_old_file_or_the_new_one(folder: Path) -> None:
    for delay in (0.0, 0.001, 0.003, 0.01, 0.02):
        with writer("a", 10_000) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "started\n"
            time.sleep(delay)
            process.send_signal(signal.SIGKILL)
            process.wait(SECONDS)
        content = content_of("a")
        assert content is None or content == b"a" * 200_000
