"""A repository's tokenizer files: what the Hugging Face cache holds, and fetching what it lacks.

Reading the cache follows its documented layout (`refs`, `snapshots`, `.no_exist`) and needs none of the
hub client's network code, which would take longer to import than a vocabulary takes to read. Fetching is
the client's own `hf_hub_download`, with all that it honours: HF_TOKEN, HF_ENDPOINT, proxies, locks.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from huggingface_hub import constants

from renderers.errors import TokenizerFileError
from renderers.tokenizer.loading.files import MODEL_FILES, TEMPLATE_FOLDER, VOCABULARY_FILES, stat_or_none, unreadable
from renderers.tokenizer.loading.single_flight import SingleFlight

Answer = TypeVar("Answer")

_REPOSITORY_NAME = re.compile(r"[A-Za-z0-9_][\w.-]*(/[A-Za-z0-9_][\w.-]*)?", re.ASCII)
_REVISION = re.compile(r"[\w][\w./+-]*", re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{6,64}")
_LONGEST_NAME = 200
_CLIENT_PACKAGES = frozenset({"huggingface_hub", "hf_xet", "httpx", "httpx2", "httpcore", "requests", "urllib3"})
_FETCHES: SingleFlight[frozenset[str]] = SingleFlight(keep=0)


class HubClosedError(Exception):
    """The hub answered, and does not give us this repository: it is gated, or not there."""


class HubUnreachableError(Exception):
    """The hub did not answer, or failed."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One commit of a repository as the cache has it."""

    commit: str
    directory: Path
    absent: frozenset[str]
    """Files that the hub is known not to have at this commit."""


def is_repository_name(name: str) -> bool:
    """Says whether the hub could have a repository of that name."""
    return len(name) <= _LONGEST_NAME and _REPOSITORY_NAME.fullmatch(name) is not None


def is_revision(revision: str) -> bool:
    """Says whether a repository could have a revision of that name."""
    return len(revision) <= _LONGEST_NAME and _REVISION.fullmatch(revision) is not None and ".." not in revision


def is_offline() -> bool:
    """Says whether HF_HUB_OFFLINE (or its older names) forbids us to ask the hub."""
    return bool(constants.HF_HUB_OFFLINE)


def cached_snapshot(repository: str, revision: str) -> Snapshot | None:
    """Returns what the cache holds of a revision; None where it does not know the revision."""
    root = Path(constants.HF_HUB_CACHE) / ("models--" + repository.replace("/", "--"))
    commit: str | None = revision
    if stat_or_none(root / "snapshots" / revision, name=repository) is None:
        commit = _cached_ref(root / "refs" / revision, repository)
    if commit is None:
        return None
    known_absent = root / ".no_exist" / commit
    return Snapshot(
        commit=commit,
        directory=root / "snapshots" / commit,
        absent=frozenset(
            file for file in (*VOCABULARY_FILES, *MODEL_FILES) if stat_or_none(known_absent / file, name=repository)
        ),
    )


def _cached_ref(path: Path, repository: str) -> str | None:
    """Returns the commit that the cache takes a branch for; None where it has none, or garbage."""
    if stat_or_none(path, name=repository) is None:
        return None
    try:
        commit = path.read_bytes().decode("ascii", errors="replace").strip()
    except OSError as error:
        raise unreadable(path, error, name=repository) from error
    return commit if _COMMIT.fullmatch(commit) else None


def fetch(repository: str, revision: str) -> frozenset[str]:
    """Brings what the hub has of a repository's tokenizer files into the cache, all of one commit.

    Returns the files that the hub does not have. It is remembered in the cache where that can be
    written, so that the next process need not ask again.
    """
    return _FETCHES.get((repository, revision), version=None, work=lambda: _fetch(repository, revision))


def _fetch(repository: str, revision: str) -> frozenset[str]:
    from huggingface_hub import HfApi, hf_hub_download

    absent = set()

    def commit() -> str:
        # The first answer fixes the commit: from then on the cache knows what `revision` means, and a
        # branch that moves meanwhile cannot mix the files of two commits.
        snapshot = cached_snapshot(repository, revision)
        return snapshot.commit if snapshot else revision

    def download(file: str) -> bool:
        found = _ask(repository, lambda: hf_hub_download(repository, file, revision=commit())) is not None
        if not found:
            absent.add(file)
        return found

    any(download(file) for file in VOCABULARY_FILES)
    # Before the other files: as long as one of these is not known, the next load will ask again.
    tree = _ask(repository, lambda: list(HfApi().list_repo_tree(repository, TEMPLATE_FOLDER, revision=commit())))
    for entry in tree or ():
        if entry.path.endswith(".jinja"):
            download(entry.path)
    for file in MODEL_FILES:
        download(file)
    return frozenset(absent)


def _ask(repository: str, question: Callable[[], Answer]) -> Answer | None:
    """Asks the hub; None where it answers that it has no such file."""
    from huggingface_hub import errors

    try:
        return question()
    except errors.LocalEntryNotFoundError as error:
        raise _unreachable(repository, error) from error
    except errors.EntryNotFoundError:
        return None
    except errors.GatedRepoError as error:
        raise HubClosedError(
            f"{repository} is gated. Ask for access on its page, and set HF_TOKEN to a token that has it."
        ) from error
    except errors.RepositoryNotFoundError as error:
        raise HubClosedError(
            f"the hub has no repository {repository}, or it is private. Check the name, and HF_TOKEN."
        ) from error
    except errors.RevisionNotFoundError as error:
        raise HubClosedError(f"{repository} has no such revision. Check its branches and tags.") from error
    except errors.HFValidationError as error:
        raise HubClosedError(f"the hub does not accept {repository} as a name ({error}). Check the name.") from error
    except TokenizerFileError:
        raise
    except Exception as error:
        if not _is_client_error(error):
            raise
        raise _unreachable(repository, error) from error


def _is_client_error(error: Exception) -> bool:
    """Return True for the errors of the network, the file system, the hub client and its transport.

    The transport differs between releases of the client. Its Rust downloader raises plain `RuntimeError`.
    """
    packages = {cls.__module__.partition(".")[0] for cls in type(error).__mro__}
    return isinstance(error, OSError) or type(error) is RuntimeError or not packages.isdisjoint(_CLIENT_PACKAGES)


def _unreachable(repository: str, error: BaseException) -> HubUnreachableError:
    """Returns an error with the kind and the first line of what went wrong at the bottom of it."""
    while error.__cause__ is not None:
        error = error.__cause__
    reason = (str(error).strip().splitlines() or ["no more is said"])[0]
    return HubUnreachableError(
        f"the hub could not be reached, or failed, for {repository} ({type(error).__name__}: {reason}). Check the "
        "network, HF_ENDPOINT and the proxies, or set HF_HUB_OFFLINE=1 to use the cache as it is."
    )
