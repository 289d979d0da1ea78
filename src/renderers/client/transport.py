"""`InferenceClient`: send requests to an inference engine over HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any, Self

from renderers.client.completion import Completion
from renderers.client.completion_checks import read_checked_response, without_views
from renderers.client.context_length import MODELS_TIMEOUT, look_up_context_length
from renderers.client.engines.base import InferenceEngine, SampleRequest
from renderers.client.engines.select import ENGINES, engine_of_server, find_engine
from renderers.client.faults import naming_address, retry_delay, to_error
from renderers.client.response import read_json
from renderers.client.sampling import build_sample_request, read_headers
from renderers.client.server_models import ServerModels
from renderers.client.streams import read_completion
from renderers.client.task_streams import TaskStream
from renderers.core.arguments import check_int, check_optional_str
from renderers.core.inputs import TokenIds
from renderers.core.jsontypes import JsonObject
from renderers.core.text import describe_type
from renderers.core.token_ids import as_ids
from renderers.errors import (
    EngineConnectionError,
    EngineDisconnectedError,
    EngineError,
    EngineStatusError,
    EngineTimeoutError,
    MalformedGenerateResponseError,
)

if TYPE_CHECKING:
    import httpx

__all__ = ["InferenceClient"]

_LOG = logging.getLogger("renderers.client")
_CONNECT_TIMEOUT = 10.0
_MODELS = "/v1/models"
_TRIED = ENGINES["vllm"], ENGINES["sglang"]
"""The engines of a server that does not list its models, in the order in which their endpoints are tried."""


class InferenceClient:
    """Sample completions from an inference server, asynchronously. Use it in one event loop, for any number of tasks.

    Args:
        base_url: The address of the server, with or without `/v1`.
        model: The model to sample from. Servers with one model need none.
        engine: `"vllm"`, `"sglang"`, `"openai_completions"`, an object of your own, or `"auto"` to ask the server.
        api_key: Sent as a bearer token.
        timeout: Seconds to wait for a response, or for the next event of a stream. None waits forever.
        retries: How often a request is sent again, if nothing was sampled: see `retry_delay`.
        headers: Headers of every request.
        max_connections: How many requests are in flight at once. Others wait. By default three quarters of the number
            of files that the process can open.

    Raises:
        ImportError: httpx is not installed.
        TypeError: The engine lacks a method of `InferenceEngine`, or is a class. Or another argument has a wrong type.
        ValueError: The address is not an HTTP address, there is no such engine, or `timeout`, `retries` or
            `max_connections` is too small.
    """

    def __init__(
        self,
        base_url: str,
        *,
        model: str | None = None,
        engine: str | InferenceEngine = "auto",
        api_key: str | None = None,
        timeout: float | None = 600.0,
        retries: int = 3,
        headers: Mapping[str, str] | None = None,
        max_connections: int | None = None,
    ) -> None:
        if not isinstance(base_url, str):
            raise TypeError(f"base_url must be a str such as 'http://localhost:8000', not {describe_type(base_url)}")
        if not base_url.startswith(("http://", "https://")):
            raise ValueError(f"base_url must start with http:// or https://, not {base_url!r}")
        check_optional_str("model", model)
        check_optional_str("api_key", api_key)
        if timeout is not None:
            _check_seconds("timeout", timeout)
        if max_connections is not None:
            max_connections = check_int("max_connections", max_connections, least=1)
        self._root = base_url.rstrip("/").removesuffix("/v1")
        self._engine = None if engine == "auto" else find_engine(engine)
        self._model = model
        self._retries = check_int("retries", retries, least=0)
        self._start = time.monotonic()
        self._models = ServerModels()
        self._has_warned = False
        self._loop: asyncio.AbstractEventLoop | None = None
        credentials = {} if api_key is None else {"Authorization": f"Bearer {api_key}"}
        self._httpx, transport = _import_httpx(encrypted=base_url.startswith("https:"), max_connections=max_connections)
        limit = MODELS_TIMEOUT if timeout is None else min(timeout, MODELS_TIMEOUT)
        self._models_timeout = self._httpx.Timeout(limit, connect=_CONNECT_TIMEOUT, pool=None)
        self._http: httpx.AsyncClient = self._httpx.AsyncClient(
            headers={**credentials, **read_headers("headers", headers)},
            timeout=self._httpx.Timeout(timeout, connect=_CONNECT_TIMEOUT, pool=None),
            transport=transport,
        )

    @property
    def base_url(self) -> str:
        """The root of the server, without `/v1`."""
        return self._root

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def sample(
        self,
        prompt_ids: TokenIds,
        *,
        sampling_params: Mapping[str, Any] | None = None,
        model: str | None = None,
        cache_salt: str | None = None,
        priority: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Completion:
        """Sample one completion of a prompt. `sampling_params` use vLLM's names.

        Raises:
            OverlongPromptError: The server refused the prompt because of its length.
            EngineError: The request failed: see `docs/client.md`.
        """
        request = build_sample_request(
            list(as_ids(prompt_ids, name="prompt_ids")),
            model=model,
            sampling_params=sampling_params,
            cache_salt=cache_salt,
            priority=priority,
        )
        return without_views(await self.sample_request(request, read_headers("headers", headers)))

    async def stream(
        self,
        prompt_ids: TokenIds,
        *,
        sampling_params: Mapping[str, Any] | None = None,
        model: str | None = None,
        cache_salt: str | None = None,
        priority: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> AsyncGenerator[list[int] | Completion, None]:
        """Sample one completion. Yields ids as they arrive, in lists, and at the end the `Completion`.

        Raises:
            OverlongPromptError: The server refused the prompt because of its length.
            EngineError: The request failed. The ids so far are not a completion.
        """
        request = build_sample_request(
            list(as_ids(prompt_ids, name="prompt_ids")),
            model=model,
            sampling_params=sampling_params,
            cache_salt=cache_salt,
            priority=priority,
            stream=True,
        )
        headers = read_headers("headers", headers)
        async with contextlib.aclosing(TaskStream(self.stream_request(request, headers))) as items:
            async for item in items:
                yield item

    async def context_length(self, model: str | None = None, *, max_age: float = math.inf) -> int | None:
        """Return the context length of the model in tokens. None if the server does not report it.

        It is looked up once, and again if that was more than `max_age` seconds ago.
        """
        # A lookup only logs the reason why it fails.
        self._check_usable()
        # The server may have been started again since an earlier client looked it up.
        max_age = min(max_age, time.monotonic() - self._start)
        get_models = partial(self._models.get, self._request_models, max_age=max_age)
        return await look_up_context_length(self._root, model or self._model, get_models, max_age=max_age)

    async def engine(self) -> InferenceEngine:
        """Return the engine, which is detected from the server at the first call with `engine="auto"`.

        If the server does not list its models, a warning is logged, and the engine is vLLM until the list or a
        completion shows that it is another one.

        Raises:
            EngineConnectionError: There is no connection to the server.
            EngineError: The models do not name a known engine.
        """
        return (await self._possible_engines())[0]

    async def _possible_engines(self) -> Sequence[InferenceEngine]:
        """Return the engine; several, in the order in which they are tried, if the server does not list its models.

        Raises:
            EngineError: As `engine`.
        """
        if self._engine is None:
            self._check_usable()
            try:
                models = await self._models.get(self._request_models)
            except EngineConnectionError:
                raise
            except EngineError as error:
                if not self._has_warned:
                    _LOG.warning(
                        "%s: the engine is unknown, so vLLM is tried first. Pass engine=. %s", self._root, error
                    )
                self._has_warned = True
                return _TRIED
            self._engine = engine_of_server(models)
            if self._engine is None:
                url = self._root + _MODELS
                raise EngineError("the models have an unknown owner. Pass engine= to the client.", url=url)
        return (self._engine,)

    async def sample_request(self, request: SampleRequest, headers: Mapping[str, str] | None) -> Completion:
        """Return the completion of a request. Large fields may be memoryviews of the response."""
        request = self._with_model(request)
        async with self._post(request, headers) as (engine, path, response):
            with self._errors_of_this_package(path):
                completion = read_checked_response(engine, await response.aread(), request)
        self._engine = engine
        return completion

    async def stream_request(
        self, request: SampleRequest, headers: Mapping[str, str] | None
    ) -> AsyncGenerator[list[int] | Completion, None]:
        """Yield the ids of a request as they arrive, and at the end the completion."""
        request = self._with_model(request)
        async with self._post(request, headers) as (engine, path, response):
            with self._errors_of_this_package(path):
                async with contextlib.aclosing(read_completion(response.aiter_bytes(), engine, request)) as items:
                    async for item in items:
                        yield item
        self._engine = engine

    @contextlib.asynccontextmanager
    async def _post(
        self, request: SampleRequest, headers: Mapping[str, str] | None
    ) -> AsyncIterator[tuple[InferenceEngine, str, httpx.Response]]:
        """Send a request for a completion. Yields the engine, its path, and the response with an unread body."""
        engines = await self._possible_engines()
        if request.features is not None or request.content_parts:
            # Only vLLM accepts media.
            engines = engines[:1]
        missing: EngineStatusError | None = None
        for engine in engines:
            path, body = engine.build_request(request)
            sent = self._respond("POST", path, body, headers, prompt_length=len(request.prompt_ids))
            async with contextlib.AsyncExitStack() as stack:
                try:
                    response = await stack.enter_async_context(sent)
                except EngineStatusError as error:
                    if error.status != 404:
                        raise
                    # The server has no such endpoint, so nothing was sampled.
                    missing = missing or error
                    continue
                yield engine, path, response
                return
        assert missing is not None
        raise missing

    def _with_model(self, request: SampleRequest) -> SampleRequest:
        return replace(request, model=self._model) if request.model is None else request

    async def _request_models(self) -> JsonObject:
        async with self._respond("GET", _MODELS, None, None) as response:
            with self._errors_of_this_package(_MODELS):
                return read_json(await response.aread())

    @contextlib.asynccontextmanager
    async def _respond(
        self,
        method: str,
        path: str,
        body: Any,
        headers: Mapping[str, str] | None,
        *,
        prompt_length: int | None = None,
    ) -> AsyncIterator[httpx.Response]:
        """Send a request until there is a response with a success. Its body is not read yet."""
        samples = method == "POST"
        timeout = self._http.timeout if samples else self._models_timeout
        request = self._http.build_request(method, self._root + path, json=body, headers=headers, timeout=timeout)
        send = partial(self._send_once, request, path, prompt_length)
        response = await self._send_with_retries(send, samples=samples)
        try:
            yield response
        finally:
            await response.aclose()

    async def _send_with_retries(
        self, send: Callable[[], Awaitable[httpx.Response]], *, samples: bool
    ) -> httpx.Response:
        attempt = 0
        while True:
            try:
                return await send()
            except EngineError as error:
                delay = retry_delay(error, attempt, samples=samples) if attempt < self._retries else None
                if delay is None:
                    if attempt:
                        error.add_note(f"Failed after {attempt + 1} attempts.")
                    raise
            await asyncio.sleep(delay)
            attempt += 1

    async def _send_once(self, request: httpx.Request, path: str, prompt_length: int | None) -> httpx.Response:
        self._check_usable()
        with self._errors_of_this_package(path):
            response = await self._http.send(request, stream=True)
            if response.status_code == 200:
                return response
            try:
                body = await response.aread()
            finally:
                await response.aclose()
        raise to_error(response.status_code, response.headers, body, url=self._root + path, prompt_length=prompt_length)

    @contextlib.contextmanager
    def _errors_of_this_package(self, path: str) -> Iterator[None]:
        """Raise errors of httpx as errors of this package, and add the address to errors about a response."""
        httpx, url = self._httpx, self._root + path
        try:
            with naming_address(url):
                yield
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise EngineConnectionError(f"no connection: {_reason(error)}", url=url) from error
        except httpx.TimeoutException as error:
            seconds = error.request.extensions["timeout"]["read"]
            advice = "" if path == _MODELS else ". Pass timeout= to the client to wait longer."
            raise EngineTimeoutError(
                f"no response within {seconds} seconds ({type(error).__name__}){advice}", url=url
            ) from error
        except httpx.DecodingError as error:
            malformed = MalformedGenerateResponseError(
                f"{url}: the response does not have its Content-Encoding: {_reason(error)}"
            )
            malformed.url = url
            raise malformed from error
        except httpx.RequestError as error:
            raise EngineDisconnectedError(
                f"the connection was lost after the request was sent: {_reason(error)}", url=url
            ) from error

    def _check_usable(self) -> None:
        """Raise a `RuntimeError` if the client is closed, or belongs to another event loop."""
        loop = asyncio.get_running_loop()
        if self._loop is None:
            self._loop = loop
        elif self._loop is not loop:
            raise RuntimeError("this InferenceClient was used in another event loop. Create one for each event loop.")
        if self._http.is_closed:
            raise RuntimeError("this InferenceClient is closed. Create another one.")


def _check_seconds(name: str, value: Any) -> None:
    """Raise an error if a value is not a positive number."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number of seconds or None, not {describe_type(value)}")
    if not float(value) > 0:
        raise ValueError(f"{name} must be a positive number of seconds or None, not {value!r}")


def _reason(error: BaseException) -> str:
    """Return the text of an error of httpx, with that of the operating system, such as too many open files."""
    text, cause = str(error) or type(error).__name__, error.__cause__ or error.__context__
    while cause is not None and not (isinstance(cause, OSError) and cause.strerror):
        cause = cause.__cause__ or cause.__context__
    return text if cause is None or str(cause) in text else f"{text} ({cause})"


def _import_httpx(*, encrypted: bool, max_connections: int | None) -> tuple[Any, httpx.AsyncBaseTransport]:
    """Return the module httpx, which is an optional dependency, and a transport for one client."""
    try:
        import httpx
    except ImportError as error:
        raise ImportError('InferenceClient needs httpx: pip install "renderers[client]"') from error
    # The module needs httpx when it is imported.
    from renderers.client.connections import SeparateConnections

    return httpx, SeparateConnections(encrypted=encrypted, max_connections=max_connections)
