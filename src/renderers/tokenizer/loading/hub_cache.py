"""Find the files of a repository in the Hugging Face cache.

The cache is read by its documented layout: importing the client takes longer than reading a vocabulary.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from huggingface_hub import constants

from renderers.tokenizer.loading.files import MODEL_FILES, VOCABULARY_FILES, read_bytes, stat_or_none

_REPOSITORY_NAME = re.compile(r"(?=.{1,200}\Z)\w[\w.-]*(/\w[\w.-]*)?", re.ASCII)
_REVISION = re.compile(r"(?=.{1,200}\Z)(?!.*\.\.)\w[\w./+-]*", re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{6,64}")


class HubClosedError(Exception):
    """The hub refused access: the repository is gated or does not exist."""


class Snapshot(NamedTuple):
    """A directory of files: one commit of a repository in the cache, or a local directory without a commit."""

    directory: Path
    absent: frozenset[str]
    """Files that do not exist in the repository at this commit. Other missing files may exist on the hub."""
    commit: str | None = None


def is_repository_name(name: str) -> bool:
    return _REPOSITORY_NAME.fullmatch(name) is not None


def is_revision(revision: str) -> bool:
    return _REVISION.fullmatch(revision) is not None


def cached_snapshot(repository: str, revision: str, absent: frozenset[str] = frozenset()) -> Snapshot | None:
    """Return a revision from the cache; None if it is not cached. `absent` files are known not to exist."""
    root = cache_folder(repository)
    in_cache = stat_or_none(root / "snapshots" / revision) is not None
    commit = revision if in_cache else _cached_ref(root / "refs" / revision)
    if commit is None:
        return None
    recorded = root / ".no_exist" / commit
    absent |= {file for file in (*VOCABULARY_FILES, *MODEL_FILES) if stat_or_none(recorded / file)}
    return Snapshot(root / "snapshots" / commit, absent, commit)


def cache_folder(repository: str) -> Path:
    return Path(constants.HF_HUB_CACHE) / ("models--" + repository.replace("/", "--"))


def _cached_ref(path: Path) -> str | None:
    if stat_or_none(path) is None:
        return None
    commit = read_bytes(path).decode("ascii", errors="replace").strip()
    return commit if _COMMIT.fullmatch(commit) else None
