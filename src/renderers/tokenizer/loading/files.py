"""The files of a tokenizer: their names, and reading them as one consistent set."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from renderers.errors import TokenizerFileError

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

Identity = tuple[FileIdentity, ...]


class FilesChangedError(Exception):
    """The files changed while they were being read, so that the contents may be inconsistent."""


@dataclass(frozen=True, slots=True)
class TokenizerFiles:
    """The files of a tokenizer: `paths` by file name, and the optional files that are `missing`, with the reason.

    `name` is the name that was passed by the caller, `location` the absolute path or the repository, and `commit` the
    commit of a repository.
    """

    name: str
    location: str
    commit: str | None
    vocabulary: str
    paths: Mapping[str, Path]
    missing: Mapping[str, str]

    def identity(self) -> Identity:
        """Return the identity of the files on disk, without reading them."""
        return tuple(self._identity_of(file) for file in self.paths)

    def read(self, *, as_of: Identity) -> dict[str, bytes]:
        """Read all files. Raise `FilesChangedError` if their identity is not `as_of`, before or after reading."""
        contents = {file: self._content_of(file) for file in self.paths}
        if self.identity() != as_of:
            raise FilesChangedError
        return contents

    def _identity_of(self, file: str) -> FileIdentity:
        path = self.paths[file]
        identity = file_identity(path, name=self.name)
        if identity is None:
            raise FilesChangedError
        return identity

    def _content_of(self, file: str) -> bytes:
        try:
            return self.paths[file].read_bytes()
        except FileNotFoundError as error:
            raise FilesChangedError from error
        except OSError as error:
            raise unreadable(self.paths[file], error, name=self.name) from error


def file_identity(path: Path, *, name: str) -> FileIdentity | None:
    """Return the identity of a file; None if there is no file."""
    status = stat_or_none(path, name=name)
    if status is None:
        return None
    if not stat.S_ISREG(status.st_mode):
        raise TokenizerFileError("is not a regular file.", name=name, file=str(path))
    # ctime as well: some tools restore the mtime after writing.
    return (str(path), status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def stat_or_none(path: str | Path, *, name: str) -> os.stat_result | None:
    """Return the result of `os.stat`; None if the path does not exist.

    Raises:
        TokenizerFileError: The path exists but cannot be accessed: no permission, a dangling link, a stale handle.
    """
    try:
        return os.stat(path)
    except (FileNotFoundError, NotADirectoryError) as error:
        if not os.path.islink(path):
            return None
        raise TokenizerFileError(
            f"is a link to {os.readlink(path)}, which does not exist. Remove it, or put the file back.",
            name=name,
            file=str(path),
        ) from error
    except OSError as error:
        raise unreadable(path, error, name=name) from error


def digest(contents: Mapping[str, bytes]) -> str:
    """Return a hash of the names and contents of files. Their order does not matter.

    >>> digest({"a": b"1", "b": b"2"}) == digest({"b": b"2", "a": b"1"}) != digest({"a": b"12", "b": b""})
    True
    """
    parts = (f"{file}:{hashlib.sha256(contents[file]).hexdigest()}\n" for file in sorted(contents))
    return hashlib.sha256("".join(parts).encode()).hexdigest()


def unreadable(path: str | Path, error: OSError, *, name: str) -> TokenizerFileError:
    """Return the error for a path that exists but cannot be read."""
    return TokenizerFileError(
        f"cannot be read ({error.strerror or error}). Check its permissions and the file system.",
        name=name,
        file=str(path),
    )
