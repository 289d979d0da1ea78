"""Errors have the words of the server, and only requests that sampled nothing are sent again."""

from __future__ import annotations

import email.utils
import time

import pytest

from renderers.client.faults import MAX_DELAY, retry_delay, to_error
from renderers.errors import (
    EngineConnectionError,
    EngineDisconnectedError,
    EngineStatusError,
    EngineStreamError,
    EngineTimeoutError,
    MalformedGenerateResponseError,
)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b'{"error": {"message": "no such model", "type": "NotFoundError"}}', "no such model"),
        (b'{"error": "unknown field `max_tokens`"}', "unknown field `max_tokens`"),
        (b'{"detail": "Not Found"}', "Not Found"),
        (b'{"detail": [{"loc": ["body"], "msg": "missing"}]}', "[{'loc': ['body'], 'msg': 'missing'}]"),
        (b'{"message": "busy"}', "busy"),
        (b"plain text", "'plain text'"),
        (b"[1]", "'[1]'"),
        (b"", "the response is empty"),
        (b"[" * 100_000, "'" + "[" * 60 + " ... " + "[" * 60 + "'"),
    ],
)
def test_an_error_has_the_words_of_the_server(body: bytes, reason: str) -> None:
    error = to_error(404, {}, body, url="http://a", prompt_length=3)
    assert isinstance(error, EngineStatusError)
    assert (error.reason, error.status) == (reason, 404)
    assert str(error) == f"http://a: HTTP status 404: {reason}"


@pytest.mark.parametrize(("value", "seconds"), [("7", 7.0), ("0.5", 0.5), ("-3", 0.0), ("soon", None)])
def test_the_time_to_wait_is_read(value: str, seconds: float | None) -> None:
    error = to_error(503, {"retry-after": value}, b"", url="", prompt_length=None)
    assert isinstance(error, EngineStatusError)
    assert error.retry_after == seconds


def test_the_time_to_wait_can_be_a_date() -> None:
    date = email.utils.formatdate(time.time() + 100, usegmt=True)
    error = to_error(503, {"retry-after": date}, b"", url="", prompt_length=None)
    assert isinstance(error, EngineStatusError)
    assert error.retry_after is not None
    assert 0 < error.retry_after <= 100


@pytest.mark.parametrize(
    "error",
    [
        EngineTimeoutError("late"),
        EngineDisconnectedError("reset"),
        EngineStreamError("cut"),
        MalformedGenerateResponseError("no ids"),
        EngineStatusError("broken", status=500),
        EngineStatusError("proxy", status=502),
        EngineStatusError("may have sampled", status=503),
        EngineStatusError("too long to wait", status=503, retry_after=MAX_DELAY + 1),
        ValueError("other"),
    ],
)
def test_a_request_that_may_have_sampled_tokens_is_not_sent_again(error: Exception) -> None:
    assert retry_delay(error, 0) is None


@pytest.mark.parametrize(
    ("error", "is_repeated"),
    [
        (EngineTimeoutError("late"), True),
        (EngineDisconnectedError("reset"), True),
        (EngineConnectionError("refused"), True),
        (EngineStatusError("broken", status=500), True),
        (EngineStatusError("starting", status=503), True),
        (EngineStatusError("unknown", status=404), False),
        (MalformedGenerateResponseError("no JSON"), False),
    ],
)
def test_a_request_that_does_not_sample_is_sent_again_after_other_failures_too(
    error: Exception, is_repeated: bool
) -> None:
    assert (retry_delay(error, 0, samples=False) is not None) == is_repeated


def test_delays_grow_up_to_a_limit() -> None:
    delays = [retry_delay(EngineConnectionError("refused"), attempt) or 0 for attempt in range(20)]
    assert all(0 < delay <= MAX_DELAY for delay in delays)
    assert delays[0] <= 0.5 < delays[8]


@pytest.mark.parametrize("seconds", [0, 3, MAX_DELAY])
def test_clients_of_a_busy_server_return_at_different_times_and_later_each_time(seconds: float) -> None:
    error = EngineStatusError("busy", status=429, retry_after=seconds)
    delays = [(retry_delay(error, attempt) or 0) - seconds for attempt in (0, 0, 0, 0, 8)]
    assert len({*delays}) == 5
    assert 0 < max(delays[:4]) <= 0.5 < delays[4] <= MAX_DELAY
