"""The cache folder: where it is, which files in it are trusted, and writing to it.

Any failure is logged and means that there is no file. Only `write_or_raise` raises an `OSError`.
"""

from __future__ import annotations

import contextlib
import logging
import mmap
import os
import re
import stat
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

logger = logging.getLogger(__name__)

VARIABLE = "RENDERERS_CACHE"
OFF = "off"
"""The value of the variable without a cache folder."""
SUFFIX = ".vocabulary"
MAX_BYTES = 2 * 2**30
"""The files that were used last are kept up to this size."""
_TEMPORARY = ".tmp"
_NAME = re.compile(r"[0-9a-f]{64}\.vocabulary")
_TEMPORARY_NAME = re.compile(r"\.[0-9a-f]{64}\.\d+\.[0-9a-f]{8}\.tmp")
"""The names of files of this package. No others are removed: the folder may be one of the user's."""
_ABANDONED_SECONDS = 3600
"""The age after which a temporary file is removed: its process was stopped."""
_USED_SECONDS = 86_400
"""The time of the last use is recorded once in this time."""
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_logged: set[str] = set()


class UntrustedFileError(OSError):
    """Other users can write to a file or a folder."""


def cache_folder() -> Path | None:
    """Return the cache folder, which may not exist; None if it is switched off, or there is no home directory."""
    setting = os.environ.get(VARIABLE, "")
    if setting:
        return None if setting == OFF else Path(os.path.abspath(os.path.expanduser(setting)))
    try:
        return _user_cache() / "renderers"
    except RuntimeError as error:
        _log_once(f"there is no cache folder: {error}")
        return None


def _user_cache() -> Path:
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA", "")
        return Path(local) if os.path.isabs(local) else Path.home() / "AppData" / "Local"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    # A relative path is invalid, as the specification of the variable requires.
    chosen = os.environ.get("XDG_CACHE_HOME", "")
    return Path(chosen) if os.path.isabs(chosen) else Path.home() / ".cache"


def map_file(name: str) -> mmap.mmap | None:
    """Map a file of the cache folder into memory; None if there is none, or another user could have written it."""
    folder = cache_folder()
    if folder is None:
        return None
    path = path_of(folder, name)
    try:
        _check_owner(os.stat(folder))
        with _opened(path) as file:
            status = os.fstat(file)
            if not stat.S_ISREG(status.st_mode):
                raise UntrustedFileError("it is not a regular file")
            _check_owner(status)
            mapped = mmap.mmap(file, 0, access=mmap.ACCESS_READ)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        _log_once(f"{path} is not used: {error}")
        return None
    _record_use(path, status)
    return mapped


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int]:
    # Not a link, and without waiting for the other end of a pipe. Windows has neither flag, and needs another one.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    file = os.open(path, flags)
    try:
        yield file
    finally:
        os.close(file)


def _check_owner(status: os.stat_result) -> None:
    """Raise `UntrustedFileError` if others than this user and root can write to a file or a folder."""
    if sys.platform == "win32":
        # By default the folder is below the profile of the user. Windows has no such owners.
        return
    if status.st_uid not in (os.geteuid(), 0):
        raise UntrustedFileError("it belongs to another user")
    if status.st_mode & _WRITABLE_BY_OTHERS:
        raise UntrustedFileError("other users can write to it")


def _record_use(path: Path, status: os.stat_result) -> None:
    if time.time() - status.st_mtime > _USED_SECONDS:
        with contextlib.suppress(OSError):
            os.utime(path)


def write_file(name: str, parts: Sequence[bytes]) -> bool:
    """Write a file to the cache folder, if there is one. Return True if it was written; a failure is logged."""
    if cache_folder() is None:
        return False
    try:
        write_or_raise(name, parts)
    except OSError as error:
        _log_once(str(error))
        return False
    return True


def write_or_raise(name: str, parts: Sequence[bytes]) -> Path:
    """Write a file to the cache folder, and remove those that were not used for longest. Return its path.

    Readers see the whole file or none. Processes that write the same file do not disturb each other.

    Raises:
        OSError: There is no cache folder, it is not trusted, or the file system fails.
    """
    folder = cache_folder()
    if folder is None:
        is_off = os.environ.get(VARIABLE) == OFF
        reason = f"{VARIABLE}={OFF} switches it off" if is_off else "there is no home directory"
        raise FileNotFoundError(f"there is no cache folder, because {reason}. Set {VARIABLE} to a folder")
    try:
        path = _write(folder, name, parts)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        remedy = f"Set {VARIABLE} to another folder"
        raise OSError(f"the cache folder {folder} cannot be written to: {reason}. {remedy}") from error
    _remove_old_files(folder, keep=path.name)
    return path


def _write(folder: Path, name: str, parts: Sequence[bytes]) -> Path:
    # Other users can read it: an image may be built by root, which is trusted.
    folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    _check_owner(os.stat(folder))
    path = path_of(folder, name)
    temporary = folder / f".{name}.{os.getpid()}.{os.urandom(4).hex()}{_TEMPORARY}"
    try:
        _write_new(temporary, parts)
        # An error on Windows if a process has the old file mapped.
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    return path


def path_of(folder: Path, name: str) -> Path:
    """Return the path of a file in the cache folder."""
    return folder / (name + SUFFIX)


def _write_new(path: Path, parts: Sequence[bytes]) -> None:
    # Never writable for other users, whatever the umask is.
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o644)
    with open(descriptor, "wb", buffering=0) as file:
        for part in parts:
            view = memoryview(part)
            while view:
                view = view[file.write(view) :]


def _remove_old_files(folder: Path, *, keep: str) -> None:
    """Remove abandoned temporary files, and files that were not used for longest if all together are too large."""
    try:
        with os.scandir(folder) as listed:
            entries = [(entry.name, entry.stat(follow_symlinks=False)) for entry in listed]
    except OSError as error:
        _log_once(f"{folder} cannot be listed: {error}")
        return
    old = time.time() - _ABANDONED_SECONDS
    removed = [name for name, status in entries if _TEMPORARY_NAME.fullmatch(name) and status.st_mtime < old]
    left = MAX_BYTES
    kept = sorted((entry for entry in entries if _NAME.fullmatch(entry[0])), key=lambda entry: -entry[1].st_mtime)
    for name, status in sorted(kept, key=lambda entry: entry[0] != keep):
        left -= status.st_size
        if left < 0 and name != keep:
            removed.append(name)
    for name in removed:
        # Another process may have removed it, or have it mapped on Windows.
        with contextlib.suppress(OSError):
            os.unlink(folder / name)


def _log_once(message: str) -> None:
    if message not in _logged:
        if len(_logged) < 64:
            _logged.add(message)
        logger.info("%s", message)
