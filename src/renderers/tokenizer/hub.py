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

from renderers.tokenizer.files import COMPANION_FILES, TEMPLATE_FOLDER, VOCABULARY_FILES
from renderers.tokenizer.once import Once

__all__ = ["HubUnavailableError", "Snapshot", "cached_snapshot", "fetch", "is_offline", "is_repository_name"]

Answer = TypeVar("Answer")

_REPOSITORY_NAME = re.compile(r"[A-Za-z0-9_][\w.-]*(/[A-Za-z0-9_][\w.-]*)?", re.ASCII)
_FETCHES: Once[None] = Once(keep=0)


class HubUnavailableError(Exception):
    """The hub could not or would not give a repository's files; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One commit of a repository as the cache has it."""

    commit: str
    directory: Path
    absent: frozenset[str]
    """Files that the hub is known not to have at this commit."""


def is_repository_name(name: str) -> bool:
    """Says whether the hub could have a repository of that name."""
    return _REPOSITORY_NAME.fullmatch(name) is not None


def is_offline() -> bool:
    """Says whether HF_HUB_OFFLINE (or its older names) forbids us to ask the hub."""
    return bool(constants.HF_HUB_OFFLINE)


def cached_snapshot(repository: str, revision: str) -> Snapshot | None:
    """Returns what the cache holds of a revision; None where it does not know the revision."""
    root = Path(constants.HF_HUB_CACHE) / ("models--" + repository.replace("/", "--"))
    commit = revision
    if not (root / "snapshots" / commit).is_dir():
        try:
            commit = (root / "refs" / revision).read_text().strip()
        except (OSError, UnicodeDecodeError):
            return None
    known_absent = root / ".no_exist" / commit
    return Snapshot(
        commit=commit,
        directory=root / "snapshots" / commit,
        absent=frozenset(file for file in (*VOCABULARY_FILES, *COMPANION_FILES) if (known_absent / file).is_file()),
    )


def fetch(repository: str, revision: str) -> None:
    """Brings what the hub has of a repository's tokenizer files into the cache, all of one commit.

    What the hub does not have is remembered in the cache, so that the next process need not ask again.
    """
    _FETCHES.get((repository, revision), version=None, work=lambda: _fetch(repository, revision))


def _fetch(repository: str, revision: str) -> None:
    from huggingface_hub import HfApi, hf_hub_download

    def download(file: str) -> bool:
        # The first answer fixes the commit: from then on the cache knows what `revision` means, and a
        # branch that moves meanwhile cannot mix the files of two commits.
        snapshot = cached_snapshot(repository, revision)
        commit = snapshot.commit if snapshot else revision
        return _ask(repository, lambda: hf_hub_download(repository, file, revision=commit)) is not None

    any(download(file) for file in VOCABULARY_FILES)
    for file in COMPANION_FILES:
        download(file)
    snapshot = cached_snapshot(repository, revision)
    commit = snapshot.commit if snapshot else revision
    listing = _ask(
        repository,
        lambda: [entry.path for entry in HfApi().list_repo_tree(repository, TEMPLATE_FOLDER, revision=commit)],
    )
    for file in listing or ():
        if file.endswith(".jinja"):
            download(file)


def _ask(repository: str, question: Callable[[], Answer]) -> Answer | None:
    """Asks the hub; None where it answers that it has no such file."""
    from huggingface_hub import errors

    try:
        return question()
    except errors.LocalEntryNotFoundError as error:
        raise HubUnavailableError(
            f"the hub could not be reached for {repository} ({error.__cause__ or error}). Check the network, "
            "HF_ENDPOINT and the proxies, or set HF_HUB_OFFLINE=1 to use the cache as it is."
        ) from error
    except errors.EntryNotFoundError:
        return None
    except errors.GatedRepoError as error:
        raise HubUnavailableError(
            f"{repository} is gated: ask for access on its page, and set HF_TOKEN to a token that has it."
        ) from error
    except errors.RepositoryNotFoundError as error:
        raise HubUnavailableError(
            f"the hub has no repository {repository}, or it is private: check the name, and HF_TOKEN."
        ) from error
    except errors.RevisionNotFoundError as error:
        raise HubUnavailableError(f"{repository} has no such revision: {error}") from error
    except Exception as error:
        # The client raises its transport's own errors too, and the transport differs between releases.
        raise HubUnavailableError(f"the hub failed for {repository} ({type(error).__name__}: {error}).") from error
