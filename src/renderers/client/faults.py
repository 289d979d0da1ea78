"""Turn faults of HTTP requests into errors of this package, and decide which requests are sent again."""

from __future__ import annotations

import contextlib
import email.utils
import json
import random
import re
import time
from collections.abc import Iterator, Mapping

from renderers.client.stream_events import read_server_message
from renderers.core.text import quote_short
from renderers.errors import (
    EngineConnectionError,
    EngineDisconnectedError,
    EngineError,
    EngineStatusError,
    EngineTimeoutError,
    OverlongPromptError,
)

__all__ = ["MAX_DELAY", "naming_address", "retry_delay", "to_error", "to_overlong"]

MAX_DELAY = 30.0
"""The longest time in seconds to wait before a request is sent again."""
_FIRST_DELAY = 0.5

_CONTEXT_LENGTH = re.compile(r"(?:context length|model length|max_model_len|maximum allowed length)[^\d]{0,20}(\d+)")
"""The context length in the refusal of a prompt by vLLM or SGLang."""


def to_error(
    status: int, headers: Mapping[str, str], body: bytes, *, url: str, prompt_length: int | None
) -> EngineStatusError | OverlongPromptError:
    """Return the error for a response with a status that is not a success. It has the words of the server."""
    text = body.decode("utf-8", "replace")
    try:
        message = read_server_message(json.loads(text))
    except (ValueError, RecursionError):
        message = None
    reason = message or (quote_short(text) if text else "the response is empty")
    retry_after = _seconds(headers.get("retry-after"))
    error = EngineStatusError(reason, url=url, status=status, retry_after=retry_after)
    overlong = to_overlong(error, prompt_length) if status in (400, 413, 422) else None
    if overlong is None:
        return error
    overlong.__cause__ = error
    return overlong


def to_overlong(error: EngineError, prompt_length: int | None) -> OverlongPromptError | None:
    """Return the error for a prompt that the server refuses for its length. None if that is not the reason."""
    match = _CONTEXT_LENGTH.search(str(error))
    # A server refuses a short prompt with similar words, if `max_tokens` is too large.
    if match is None or prompt_length is None or prompt_length < int(match[1]):
        return None
    return OverlongPromptError(prompt_len=prompt_length, max_prompt_len=int(match[1]))


@contextlib.contextmanager
def naming_address(url: str) -> Iterator[None]:
    """Add the address to errors about a response that are raised inside."""
    try:
        yield
    except EngineError as error:
        error.url, error.args = url, (f"{url}: {error}",)
        raise


def retry_delay(error: Exception, attempt: int, *, samples: bool = True) -> float | None:
    """Return the seconds to wait before a request is sent again. None if it must not be sent again.

    A request is sent again only if nothing was sampled: there was no connection, or the server refused it with status
    429, or with status 503 and a time to wait. If that time is longer than `MAX_DELAY`, it is not. Other failures can
    come after tokens were sampled. A request that does not sample is also sent again after a time-out, a lost
    connection, and a status from 500 on.
    """
    backoff: float = min(_FIRST_DELAY * 2**attempt, MAX_DELAY) * random.uniform(0.5, 1)
    if isinstance(error, EngineConnectionError):
        return backoff
    if isinstance(error, EngineStatusError):
        if error.retry_after is not None and error.status in (429, 503):
            # All clients of a busy server get the same time. The backoff lets them return at different ones.
            return error.retry_after + backoff if error.retry_after <= MAX_DELAY else None
        return backoff if error.status == 429 or (error.status >= 500 and not samples) else None
    is_lost = isinstance(error, EngineTimeoutError | EngineDisconnectedError)
    return backoff if is_lost and not samples else None


def _seconds(value: str | None) -> float | None:
    """Return the seconds of a Retry-After header, which has seconds or a date. None if it has neither."""
    if value is None:
        return None
    try:
        return max(float(value), 0.0)
    except ValueError:
        pass
    try:
        return max(email.utils.parsedate_to_datetime(value).timestamp() - time.time(), 0.0)
    except ValueError:
        return None
