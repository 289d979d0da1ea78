"""Read a completion from the bytes of a stream."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator

from renderers.client.completion import Completion
from renderers.client.engines.base import CompletionReader
from renderers.client.stream_events import END_OF_STREAM, EventDecoder

__all__ = ["read_completion"]


async def read_completion(
    chunks: AsyncIterator[bytes], reader: CompletionReader
) -> AsyncGenerator[list[int] | Completion, None]:
    """Yield the ids of each event of a stream, and at the end the completion.

    Raises:
        EngineStreamError: The stream reports an error, or ends early.
        MalformedGenerateResponseError: An event cannot be read, or the ids and the logprobs do not match.
    """
    decoder = EventDecoder()
    async for chunk in chunks:
        for data in decoder.feed(chunk):
            if data == END_OF_STREAM:
                yield reader.close()
                return
            ids = reader.feed(data)
            if ids:
                yield ids
    yield reader.close()
