"""An httpx transport with a connection for each request in flight. Imported only when a client is created."""

from __future__ import annotations

import asyncio
import sys
import time
from collections import deque
from collections.abc import AsyncIterator

import httpx

__all__ = ["SeparateConnections"]

_KEEP_ALIVE = 2.0
"""Seconds that an unused connection is kept. Servers close them after 5, and a request must not meet a closed one."""


class SeparateConnections(httpx.AsyncBaseTransport):
    """Send each request over a connection of its own, and keep the connection for the next one.

    The connection pool of httpx searches all connections for each request, so with hundreds of requests in flight each
    one takes many times as long. Here each transport of httpx has one request at a time.
    """

    def __init__(self, *, encrypted: bool, max_connections: int | None) -> None:
        self._free = asyncio.Semaphore(max_connections or _default_max_connections())
        # All transports share the certificates, which take long to load.
        self._certificates = httpx.create_ssl_context() if encrypted else False
        self._idle: deque[tuple[float, httpx.AsyncHTTPTransport]] = deque()
        self._is_closed = False
        self._timer: asyncio.TimerHandle | None = None
        self._closing: asyncio.Task[None] | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request when a connection is free. The connection is kept when the response is closed."""
        await self._free.acquire()
        transport = self._idle.pop()[1] if self._idle else self._new_transport()
        try:
            response = await transport.handle_async_request(request)
        except BaseException:
            self._free.release()
            await transport.aclose()
            raise
        assert isinstance(response.stream, httpx.AsyncByteStream)
        response.stream = _ReturningStream(response.stream, self, transport)
        return response

    async def aclose(self) -> None:
        """Close all connections. Those in use are closed when their responses are."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        while self._idle:
            await self._idle.popleft()[1].aclose()

    async def keep(self, transport: httpx.AsyncHTTPTransport) -> None:
        """Keep a transport for the next request, or close it if there is none in time."""
        self._free.release()
        if self._is_closed:
            await transport.aclose()
            return
        self._idle.append((time.monotonic(), transport))
        self._start_timer()

    def _start_timer(self) -> None:
        """Close unused connections when the oldest one has been unused for `_KEEP_ALIVE` seconds."""
        if self._timer is None and self._idle and not self._is_closed:
            delay = self._idle[0][0] + _KEEP_ALIVE - time.monotonic()
            self._timer = asyncio.get_running_loop().call_later(max(delay, 0.0), self._start_closing)

    def _start_closing(self) -> None:
        self._timer = None
        # The event loop keeps only a weak reference to a task.
        self._closing = asyncio.ensure_future(self._close_unused())

    async def _close_unused(self) -> None:
        oldest = time.monotonic() - _KEEP_ALIVE
        # Other requests can take connections while one is closed.
        while self._idle and self._idle[0][0] <= oldest:
            await self._idle.popleft()[1].aclose()
        self._start_timer()

    def _new_transport(self) -> httpx.AsyncHTTPTransport:
        return httpx.AsyncHTTPTransport(verify=self._certificates, limits=httpx.Limits(keepalive_expiry=_KEEP_ALIVE))


def _default_max_connections() -> int:
    """Return three quarters of the number of files that the process can open. Each connection is one."""
    try:
        import resource
    except ImportError:
        # Windows has no such limit.
        return sys.maxsize
    limit: int = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return sys.maxsize if limit == resource.RLIM_INFINITY else max(limit * 3 // 4, 1)


class _ReturningStream(httpx.AsyncByteStream):
    """The body of a response. Closing it returns its transport."""

    def __init__(
        self, stream: httpx.AsyncByteStream, connections: SeparateConnections, transport: httpx.AsyncHTTPTransport
    ) -> None:
        self._stream = stream
        self._connections = connections
        self._transport: httpx.AsyncHTTPTransport | None = transport

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            yield chunk

    async def aclose(self) -> None:
        transport, self._transport = self._transport, None
        if transport is not None:
            try:
                await self._stream.aclose()
            finally:
                await self._connections.keep(transport)
