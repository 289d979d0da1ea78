"""A local HTTP server that speaks the formats of vLLM and SGLang and returns scripted completions and faults.

It uses only the standard library. `serve` runs it in a thread, so it serves synchronous and asynchronous tests:

    with serve(ScriptedServer([Reply([7, 8])])) as server:
        ...  # requests to server.base_url; server.requests has all of them
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import struct
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tests.support.engine_formats import FORMATS, models_response, stream_events, whole_response

__all__ = ["Received", "Reply", "ScriptedServer", "serve"]


class Received(NamedTuple):
    """A request that the server received."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


@dataclass(frozen=True)
class Reply:
    """The response to one request for a completion: the sampled tokens, or a fault."""

    token_ids: Sequence[int] = ()
    logprobs: Sequence[float] | None = None
    """By default -0.5 for the first token, -1.0 for the second one, and so on up to -50."""
    finish_reason: str = "stop"
    abort_status: int | None = None
    """The status of a failure that SGLang reports with the finish reason `"abort"`, and with `message`."""
    top: Sequence[Mapping[int, float]] | None = None
    """The most probable tokens of each position."""
    choice: Mapping[str, Any] = field(default_factory=dict)
    """Fields that replace those of the choice, or of `meta_info` for SGLang."""
    payload: Mapping[str, Any] = field(default_factory=dict)
    """Fields that replace those of the response."""
    chunk: int = 2
    """The number of tokens of each event of a stream."""

    status: int = 200
    message: str = "scripted failure"
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    """A body in place of the response, such as broken JSON."""
    delay: float = 0
    """Seconds before the response."""
    event_delay: float = 0
    """Seconds before each event of a stream."""
    cut_after: int | None = None
    """The number of bytes of the body after which the connection is closed."""
    events: int | None = None
    """The number of events of a stream after which it ends. The rest and the final `[DONE]` are missing."""
    stream_error: str | None = None
    """The message of an error event after `events` events."""
    reset: bool = False
    """Reset the connection in place of a response, or of the rest of it after `cut_after`."""

    def logprob_list(self) -> list[float]:
        """Return a logprob for each token."""
        if self.logprobs is not None:
            return list(self.logprobs)
        return [max(-0.5 * (index + 1), -50.0) for index in range(len(self.token_ids))]


Script = Callable[[Any], Reply]
"""Returns the reply to a request body."""


class ScriptedServer:
    """Returns scripted replies. `script` is a list of replies, in order of the requests, or a function of the body."""

    def __init__(
        self,
        script: Iterable[Reply] | Script,
        *,
        formats: Iterable[str] = ("vllm-0.32", "sglang", "completions"),
        model: str = "test-model",
        max_model_len: int | None = 4096,
        owned_by: str = "vllm",
        models: Reply | None = None,
    ) -> None:
        self._replies = None if callable(script) else iter(script)
        self._script = script if callable(script) else None
        self._formats = {FORMATS[name].path: name for name in formats}
        self._model = model
        self._max_model_len = max_model_len
        self._owned_by = owned_by
        self._models = models
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.StreamWriter] = set()
        self._port = 0
        self.requests: list[Received] = []
        """All requests, in order."""

    @property
    def base_url(self) -> str:
        """The root of the server. The OpenAI endpoints are below `/v1`."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def samples(self) -> list[Any]:
        """The bodies of all requests for a completion."""
        return [received.body for received in self.requests if received.method == "POST"]

    async def start(self) -> None:
        """Listen, after a restart at the same port as before."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Stop listening and reset all connections, as a server that is killed."""
        assert self._server is not None
        self._server.close()
        for writer in list(self._connections):
            _reset(writer)
        await asyncio.sleep(0)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[ScriptedServer]:
        """Run the server in this event loop."""
        await self.start()
        try:
            yield self
        finally:
            await self.stop()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections.add(writer)
        try:
            while (received := await _read_request(reader)) is not None:
                self.requests.append(received)
                if not await self._respond(received, writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._connections.discard(writer)
            writer.close()

    async def _respond(self, received: Received, writer: asyncio.StreamWriter) -> bool:
        """Send a response. Return False if the connection must be closed."""
        path = received.path.partition("?")[0]
        if (received.method, path) == ("GET", "/v1/models"):
            payload = models_response(self._model, self._max_model_len, self._owned_by)
            models = self._models or Reply()
            await asyncio.sleep(models.delay)
            return await _send(writer, models, json.dumps(payload).encode())
        name = self._formats.get(path)
        if received.method != "POST" or name is None:
            return await _send(writer, Reply(status=404, message="Not Found"), b"")
        reply = self._next_reply(received.body)
        await asyncio.sleep(reply.delay)
        if reply.status == 200 and received.body.get("stream") and reply.raw is None:
            return await _send_events(writer, reply, stream_events(name, received.body, reply))
        body = b"" if reply.status != 200 else json.dumps(whole_response(name, received.body, reply)).encode()
        return await _send(writer, reply, body)

    def _next_reply(self, body: Any) -> Reply:
        if self._script is not None:
            return self._script(body)
        assert self._replies is not None
        return next(self._replies, Reply(status=500, message="the script has no more replies"))


@contextlib.contextmanager
def serve(server: ScriptedServer) -> Iterator[ScriptedServer]:
    """Run a server in a thread of its own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(server.start(), loop).result(10)
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(server.stop(), loop).result(10)
        asyncio.run_coroutine_threadsafe(_cancel_others(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


async def _cancel_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


async def _read_request(reader: asyncio.StreamReader) -> Received | None:
    line = await reader.readline()
    if not line:
        return None
    method, path, _ = line.decode("ascii").split(" ", 2)
    headers = {}
    while (line := await reader.readline()) not in (b"\r\n", b""):
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.strip().lower()] = value.strip()
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Received(method, path, headers, json.loads(body) if body else None)


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} Scripted", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join((*lines, "", "")).encode("latin-1")


async def _send(writer: asyncio.StreamWriter, reply: Reply, body: bytes) -> bool:
    if reply.raw is not None:
        body = reply.raw
    elif reply.status != 200:
        error = {"message": reply.message, "type": "ScriptedError", "param": None, "code": reply.status}
        body = json.dumps({"error": error}).encode()
    if reply.reset and reply.cut_after is None:
        _reset(writer)
        return False
    headers = {"Content-Type": "application/json", "Content-Length": str(len(body)), **reply.headers}
    writer.write(_head(reply.status, headers) + body[: reply.cut_after])
    await writer.drain()
    if reply.reset:
        # Let the client read the start of the body first.
        await asyncio.sleep(0.05)
        _reset(writer)
    return reply.cut_after is None and not reply.reset


async def _send_events(writer: asyncio.StreamWriter, reply: Reply, events: Sequence[Any]) -> bool:
    headers = {"Content-Type": "text/event-stream; charset=utf-8", "Transfer-Encoding": "chunked", **reply.headers}
    writer.write(_head(200, headers))
    for event in [json.dumps(event) for event in events[: reply.events]]:
        await asyncio.sleep(reply.event_delay)
        _write_chunk(writer, event)
        await writer.drain()
    if reply.stream_error is not None:
        _write_chunk(writer, json.dumps({"error": {"message": reply.stream_error, "code": 500}}))
    if reply.reset:
        await asyncio.sleep(0.05)
        _reset(writer)
        return False
    if reply.events is None or reply.stream_error is not None:
        _write_chunk(writer, "[DONE]")
    writer.write(b"0\r\n\r\n")
    await writer.drain()
    return True


def _write_chunk(writer: asyncio.StreamWriter, event: str) -> None:
    data = f"data: {event}\n\n".encode()
    writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close a connection so that the peer receives a reset."""
    transport = writer.transport
    connection = transport.get_extra_info("socket")
    if connection is not None and not transport.is_closing():
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()
