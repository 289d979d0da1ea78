"""Find the files of a tokenizer by name: local paths first, then the Hugging Face cache, then the hub."""

from __future__ import annotations

import logging
import os
import stat
from pathlib import Path

from renderers.errors import TokenizerFileError, TokenizerLoadError, TokenizerNotFoundError, TokenizerUnreachableError
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
    status = stat_or_none(name) if name and "\0" not in name else None
    if status is not None:
        return _local(name, Path(os.path.abspath(name)), status.st_mode)
    if not hub.is_repository_name(name):
        hint = " (~ is not expanded)" if name.startswith("~") else ""
        raise TokenizerNotFoundError(
            f"{name!r} is neither a file nor a directory here{hint}, and cannot be the name of a repository."
        )
    if revision is not None and not hub.is_revision(revision):
        raise TokenizerNotFoundError(f"{revision!r} cannot be a revision.")
    return _repository(name, revision)


def _local(name: str, path: Path, mode: int) -> TokenizerFiles:
    if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
        raise TokenizerFileError("is neither a file nor a directory.")
    directory, vocabulary = (path, None) if stat.S_ISDIR(mode) else (path.parent, path.name)
    files = _files(name, directory, location=str(path), vocabulary=vocabulary)
    if files is None:
        raise _nothing_usable("the directory", directory)
    return files


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
            raise TokenizerUnreachableError(str(error)) from error
        if refusals:
            logger.warning("%s: %s Reading its mirror %s instead.", name, refusals[0], repository)
        return files
    raise TokenizerNotFoundError(" ".join(refusals))


def _cached_or_fetched(name: str, repository: str, revision: str) -> TokenizerFiles:
    offline = hub.is_offline()
    try:
        files = _cached(name, repository, revision)
    except TokenizerLoadError:
        if offline:
            raise
        files = None
    if files is not None and (offline or _NOT_CACHED not in files.missing.values()):
        return files
    if offline:
        raise hub.HubClosedError(
            f"{repository} at revision {revision!r} is not in the cache, and HF_HUB_OFFLINE is set. Unset it, or "
            "download the repository first."
        )
    files = _cached(name, repository, revision, absent=hub.fetch(repository, revision))
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
    absent |= snapshot.absent
    files = _files(name, snapshot.directory, location=repository, commit=snapshot.commit, absent=absent)
    if files is None and absent.issuperset(VOCABULARY_FILES):
        raise _nothing_usable(f"{repository} at {snapshot.commit}", snapshot.directory)
    return files


def _files(
    name: str,
    directory: Path,
    *,
    location: str,
    commit: str | None = None,
    vocabulary: str | None = None,
    absent: frozenset[str] = frozenset(MODEL_FILES),
) -> TokenizerFiles | None:
    """Return the tokenizer files in a directory, in a fixed order; None if there is no vocabulary.

    A missing file that is not `absent` may exist on the hub.
    """
    candidates = (*VOCABULARY_FILES, *MODEL_FILES, *_template_files(directory))
    present = [file for file in candidates if file_identity(directory / file) is not None]
    vocabulary = vocabulary or next((file for file in VOCABULARY_FILES if file in present), None)
    if vocabulary is None:
        return None
    used = dict.fromkeys((vocabulary, *(file for file in present if file not in VOCABULARY_FILES)))
    return TokenizerFiles(
        name=name,
        location=location,
        commit=commit,
        vocabulary=vocabulary,
        paths={file: directory / file for file in used},
        missing={file: _NOT_THERE if file in absent else _NOT_CACHED for file in MODEL_FILES if file not in used},
    )


def _template_files(directory: Path) -> list[str]:
    folder = directory / TEMPLATE_FOLDER
    try:
        return [f"{TEMPLATE_FOLDER}/{file}" for file in sorted(os.listdir(folder)) if file.endswith(".jinja")]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise TokenizerFileError(f"cannot be listed ({error.strerror}).", file=str(folder)) from error


def _nothing_usable(place: str, directory: Path) -> TokenizerNotFoundError:
    hint = (
        " There is a SentencePiece model, tokenizer.model: convert it to tokenizer.json with "
        "transformers' save_pretrained first."
    )
    sentencepiece = hint if (directory / "tokenizer.model").exists() else ""
    return TokenizerNotFoundError(f"{place} has none of {', '.join(VOCABULARY_FILES)}.{sentencepiece}")
