"""Find the files of a tokenizer by name: local paths first, then the Hugging Face cache, then the hub."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from renderers.errors import (
    TokenizerFileError,
    TokenizerLoadError,
    TokenizerNotFoundError,
    TokenizerUnreachableError,
)
from renderers.tokenizer.loading import hub
from renderers.tokenizer.loading.files import (
    MODEL_FILES,
    TEMPLATE_FOLDER,
    VOCABULARY_FILES,
    TokenizerFiles,
    file_identity,
    stat_or_none,
)
from renderers.tokenizer.loading.repositories import MIRRORS, TRUSTED_REVISIONS

logger = logging.getLogger(__name__)

_NOT_THERE = "not there"
_NOT_CACHED = "not in the cache, and HF_HUB_OFFLINE is set"


def locate(name: str, revision: str | None) -> TokenizerFiles:
    """Find the files of a tokenizer, and download them if they are not cached.

    `revision` applies to repositories only and is ignored for a local path.
    """
    # A path with NUL is a ValueError in os.stat, and is no repository either.
    status = stat_or_none(name, name=name) if name and "\0" not in name else None
    if status is not None:
        path = Path(os.path.abspath(name))
        if stat.S_ISDIR(status.st_mode):
            return _directory(name, path)
        if stat.S_ISREG(status.st_mode):
            return _single_file(name, path)
        raise TokenizerFileError("is neither a file nor a directory.", name=name)
    if not hub.is_repository_name(name):
        hint = " (~ is not expanded)" if name.startswith("~") else ""
        raise TokenizerNotFoundError(
            f"{name!r} is neither a file nor a directory here{hint}, and cannot be the name of a repository."
        )
    if revision is not None and not hub.is_revision(revision):
        raise TokenizerNotFoundError(f"{revision!r} cannot be a revision.", name=name)
    return _repository(name, revision)


def _directory(name: str, directory: Path) -> TokenizerFiles:
    paths = _present(directory, name=name)
    vocabulary = _vocabulary_of(paths)
    if vocabulary is None:
        raise _nothing_usable("the directory", directory, name=name)
    return _files(name, location=str(directory), vocabulary=vocabulary, paths=paths)


def _single_file(name: str, path: Path) -> TokenizerFiles:
    paths = {path.name: path, **_present(path.parent, name=name)}
    return _files(name, location=str(path), vocabulary=path.name, paths=paths)


def _repository(name: str, revision: str | None) -> TokenizerFiles:
    places = [(name, revision or TRUSTED_REVISIONS.get(name, "main"))]
    if revision is None and name in MIRRORS:
        places.append((MIRRORS[name], "main"))
    refusals: list[str] = []
    for repository, wanted in places:
        try:
            files = _cached_or_fetched(name, repository, wanted)
        except hub.HubClosedError as error:
            refusals.append(str(error))
            continue
        except hub.HubUnreachableError as error:
            raise TokenizerUnreachableError(str(error), name=name) from error
        if refusals:
            logger.warning("%s: %s Reading its mirror %s instead.", name, refusals[0], repository)
        return files
    raise TokenizerNotFoundError(" ".join(refusals), name=name)


def _cached_or_fetched(name: str, repository: str, revision: str) -> TokenizerFiles:
    try:
        files = _cached(name, repository, revision)
    except TokenizerLoadError:
        if hub.is_offline():
            raise
        files = None
    if files is not None and _NOT_CACHED not in files.missing.values():
        return files
    if hub.is_offline():
        if files is None:
            raise hub.HubClosedError(
                f"{repository} at revision {revision!r} is not in the cache, and HF_HUB_OFFLINE is set. Unset it, or "
                "download the repository first."
            )
        return files
    absent = hub.fetch(repository, revision)
    files = _cached(name, repository, revision, absent=absent)
    if files is None:
        raise hub.HubUnreachableError(f"the cache lost {repository} while it was being fetched. Try again.")
    return files


def _cached(
    name: str, repository: str, revision: str, *, absent: frozenset[str] = frozenset()
) -> TokenizerFiles | None:
    """Return the cached files of a repository; None if the vocabulary is not cached but may exist.

    `absent` are files that do not exist on the hub, in addition to those recorded in the cache.
    """
    snapshot = hub.cached_snapshot(repository, revision)
    if snapshot is None:
        return None
    paths = _present(snapshot.directory, name=name)
    vocabulary = _vocabulary_of(paths)
    absent |= snapshot.absent
    if vocabulary is None:
        if absent.issuperset(VOCABULARY_FILES):
            raise _nothing_usable(f"{repository} at {snapshot.commit}", snapshot.directory, name=name)
        return None
    return _files(
        name,
        location=repository,
        commit=snapshot.commit,
        vocabulary=vocabulary,
        paths=paths,
        reasons={file: _NOT_CACHED for file in MODEL_FILES if file not in absent},
    )


def _present(directory: Path, *, name: str) -> dict[str, Path]:
    """Return the tokenizer files in a directory, in a fixed order."""
    try:
        named = sorted(os.listdir(directory / TEMPLATE_FOLDER))
    except (FileNotFoundError, NotADirectoryError):
        named = []
    except OSError as error:
        raise TokenizerFileError(
            f"cannot be listed ({error.strerror}).", name=name, file=str(directory / TEMPLATE_FOLDER)
        ) from error
    templates = [f"{TEMPLATE_FOLDER}/{file}" for file in named if file.endswith(".jinja")]
    candidates = (*VOCABULARY_FILES, *MODEL_FILES, *templates)
    return {file: directory / file for file in candidates if file_identity(directory / file, name=name) is not None}


def _vocabulary_of(paths: Mapping[str, Path]) -> str | None:
    return next((file for file in VOCABULARY_FILES if file in paths), None)


def _files(
    name: str,
    *,
    location: str,
    vocabulary: str,
    paths: Mapping[str, Path],
    commit: str | None = None,
    reasons: Mapping[str, str] = MappingProxyType({}),
) -> TokenizerFiles:
    used = {file: path for file, path in paths.items() if file == vocabulary or file not in VOCABULARY_FILES}
    missing = {file: reasons.get(file, _NOT_THERE) for file in MODEL_FILES if file not in used}
    return TokenizerFiles(
        name=name, location=location, commit=commit, vocabulary=vocabulary, paths=used, missing=missing
    )


def _nothing_usable(place: str, directory: Path, *, name: str) -> TokenizerNotFoundError:
    sentencepiece = (
        " There is a SentencePiece model, tokenizer.model: convert it to tokenizer.json with "
        "transformers' save_pretrained first."
        if (directory / "tokenizer.model").exists()
        else ""
    )
    return TokenizerNotFoundError(f"{place} has none of {', '.join(VOCABULARY_FILES)}.{sentencepiece}", name=name)
