"""Read a completion from the bytes of a stream."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator

from renderers.client.completion import Completion
from renderers.client.completion_checks import check_completion, reading_errors
from renderers.client.engines.base import InferenceEngine, SampleRequest
from renderers.client.faults import to_overlong
from renderers.client.sampling import check_prompt
from renderers.client.stream_events import END_OF_STREAM, EventDecoder
from renderers.core.text import quote_short
from renderers.errors import EngineStreamError, MalformedGenerateResponseError

__all__ = ["read_completion"]

_REST_SECONDS = 0.5
_HEAD = 200
"""The number of bytes of a response that an error quotes."""
_FIELDS = (b"data:", b"event:", b"id:", b"retry:", b":")
"""The starts of the lines of an event stream."""


async def read_completion(
    chunks: AsyncIterator[bytes], engine: InferenceEngine, request: SampleRequest
) -> AsyncGenerator[list[int] | Completion, None]:
    """Yield the ids of each event of a stream, and at the end the completion.

    Raises:
        OverlongPromptError: The stream reports that the prompt is too long.
        EngineStreamError: The stream reports another error, or ends early.
        MalformedGenerateResponseError: The response has no events, one cannot be read, or the ids and the logprobs do
            not match.
    """
    decoder, reader, is_open = EventDecoder(), engine.open_stream(request), True
    head: bytes | None = b""
    try:
        async for chunk in chunks:
            events = decoder.feed(chunk)
            head = None if events or head is None else (head + chunk)[:_HEAD]
            for data in events:
                is_open = data != END_OF_STREAM
                with reading_errors(engine):
                    ids = reader.feed(data) if is_open else []
                if ids:
                    yield ids
            if not is_open:
                await _read_rest(chunks)
                break
        if head is not None:
            _check_event_stream(head)
        with reading_errors(engine):
            completion = check_completion(reader.close())
    except EngineStreamError as error:
        overlong = to_overlong(error, len(request.prompt_ids))
        if overlong is None:
            raise
        raise overlong from error
    check_prompt(completion, request)
    yield completion


def _check_event_stream(head: bytes) -> None:
    """Check the start of a response without an event. It may be cut off anywhere, but must not be another document.

    Raises:
        MalformedGenerateResponseError: It is, such as the page of a proxy.
    """
    start = head.lstrip()
    if not start.startswith(_FIELDS) and not any(field.startswith(start) for field in _FIELDS):
        text = quote_short(head.decode("utf-8", "replace"))
        raise MalformedGenerateResponseError(f"the response must be a stream of events, not {text}")


async def _read_rest(chunks: AsyncIterator[bytes]) -> None:
    """Read the end of a response after its last event, so that its connection can be used again.

    The completion is known by then, so a server that does not end the response in time is ignored.
    """
    with contextlib.suppress(Exception):
        async with asyncio.timeout(_REST_SECONDS):
            async for _ in chunks:
                pass
