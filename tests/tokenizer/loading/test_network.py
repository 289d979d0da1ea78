"""A hub without a connection is an error soon, a slow one is waited for, and the client's retries are not printed."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from renderers.tokenizer.loading.network import NoResponseError, address_of, first_response, quiet_client, within


@pytest.fixture
def url() -> Iterator[str]:
    """The URL of a host that accepts connections and never responds."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}/path"


@pytest.fixture
def never() -> Iterator[threading.Event]:
    """An event that is set after the test, so that threads end."""
    event = threading.Event()
    yield event
    event.set()


def test_the_result_or_the_error_of_the_request_is_returned(url: str) -> None:
    assert first_response(lambda: 7, url, limit=60) == 7
    with pytest.raises(ValueError, match="bug"):
        first_response(lambda: int("bug"), url, limit=60)


def test_a_result_counts_though_the_host_refuses_connections() -> None:
    assert first_response(lambda: 7, "http://127.0.0.1:9", limit=60) == 7


def test_a_host_that_accepts_connections_is_waited_for(url: str) -> None:
    later = threading.Event()

    def slow() -> str:
        later.wait()
        return "late"

    timer = threading.Timer(1.5, later.set)
    timer.start()
    assert first_response(slow, url, limit=60, seconds=1) == "late"
    timer.join()


def test_a_host_that_never_responds_is_not_waited_for_without_end(url: str, never: threading.Event) -> None:
    with pytest.raises(NoResponseError, match=r"no response within 1\.1 seconds"):
        first_response(never.wait, url, limit=1.1, seconds=1)


def test_a_host_that_refuses_connections_is_not_waited_for(never: threading.Event) -> None:
    with pytest.raises(ConnectionRefusedError):
        first_response(never.wait, "http://127.0.0.1:9", limit=60, seconds=0.1)


def test_a_lookup_that_hangs_is_not_waited_for(never: threading.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.getaddrinfo", lambda *_, **__: never.wait())
    with pytest.raises(TimeoutError, match=r"no connection to hub\.invalid within 0\.1 seconds"):
        first_response(never.wait, "https://hub.invalid/path", limit=60, seconds=0.1)


def test_one_address_that_accepts_a_connection_is_enough(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _, port = address_of(url)
    later = threading.Event()

    def both(*_: object, **__: object) -> list[tuple[Any, ...]]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", number)) for number in (9, port)]

    monkeypatch.setattr("socket.getaddrinfo", both)
    timer = threading.Timer(1.5, later.set)
    timer.start()
    assert first_response(later.wait, url, limit=60, seconds=1) is True
    timer.join()


def test_work_without_a_result_in_time_is_an_error(never: threading.Event) -> None:
    assert within(60, lambda: 7) == 7
    with pytest.raises(TimeoutError, match=r"no response within 0\.01 seconds"):
        within(0.01, never.wait)


@pytest.mark.parametrize(
    ("url", "settings", "expected"),
    [
        ("https://huggingface.co/a/b", {}, ("huggingface.co", 443)),
        ("http://localhost:8080/a", {}, ("localhost", 8080)),
        ("http://localhost/a", {}, ("localhost", 80)),
        ("https://huggingface.co/a", {"https_proxy": "http://proxy:3128"}, ("proxy", 3128)),
        ("https://huggingface.co/a", {"https_proxy": "proxy:3128"}, ("proxy", 3128)),
        ("https://huggingface.co/a", {"http_proxy": "http://proxy:3128"}, ("huggingface.co", 443)),
        (
            "https://huggingface.co/a",
            {"https_proxy": "http://p:1", "no_proxy": "huggingface.co"},
            ("huggingface.co", 443),
        ),
    ],
)
def test_the_address_is_that_of_the_url_or_of_its_proxy(
    url: str, settings: dict[str, str], expected: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "https_proxy", "no_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    assert address_of(url) == expected


def test_warnings_of_the_client_about_retries_are_logged_at_info(caplog: pytest.LogCaptureFixture) -> None:
    client = logging.getLogger("huggingface_hub.utils._http")
    shown: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: shown.append(record.getMessage())  # type: ignore[method-assign]
    client.addHandler(handler)
    try:
        with caplog.at_level("INFO", logger="renderers"), quiet_client():
            client.warning("Retrying in %ss", 1)
            client.error("broken")
            other = threading.Thread(target=client.warning, args=("of another thread",))
            other.start()
            other.join()
        client.warning("after")
    finally:
        client.removeHandler(handler)
    assert shown == ["broken", "of another thread", "after"]
    assert "the hub's client: Retrying in 1s" in caplog.text
