"""Ask the hub for one response before a download, so that an unreachable hub is an error within seconds.

The hub's client repeats failed requests for minutes, and waits for each address of a host in turn.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import socket
import threading
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import Future, as_completed, wait
from typing import Any, TypeVar
from urllib.parse import urlsplit

Result = TypeVar("Result")

CONNECT_SECONDS = 2.5
"""How long a connection to the hub may take, including the lookup of its address."""

_LOG = logging.getLogger(__name__)
_DEFAULT_PORTS = {"http": 80, "https": 443}
_RETRY_LOGGERS = ("huggingface_hub.utils._http", "huggingface_hub.file_download")
_REQUESTS = threading.local()


class NoResponseError(TimeoutError):
    """The hub accepted a connection, but did not respond in time."""


def first_response(ask: Callable[[], Result], url: str, *, limit: float, seconds: float = CONNECT_SECONDS) -> Result:
    """Return the result of `ask`, which sends a request to `url`.

    The connection is tried beside `ask`, not before it, because the client may be configured to reach the hub in
    another way.

    Raises:
        NoResponseError: There was a connection, but no result after `limit` seconds. Some releases of the client
            repeat the request for longer.
        OSError: After `seconds` there was neither a result nor a connection to the host.
    """
    host, port = address_of(url)
    response = _in_background(ask)
    connection = _in_background(functools.partial(_connect, host, port, seconds))
    wait([response], timeout=seconds)
    if not response.done():
        if not connection.done():
            raise TimeoutError(f"no connection to {host} within {seconds:g} seconds")
        if (error := connection.exception()) is not None:
            raise error
    return _result_within(limit - seconds, response, limit)


def within(seconds: float, work: Callable[[], Result]) -> Result:
    """Return the result of work that has no time-out of its own.

    Raises:
        NoResponseError: There is no result after `seconds`.
    """
    return _result_within(seconds, _in_background(work), seconds)


def _result_within(rest: float, future: Future[Result], seconds: float) -> Result:
    """Return a result that is there after `rest` of a number of seconds."""
    wait([future], timeout=rest)
    if not future.done():
        raise NoResponseError(f"no response within {seconds:g} seconds")
    return future.result()


def address_of(url: str) -> tuple[str, int]:
    """Return the host and port that a client connects to for a URL: those of the URL, or of the proxy for it."""
    parts = urlsplit(url)
    proxy = urllib.request.getproxies().get(parts.scheme)
    if proxy and parts.hostname and not urllib.request.proxy_bypass(parts.hostname):
        parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    return parts.hostname or "", parts.port or _DEFAULT_PORTS.get(parts.scheme, 443)


def _in_background(work: Callable[[], Result]) -> Future[Result]:
    """Run work in a thread that does not keep the process alive: a lookup of an address cannot be cancelled."""
    future: Future[Result] = Future()

    def run() -> None:
        try:
            with quiet_client():
                future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True, name="renderers-hub").start()
    return future


def _connect(host: str, port: int, seconds: float) -> None:
    """Connect to any address of a host. All are tried at once: a network may drop the packets to some of them."""
    addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    attempts = [_in_background(functools.partial(_connect_to, address, seconds)) for address in addresses]
    for attempt in as_completed(attempts):
        if attempt.exception() is None:
            return
    attempts[0].result()


def _connect_to(address: tuple[Any, ...], seconds: float) -> None:
    family, kind, protocol, _, place = address
    with socket.socket(family, kind, protocol) as connection:
        connection.settimeout(seconds)
        connection.connect(place)


@contextlib.contextmanager
def quiet_client() -> Iterator[None]:
    """Keep warnings of the hub's client about repeated requests of this thread from being printed.

    They are logged at INFO by this package instead.
    """
    for name in _RETRY_LOGGERS:
        # Adding a filter that is there already has no effect.
        logging.getLogger(name).addFilter(_relay_warning)
    outer = getattr(_REQUESTS, "running", False)
    _REQUESTS.running = True
    try:
        yield
    finally:
        _REQUESTS.running = outer


def _relay_warning(record: logging.LogRecord) -> bool:
    if not getattr(_REQUESTS, "running", False) or record.levelno != logging.WARNING:
        return True
    _LOG.info("the hub's client: %s", record.getMessage())
    return False
