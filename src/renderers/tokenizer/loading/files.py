"""The files that a tokenizer is made of: their names, where they lie, and reading them as one set."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from renderers.errors import TokenizerFileError

VOCABULARY_FILES = ("tokenizer.json", "tiktoken.model", "tekken.json")
"""What a tokenizer can be built from; the first one that is there is taken."""

MODEL_FILES = (
    "tokenizer_config.json",
    "special_tokens_map.json",
    "generation_config.json",
    "config.json",
    "chat_template.jinja",
    "chat_template.json",
)
"""What says more about it; each may be missing."""

TEMPLATE_FOLDER = "additional_chat_templates"
"""A folder of further named templates, `NAME.jinja` each."""

FileIdentity = tuple[str, int, int, int, int, int]
"""Path, device, inode, size and two times of a file: equal for as long as nobody touches it."""

Identity = tuple[FileIdentity, ...]


class FilesChangedError(Exception):
    """Somebody wrote to the files while they were being read, so that what was read may be torn."""


@dataclass(frozen=True, slots=True)
class TokenizerFiles:
    """A tokenizer's files as found: `paths` by file name, and what is `missing`, with the reason.

    `name` is what the caller asked for, `location` the absolute path or the repository where it was
    found, and `commit` is set for a repository.
    """

    name: str
    location: str
    commit: str | None
    vocabulary: str
    paths: Mapping[str, Path]
    missing: Mapping[str, str]

    def identity(self) -> Identity:
        """Looks at the files on disk, without reading them."""
        return tuple(self._identity_of(file) for file in self.paths)

    def read(self, *, as_of: Identity) -> dict[str, bytes]:
        """Reads all files, or raises `FilesChangedError` where they are not, or do not stay, as of that look."""
        contents = {file: self._content_of(file) for file in self.paths}
        if self.identity() != as_of:
            raise FilesChangedError
        return contents

    def _identity_of(self, file: str) -> FileIdentity:
        path = self.paths[file]
        found = file_identity(path, name=self.name)
        if found is None:
            raise FilesChangedError
        return found

    def _content_of(self, file: str) -> bytes:
        try:
            return self.paths[file].read_bytes()
        except FileNotFoundError as error:
            raise FilesChangedError from error
        except OSError as error:
            raise unreadable(self.paths[file], error, name=self.name) from error


def file_identity(path: Path, *, name: str) -> FileIdentity | None:
    """Returns what tells this file from another or a later one; None where there is no file."""
    seen = stat_or_none(path, name=name)
    if seen is None:
        return None
    if not stat.S_ISREG(seen.st_mode):
        raise TokenizerFileError("is not a regular file.", name=name, file=str(path))
    # The time of change as well: some tools set the time of modification back after they wrote.
    return (str(path), seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns)


def stat_or_none(path: str | Path, *, name: str) -> os.stat_result | None:
    """Returns what the file system knows of a path; None where nothing is there.

    Anything else that keeps us from it (no permission, a dangling link, a server that does not answer) is
    a `TokenizerFileError`: what is there but out of reach must not pass for missing.
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
    """Returns a hash over the names and contents of files, in any order.

    >>> digest({"a": b"1", "b": b"2"}) == digest({"b": b"2", "a": b"1"}) != digest({"a": b"12", "b": b""})
    True
    """
    parts = (f"{file}:{hashlib.sha256(contents[file]).hexdigest()}\n" for file in sorted(contents))
    return hashlib.sha256("".join(parts).encode()).hexdigest()


def unreadable(path: str | Path, error: OSError, *, name: str) -> TokenizerFileError:
    """Returns the error that says that a path is there but cannot be read."""
    return TokenizerFileError(
        f"cannot be read ({error.strerror or error}). Check its permissions and the file system.",
        name=name,
        file=str(path),
    )
