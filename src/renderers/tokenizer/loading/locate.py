"""Find the files of a tokenizer by name: local paths first, then the Hugging Face cache, then the hub."""

from __future__ import annotations

import contextlib
import logging
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from huggingface_hub import constants

from renderers.errors import TokenizerFileError, TokenizerLoadError, TokenizerNotFoundError, TokenizerUnreachableError
from renderers.tokenizer.loading.files import (
    MODEL_FILES,
    TEMPLATE_FOLDER,
    VOCABULARY_FILES,
    TokenizerFiles,
    file_identity,
    stat_or_none,
)
from renderers.tokenizer.loading.hub_cache import (
    HubClosedError,
    Snapshot,
    cached_snapshot,
    is_repository_name,
    is_revision,
)
from renderers.tokenizer.loading.suggest import did_you_mean

logger = logging.getLogger(__name__)

TRUSTED_REVISIONS: Mapping[str, str] = MappingProxyType(
    {
        "moonshotai/Kimi-K2-Instruct": "fd1984e2b7a3350dbf7305fe73a4ede25c14de50",
        "moonshotai/Kimi-K2.5": "4d01dfe0332d63057c186e0b262165819efb6611",
        "moonshotai/Kimi-K2.6": "2755962d07cb42aa2d988a35bcb65cd4a9c2de82",
    }
)
"""The commit that is loaded if no revision is passed."""

MIRRORS: Mapping[str, str] = MappingProxyType(
    {
        "meta-llama/Llama-3.2-1B-Instruct": "unsloth/Llama-3.2-1B-Instruct",
        "meta-llama/Llama-3.2-3B-Instruct": "unsloth/Llama-3.2-3B-Instruct",
    }
)
"""Open copies of gated repositories, used only if the gated one is not cached and access is denied."""

_NOT_THERE = "not there"
_NOT_CACHED = "not in the cache, and HF_HUB_OFFLINE is set"


def locate(name: str, revision: str | None) -> TokenizerFiles:
    """Find the files of a tokenizer, and download them if they are not cached. A local path has no revisions."""
    status = stat_or_none(name)
    if status is not None:
        return _local(name, Path(os.path.abspath(name)), status.st_mode)
    if not is_repository_name(name):
        hint = " (~ is not expanded)" if name.startswith("~") else ""
        raise TokenizerNotFoundError(
            f"{name!r} is neither a file nor a directory{hint}, and cannot be the name of a repository. Check the path."
            + did_you_mean(name)
        )
    if revision is not None and not is_revision(revision):
        raise TokenizerNotFoundError(f"{revision!r} cannot be a revision.")
    return _repository(name, revision)


def _local(name: str, path: Path, mode: int) -> TokenizerFiles:
    if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
        raise TokenizerFileError("is neither a file nor a directory.")
    directory, vocabulary = (path, None) if stat.S_ISDIR(mode) else (path.parent, path.name)
    files = _files(name, str(path), Snapshot(directory, absent=frozenset(MODEL_FILES)), vocabulary)
    if files is None:
        raise _nothing_usable("the directory", directory)
    return files


def _repository(name: str, revision: str | None) -> TokenizerFiles:
    try:
        return _cached_or_fetched(name, name, revision or TRUSTED_REVISIONS.get(name, "main"))
    except HubClosedError as refusal:
        mirror = MIRRORS.get(name) if revision is None else None
        if mirror is None:
            raise TokenizerNotFoundError(str(refusal)) from refusal.__cause__
        try:
            files = _cached_or_fetched(name, mirror, "main")
        except HubClosedError as error:
            raise TokenizerNotFoundError(f"{refusal} {error}") from error.__cause__
        logger.warning("%s: %s Reading its mirror %s instead.", name, refusal, mirror)
        return files


def _cached_or_fetched(name: str, repository: str, revision: str) -> TokenizerFiles:
    if constants.HF_HUB_OFFLINE:
        files = _cached(name, repository, revision)
        if files is None:
            raise HubClosedError(
                f"{repository} at revision {revision!r} is not in the cache, and HF_HUB_OFFLINE is set. Unset it, or "
                f"download the repository first.{did_you_mean(repository)}"
            )
        return files
    with contextlib.suppress(TokenizerLoadError):
        files = _cached(name, repository, revision)
        if files is not None and _NOT_CACHED not in files.missing.values():
            return files
    # Imported here: it imports the HTTP client of the standard library, which takes as long as a render.
    from renderers.tokenizer.loading.hub import fetch

    files = _cached(name, repository, revision, absent=fetch(repository, revision))
    if files is None:
        raise TokenizerUnreachableError(f"the cache lost {repository} while it was being fetched. Try again.")
    return files


def _cached(name: str, repository: str, revision: str, absent: frozenset[str] = frozenset()) -> TokenizerFiles | None:
    """Return the cached files; None if the vocabulary may exist on the hub. `absent` files do not exist there."""
    snapshot = cached_snapshot(repository, revision, absent)
    if snapshot is None:
        return None
    files = _files(name, repository, snapshot)
    if files is None and snapshot.absent.issuperset(VOCABULARY_FILES):
        raise _nothing_usable(f"{repository} at {snapshot.commit}", snapshot.directory)
    return files


def _files(name: str, location: str, snapshot: Snapshot, vocabulary: str | None = None) -> TokenizerFiles | None:
    """Return the files in the directory of a snapshot, in a fixed order; None if there is no vocabulary."""
    directory = snapshot.directory
    candidates = (*VOCABULARY_FILES, *MODEL_FILES, *_template_files(directory))
    present = [file for file in candidates if file_identity(directory / file) is not None]
    vocabulary = vocabulary or next((file for file in VOCABULARY_FILES if file in present), None)
    if vocabulary is None:
        return None
    used = dict.fromkeys((vocabulary, *(file for file in present if file not in VOCABULARY_FILES)))
    paths = {file: directory / file for file in used}
    reasons = {file: _NOT_THERE if file in snapshot.absent else _NOT_CACHED for file in MODEL_FILES}
    missing = {file: reason for file, reason in reasons.items() if file not in used}
    return TokenizerFiles(name, location, snapshot.commit, vocabulary, paths, missing)


def _template_files(directory: Path) -> list[str]:
    folder = directory / TEMPLATE_FOLDER
    try:
        return [f"{TEMPLATE_FOLDER}/{file}" for file in sorted(os.listdir(folder)) if file.endswith(".jinja")]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise TokenizerFileError(f"cannot be listed ({error.strerror}).", file=str(folder)) from error


def _nothing_usable(place: str, directory: Path) -> TokenizerNotFoundError:
    fault = f"{place} has none of {', '.join(VOCABULARY_FILES)}."
    if (directory / "tokenizer.model").exists():
        fault += " There is a SentencePiece model, tokenizer.model: convert it to tokenizer.json with "
        fault += "transformers' save_pretrained first."
    return TokenizerNotFoundError(fault)
