"""The files of a tokenizer: their names, and reading them as one consistent set."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from renderers.errors import TokenizerFileError, TokenizerLoadError

VOCABULARY_FILES = ("tokenizer.json", "tiktoken.model", "tekken.json")
"""The supported vocabulary files. The first one that exists is used."""

MODEL_FILES = (
    "tokenizer_config.json",
    "special_tokens_map.json",
    "generation_config.json",
    "config.json",
    "chat_template.jinja",
    "chat_template.json",
)
"""The other files that are read. Each is optional."""

TEMPLATE_FOLDER = "additional_chat_templates"
"""A folder of further chat templates, `NAME.jinja` each."""

FileIdentity = tuple[str, int, int, int, int, int]
"""Path, device, inode, size, mtime and ctime of a file. Equal while the file is unchanged."""


class FilesChangedError(Exception):
    """The files changed while they were being read, so that the contents may be inconsistent."""


class TokenizerFiles(NamedTuple):
    """The files of a tokenizer under the `name` that was passed, at an absolute path or in a repository."""

    name: str
    location: str
    commit: str | None
    vocabulary: str
    paths: Mapping[str, Path]
    missing: Mapping[str, str]
    """The optional files that do not exist or are not cached, each with the reason."""

    def identity(self) -> tuple[FileIdentity, ...]:
        identities = tuple(identity for path in self.paths.values() if (identity := file_identity(path)))
        if len(identities) < len(self.paths):
            raise FilesChangedError
        return identities

    def read(self, *, as_of: tuple[FileIdentity, ...]) -> dict[str, bytes]:
        """Read all files. Raise `FilesChangedError` if their identity is not `as_of` after reading."""
        contents = {file: read_bytes(path) for file, path in self.paths.items()}
        if self.identity() != as_of:
            raise FilesChangedError
        return contents


def read_bytes(path: Path) -> bytes:
    """Read a file that was found before. Raise `FilesChangedError` if it no longer exists."""
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise FilesChangedError from error
    except OSError as error:
        raise _unreadable(path, error) from error


def file_identity(path: Path) -> FileIdentity | None:
    status = stat_or_none(path)
    if status is None:
        return None
    if not stat.S_ISREG(status.st_mode):
        raise TokenizerFileError("is not a regular file.", file=str(path))
    # ctime as well: some tools restore the mtime after writing.
    return (str(path), status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def stat_or_none(path: str | Path) -> os.stat_result | None:
    """Return the result of `os.stat`; None if the path does not or cannot exist.

    An error if it exists but cannot be accessed: no permission, a dangling link, a stale handle.
    """
    try:
        return os.stat(path)
    except (FileNotFoundError, NotADirectoryError) as error:
        if not os.path.islink(path):
            return None
        fault = f"is a link to {os.readlink(path)}, which does not exist. Remove it, or put the file back."
        raise TokenizerFileError(fault, file=str(path)) from error
    except ValueError:
        # A path with NUL or a lone surrogate.
        return None
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: str | Path, error: OSError) -> TokenizerFileError:
    fault = f"cannot be read ({error.strerror or error}). Check its permissions and the file system."
    return TokenizerFileError(fault, file=str(path))


def digest(contents: Mapping[str, bytes]) -> str:
    """Return a hash of the names and contents of files. Their order does not matter.

    >>> digest({"a": b"1", "b": b"2"}) == digest({"b": b"2", "a": b"1"}) != digest({"a": b"12", "b": b""})
    True
    """
    parts = (f"{file}:{hashlib.sha256(contents[file]).hexdigest()}\n" for file in sorted(contents))
    return hashlib.sha256("".join(parts).encode()).hexdigest()


def with_place(error: TokenizerLoadError, *, name: str = "", file: str = "") -> TokenizerLoadError:
    """Return a load error that also names the tokenizer and the file, unless it names them already."""
    named = bool(error.name) or str(error).startswith((name, repr(name)))
    placed = type(error)(str(error), name="" if named else name, file="" if error.file else file)
    placed.name, placed.file = error.name or name, error.file or file
    placed.__cause__ = error.__cause__
    return placed.with_traceback(error.__traceback__)


@contextlib.contextmanager
def only_load_errors(*, file: str, name: str = "") -> Iterator[None]:
    """Convert any error caused by a damaged file to a `TokenizerFileError`, and add the place to load errors."""
    try:
        yield
    except TokenizerLoadError as error:
        raise with_place(error, name=name, file=file)  # noqa: B904 - it keeps the cause of the original
    except (FilesChangedError, MemoryError):
        raise
    except BaseException as error:
        # A panic of the Rust library is no `Exception`.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        fault = f"cannot be understood ({type(error).__name__}: {error}). It may be damaged: download it again."
        raise TokenizerFileError(fault, name=name, file=file) from error
