"""Find the files of a repository in the Hugging Face cache, and download missing ones with the hub client.

The cache is read by its documented layout: importing the client takes longer than reading a vocabulary.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeVar

from huggingface_hub import constants

from renderers.errors import TokenizerFileError, TokenizerUnreachableError
from renderers.tokenizer.loading.files import MODEL_FILES, TEMPLATE_FOLDER, VOCABULARY_FILES, read_bytes, stat_or_none
from renderers.tokenizer.loading.single_flight import SingleFlight

Result = TypeVar("Result")

_REPOSITORY_NAME = re.compile(r"(?=.{1,200}\Z)\w[\w.-]*(/\w[\w.-]*)?", re.ASCII)
_REVISION = re.compile(r"(?=.{1,200}\Z)(?!.*\.\.)\w[\w./+-]*", re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{6,64}")
_NETWORK_PACKAGES = frozenset("huggingface_hub hf_xet httpx httpx2 httpcore requests urllib3 socket ssl".split())
_NETWORK_ERRNOS = frozenset({errno.ENETDOWN, errno.ENETUNREACH, errno.EHOSTDOWN, errno.EHOSTUNREACH})
_FETCHES: SingleFlight[frozenset[str]] = SingleFlight(keep=0)


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
    root = _cache_folder(repository)
    in_cache = stat_or_none(root / "snapshots" / revision) is not None
    commit = revision if in_cache else _cached_ref(root / "refs" / revision)
    if commit is None:
        return None
    recorded = root / ".no_exist" / commit
    absent |= {file for file in (*VOCABULARY_FILES, *MODEL_FILES) if stat_or_none(recorded / file)}
    return Snapshot(root / "snapshots" / commit, absent, commit)


def _cache_folder(repository: str) -> Path:
    return Path(constants.HF_HUB_CACHE) / ("models--" + repository.replace("/", "--"))


def _cached_ref(path: Path) -> str | None:
    if stat_or_none(path) is None:
        return None
    commit = read_bytes(path).decode("ascii", errors="replace").strip()
    return commit if _COMMIT.fullmatch(commit) else None


def fetch(repository: str, revision: str) -> frozenset[str]:
    """Download the tokenizer files of one commit to the cache. Return the files that do not exist on the hub."""
    return _FETCHES.get((repository, revision), version=None, work=lambda: _fetch(repository, revision))


def _fetch(repository: str, revision: str) -> frozenset[str]:
    from huggingface_hub import HfApi, hf_hub_download

    absent = set()

    def commit() -> str:
        # The first download records the commit of `revision` in the cache. The others use that commit, so that a
        # branch that moves in between cannot mix the files of two commits.
        snapshot = cached_snapshot(repository, revision)
        return (snapshot and snapshot.commit) or revision

    def download(file: str) -> bool:
        if _request(repository, lambda: hf_hub_download(repository, file, revision=commit())) is None:
            absent.add(file)
        return file not in absent

    any(download(file) for file in VOCABULARY_FILES)
    # Before the other files: a load is repeated until all of those are cached, and so are the templates then.
    tree = _request(repository, lambda: list(HfApi().list_repo_tree(repository, TEMPLATE_FOLDER, revision=commit())))
    templates = [entry.path for entry in tree or () if entry.path.endswith(".jinja")]
    for file in (*templates, *MODEL_FILES):
        download(file)
    return frozenset(absent)


def _request(repository: str, send: Callable[[], Result]) -> Result | None:
    """Return the response of the hub; None if the file does not exist there."""
    from huggingface_hub import errors

    refusals: dict[type[Exception], str] = {
        errors.GatedRepoError: "{} is gated. Ask for access on its page, and set HF_TOKEN to a token that has it.",
        errors.RepositoryNotFoundError: "the hub has no repository {}, or it is private. Check the name, and HF_TOKEN.",
        errors.RevisionNotFoundError: "{} has no such revision. Check its branches and tags.",
        errors.HFValidationError: "the hub does not accept {} as a name ({}). Check the name.",
    }
    try:
        return send()
    except TokenizerFileError:
        raise
    except Exception as error:
        if isinstance(error, errors.EntryNotFoundError) and not isinstance(error, errors.LocalEntryNotFoundError):
            return None
        for kind, message in refusals.items():
            if isinstance(error, kind):
                raise HubClosedError(message.format(repository, error)) from error
        if _is_network_error(error):
            raise TokenizerUnreachableError(
                f"the hub could not be reached, or failed, for {repository} ({_reason(error)}). Check the network, "
                "HF_ENDPOINT and the proxies, or set HF_HUB_OFFLINE=1 to use the cache as it is."
            ) from error
        # The Rust downloader of the client raises plain `RuntimeError`.
        if isinstance(error, OSError) or type(error) is RuntimeError:
            path = getattr(error, "filename", None) or _cache_folder(repository)
            fault = f"could not be downloaded ({_reason(error)}). Check the permissions and the free space there."
            raise TokenizerFileError(fault, file=str(path)) from error
        raise


def _is_network_error(error: Exception) -> bool:
    # The transport differs between releases of the client.
    packages = {cls.__module__.partition(".")[0] for cls in type(error).__mro__}
    return not packages.isdisjoint(_NETWORK_PACKAGES) or (
        # An error with a file name is of the file system, even if it is a time-out.
        isinstance(error, OSError)
        and error.filename is None
        and (isinstance(error, ConnectionError | TimeoutError) or error.errno in _NETWORK_ERRNOS)
    )


def _reason(error: BaseException) -> str:
    while error.__cause__ is not None:
        error = error.__cause__
    return f"{type(error).__name__}: {(str(error).strip().splitlines() or ['no details'])[0]}"
