"""Download the files of a repository to the Hugging Face cache, with the hub client."""

from __future__ import annotations

import errno
import functools
import http
import time
from collections.abc import Callable
from typing import Any, TypeVar

from huggingface_hub import constants

from renderers.errors import TokenizerFileError, TokenizerUnreachableError
from renderers.tokenizer.loading.files import MODEL_FILES, TEMPLATE_FOLDER, VOCABULARY_FILES
from renderers.tokenizer.loading.hub_cache import HubClosedError, cache_folder, cached_snapshot
from renderers.tokenizer.loading.network import (
    CONNECT_SECONDS,
    NoResponseError,
    address_of,
    first_response,
    quiet_client,
    within,
)
from renderers.tokenizer.loading.single_flight import SingleFlight
from renderers.tokenizer.loading.suggest import did_you_mean

Result = TypeVar("Result")

_NETWORK_PACKAGES = frozenset("huggingface_hub hf_xet httpx httpx2 httpcore requests urllib3 socket ssl".split())
_NETWORK_ERRNOS = frozenset({errno.ENETDOWN, errno.ENETUNREACH, errno.EHOSTDOWN, errno.EHOSTUNREACH})
_PAUSES = (0.5, 1.0)
"""Seconds before the first request is repeated if the hub answers that it is busy or failed."""
_MARGIN = 5
"""Seconds that the client may take for requests of its own before the first one."""
LISTING_SECONDS = 60
_FETCHES: SingleFlight[frozenset[str]] = SingleFlight(keep=0)


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

    _check_hub(repository, commit())
    any(download(file) for file in VOCABULARY_FILES)
    # Before the other files: a load is repeated until all of those are cached, and so are the templates then.
    listing = functools.partial(HfApi().list_repo_tree, repository, TEMPLATE_FOLDER)
    # The client has no time-out for a listing.
    tree = _request(repository, lambda: within(LISTING_SECONDS, lambda: list(listing(revision=commit()))))
    templates = [entry.path for entry in tree or () if entry.path.endswith(".jinja")]
    for file in (*templates, *MODEL_FILES):
        download(file)
    return frozenset(absent)


def _check_hub(repository: str, revision: str) -> None:
    """Ask for the first file once, with short time-outs, before the client downloads it with long ones and retries.

    The read time-out is that of the client, so that a slow hub is not taken for an unreachable one.
    """
    from huggingface_hub import get_hf_file_metadata, hf_hub_url

    timeouts: Any = (CONNECT_SECONDS, constants.HF_HUB_ETAG_TIMEOUT)  # both transports of the client accept a pair

    def ask() -> object:
        url = hf_hub_url(repository, VOCABULARY_FILES[0], revision=revision)
        return first_response(lambda: get_hf_file_metadata(url, timeout=timeouts), url, limit=sum(timeouts) + _MARGIN)

    for pause in (*_PAUSES, None):
        try:
            _request(repository, ask)
            return
        except TokenizerUnreachableError as error:
            if pause is None or _status_of(error) is None:
                raise
            time.sleep(pause)


def _request(repository: str, send: Callable[[], Result]) -> Result | None:
    """Return the response of the hub; None if the file does not exist there."""
    from huggingface_hub import errors

    try:
        with quiet_client():
            return send()
    except TokenizerFileError:
        raise
    except Exception as error:
        if isinstance(error, errors.EntryNotFoundError) and not isinstance(error, errors.LocalEntryNotFoundError):
            return None
        refusal = _refusal(repository, error)
        if refusal is not None:
            raise HubClosedError(refusal) from error
        if _is_network_error(error):
            raise TokenizerUnreachableError(_describe_failure(repository, error)) from error
        # The Rust downloader of the client raises plain `RuntimeError`.
        if isinstance(error, OSError) or type(error) is RuntimeError:
            path = getattr(error, "filename", None) or cache_folder(repository)
            fault = f"could not be downloaded ({_reason(error)}). Check the permissions and the free space there."
            raise TokenizerFileError(fault, file=str(path)) from error
        raise


def _refusal(repository: str, error: Exception) -> str | None:
    """Describe the hub's refusal of a repository. None if the error is of another kind."""
    from huggingface_hub import errors

    status = _status_of(error)
    if isinstance(error, errors.GatedRepoError):
        return f"{repository} is gated. Ask for access on its page, and set HF_TOKEN to a token that has it."
    if isinstance(error, errors.RevisionNotFoundError):
        return f"{repository} has no such revision. Check its branches and tags."
    if isinstance(error, errors.RepositoryNotFoundError) or status == 404:
        return (
            f"there is no such path, and the hub has no repository {repository}, or it is private. Check the name, "
            f"HF_TOKEN and HF_ENDPOINT.{did_you_mean(repository)}"
        )
    if isinstance(error, errors.HFValidationError):
        reason = " ".join(str(error).split())
        return f"the hub does not accept {repository} as a name ({reason}). Check the name.{did_you_mean(repository)}"
    if status in (401, 403):
        return f"{repository}: the hub denies access ({_reason(error)}). Check HF_TOKEN."
    return None


def _describe_failure(repository: str, error: Exception) -> str:
    """Describe a hub that cannot be reached, is too slow or failed."""
    offline = "or set HF_HUB_OFFLINE=1 to use the cache as it is."
    status = _status_of(error)
    if status is not None:
        remedy = "Wait, set HF_TOKEN" if status == 429 else "Try again later"
        return f"{repository} cannot be downloaded: the hub failed ({_reason(error)}). {remedy}, {offline}"
    host, _ = address_of(constants.ENDPOINT)
    # Both transports of the client have an error of that name.
    if any(isinstance(cause, NoResponseError) or type(cause).__name__ == "ReadTimeout" for cause in _causes(error)):
        fault = f"{host} did not respond in time ({_reason(error)}). Try again, set HF_HUB_ETAG_TIMEOUT to more seconds"
    else:
        fault = f"{host} could not be reached ({_reason(error)}). Check the network, HF_ENDPOINT and the proxies"
    return f"{repository} cannot be downloaded: {fault}, {offline}{did_you_mean(repository)}"


def _is_network_error(error: Exception) -> bool:
    # The transport differs between releases of the client.
    packages = {cls.__module__.partition(".")[0] for cls in type(error).__mro__}
    return not packages.isdisjoint(_NETWORK_PACKAGES) or (
        # An error with a file name is of the file system, even if it is a time-out.
        isinstance(error, OSError)
        and error.filename is None
        and (isinstance(error, ConnectionError | TimeoutError) or error.errno in _NETWORK_ERRNOS)
    )


def _causes(error: BaseException) -> list[BaseException]:
    """Return an error, its cause, the cause of that, and so on."""
    causes = [error]
    while causes[-1].__cause__ is not None:
        causes.append(causes[-1].__cause__)
    return causes


def _status_of(error: BaseException) -> int | None:
    """Return the HTTP status of the response that caused an error. None if there was no response."""
    statuses = (getattr(getattr(cause, "response", None), "status_code", None) for cause in _causes(error))
    return next((status for status in statuses if isinstance(status, int) and status >= 400), None)


def _reason(error: BaseException) -> str:
    status = _status_of(error)
    if status is not None:
        return f"HTTP {status} {http.HTTPStatus(status).phrase}" if status in set(http.HTTPStatus) else f"HTTP {status}"
    cause = _causes(error)[-1]
    return f"{type(cause).__name__}: {(str(cause).strip().splitlines() or ['no details'])[0]}"
