"""`SyncInferenceClient`: the methods of `InferenceClient` for code without an event loop."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping
from concurrent.futures import CancelledError
from typing import Any, Self, TypedDict, TypeVar, Unpack
from weakref import WeakSet

from renderers.client.completion import Completion
from renderers.client.engines.base import InferenceEngine
from renderers.client.generate import TurnStream, generate, stream
from renderers.client.transport import InferenceClient
from renderers.core.completions import ParseEvent
from renderers.core.inputs import MessageLike, TokenIds, ToolLike
from renderers.core.protocols import Renderer
from renderers.core.tokens import MultiModalData, RenderedTokens
from renderers.errors import EngineStreamError

__all__ = ["SyncInferenceClient", "SyncTurnStream"]

T = TypeVar("T")


class ClientOptions(TypedDict, total=False):
    """The options of `InferenceClient`."""

    model: str | None
    engine: str | InferenceEngine
    api_key: str | None
    timeout: float | None
    retries: int
    headers: Mapping[str, str] | None
    max_connections: int | None


class SampleOptions(TypedDict, total=False):
    """The options of `InferenceClient.sample`."""

    sampling_params: Mapping[str, Any] | None
    model: str | None
    cache_salt: str | None
    priority: int | None
    headers: Mapping[str, str] | None


class StreamOptions(TypedDict, total=False):
    """The options of `stream`."""

    model: str | None
    prompt_ids: TokenIds | None
    prompt_attribution: RenderedTokens | None
    tools: Iterable[ToolLike] | None
    sampling_params: Mapping[str, Any] | None
    cache_salt: str | None
    priority: int | None
    extra_headers: Mapping[str, str] | None
    max_prompt_len: int | None


class GenerateOptions(StreamOptions, total=False):
    """The options of `generate`."""

    multi_modal_data: MultiModalData | None
    process_multimodal: bool


class SyncInferenceClient:
    """Sample completions from an inference server. Any number of threads can use it at once.

    The arguments are those of `InferenceClient`, which runs in a thread with an event loop of its own. Close the client
    to end the thread, or use it in a `with` block.
    """

    def __init__(self, base_url: str, **options: Unpack[ClientOptions]) -> None:
        self._client = InferenceClient(base_url, **options)
        self._loop = asyncio.new_event_loop()
        self._lock = threading.Lock()
        self._is_closed = False
        self._process = os.getpid()
        self._turns: WeakSet[TurnStream] = WeakSet()
        self._requests: set[asyncio.Task[Any] | None] = set()
        self._thread = threading.Thread(target=self._run_loop, name="renderers.client", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections and end the thread. Requests of other threads fail. Closing again has no effect.

        In a forked process, closing has no effect: the thread and the connections belong to the parent.
        """
        if self._is_forked:
            return
        with self._lock:
            is_first, self._is_closed = not self._is_closed, True
            ending = asyncio.run_coroutine_threadsafe(self._end(), self._loop) if is_first else None
        if ending is not None:
            ending.add_done_callback(lambda _: self._loop.call_soon_threadsafe(self._loop.stop))
        self._thread.join()
        if ending is not None:
            ending.result()

    def sample(self, prompt_ids: TokenIds, **options: Unpack[SampleOptions]) -> Completion:
        """Sample one completion of a prompt: see `InferenceClient.sample`."""
        return self._run(self._client.sample(prompt_ids, **options))

    def generate(
        self, *, renderer: Renderer, messages: Iterable[MessageLike], **options: Unpack[GenerateOptions]
    ) -> dict[str, Any]:
        """Render a conversation, sample its next turn, and parse it: see `generate`."""
        return self._run(generate(client=self._client, renderer=renderer, messages=messages, **options))

    def stream(
        self, *, renderer: Any, messages: Iterable[MessageLike], **options: Unpack[StreamOptions]
    ) -> SyncTurnStream:
        """Sample the next turn of a conversation, and return its events while the tokens arrive: see `stream`."""
        turn = stream(client=self._client, renderer=renderer, messages=messages, **options)
        self._check_process()
        with self._lock:
            self._turns.add(turn)
        return SyncTurnStream(self, turn)

    def context_length(self, model: str | None = None) -> int | None:
        """Return the context length of the model in tokens. None if the server does not report it."""
        return self._run(self._client.context_length(model))

    def _run_loop(self) -> None:
        self._loop.run_forever()
        self._loop.close()

    async def _end(self) -> None:
        """Cancel all requests and close everything that they opened."""
        # A request ends the tasks that it has started. They must not be cancelled before they run.
        await _cancel(self._requests)
        await asyncio.sleep(0)
        await _cancel(asyncio.all_tasks() - {asyncio.current_task()})
        # Generators inside of a stream must be closed from the outside in, which the event loop does not do.
        with self._lock:
            turns = list(self._turns)
        for turn in turns:
            await turn.aclose()
        await self._loop.shutdown_asyncgens()
        await self._client.aclose()

    async def _run_request(self, work: Coroutine[Any, Any, T]) -> T:
        task = asyncio.current_task()
        self._requests.add(task)
        try:
            return await work
        finally:
            self._requests.discard(task)

    @property
    def _is_forked(self) -> bool:
        """True if the process is a fork of the one that created the client. It has no thread to run requests."""
        return os.getpid() != self._process

    def _check_process(self) -> None:
        if self._is_forked:
            raise RuntimeError(
                "this SyncInferenceClient was created before the process was forked. Create one in each process."
            )

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        if self._is_forked:
            work.close()
        self._check_process()
        # Nothing may start after the last request was cancelled: the loop would stop before its end.
        with self._lock:
            if self._is_closed:
                work.close()
                raise RuntimeError("this SyncInferenceClient is closed")
            future = asyncio.run_coroutine_threadsafe(self._run_request(work), self._loop)
        try:
            return future.result()
        except CancelledError:
            raise RuntimeError("this SyncInferenceClient was closed before the request ended") from None
        except BaseException:
            # A thread that is interrupted leaves no request behind.
            future.cancel()
            raise


async def _cancel(tasks: Iterable[asyncio.Task[Any] | None]) -> None:
    """Cancel tasks and wait until they have ended."""
    ending = [task for task in tasks if task is not None]
    for task in ending:
        task.cancel()
    await asyncio.gather(*ending, return_exceptions=True)


class SyncTurnStream:
    """The events of a turn while it is sampled, and its result. Returned by `SyncInferenceClient.stream`.

    Another thread can close it while one waits for an event or for the result, which then raises an
    `EngineStreamError`.
    """

    def __init__(self, client: SyncInferenceClient, turn: TurnStream) -> None:
        self._client = client
        self._turn = turn
        # Only the thread of the client uses both.
        self._reading: set[asyncio.Task[Any] | None] = set()
        self._closing = asyncio.Lock()

    def __iter__(self) -> Iterator[ParseEvent]:
        return self

    def __next__(self) -> ParseEvent:
        event = self._client._run(self._read(lambda: anext(self._turn, None)))
        if event is None:
            raise StopIteration
        return event

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection. The engine stops sampling. A closed client has closed it already.

        In a forked process, closing has no effect.
        """
        if self._client._is_closed or self._client._is_forked:
            return
        try:
            self._client._run(self._close())
        except RuntimeError:
            # Another thread has closed the client meanwhile.
            if not self._client._is_closed:
                raise

    def result(self) -> dict[str, Any]:
        """Wait for the end of the turn, and return the result of `generate`."""
        return self._client._run(self._read(self._turn.result))

    async def _read(self, read: Callable[[], Awaitable[T]]) -> T:
        # A generator that is being closed cannot be read.
        async with self._closing:
            task = asyncio.current_task()
            self._reading.add(task)
        try:
            return await read()
        except asyncio.CancelledError:
            if not self._closing.locked():
                raise
            raise EngineStreamError("the stream was closed before its end") from None
        finally:
            self._reading.discard(task)

    async def _close(self) -> None:
        async with self._closing:
            # A generator that is running cannot be closed.
            await _cancel(self._reading)
            await self._turn.aclose()
