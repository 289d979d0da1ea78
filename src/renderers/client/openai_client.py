"""Send requests with an `AsyncOpenAI` client of the caller. Its errors and its retries are left as they are."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import inspect
import math
from collections.abc import AsyncGenerator, Mapping
from typing import Any

from renderers.client.completion import Completion
from renderers.client.completion_checks import read_checked_response
from renderers.client.context_length import MODELS_TIMEOUT, look_up_context_length
from renderers.client.engines.base import InferenceEngine, SampleRequest
from renderers.client.faults import naming_address
from renderers.client.sampling import build_sample_request
from renderers.client.streams import read_completion
from renderers.core.jsontypes import JsonObject

__all__ = ["OpenAISampler", "is_async_openai"]


class OpenAISampler:
    """Sample with an `AsyncOpenAI` client, or with an object that has its `base_url`, `get` and `post`.

    Args:
        client: The client.
        engine: The engine of its server.
        model: The model that `sample` names, such as a LoRA adapter. None for the base model of the server.
    """

    def __init__(self, client: Any, engine: InferenceEngine, *, model: str | None = None) -> None:
        self._client = client
        self._model = model
        self._engine = engine
        self._base_url = str(client.base_url)

    async def sample_request(self, request: SampleRequest, headers: Mapping[str, str] | None) -> Completion:
        """Return the completion of a request."""
        path, body = self._engine.build_request(request)
        response = await self._post(path, body, headers)
        with naming_address(self._root + path):
            return read_checked_response(self._engine, response.content, request)

    @property
    def _root(self) -> str:
        """The root of the server. The base URL of a client ends in /v1, and the endpoints of engines do not."""
        return self._base_url.rstrip("/").removesuffix("/v1")

    async def _post(self, path: str, body: JsonObject, headers: Mapping[str, str] | None, **options: Any) -> Any:
        if headers:
            options["options"] = {"headers": dict(headers)}
        return await self._client.post(self._root + path, cast_to=_response_class(), body=body, **options)

    async def stream_request(
        self, request: SampleRequest, headers: Mapping[str, str] | None
    ) -> AsyncGenerator[list[int] | Completion, None]:
        """Yield the ids of a request as they arrive, and at the end the completion."""
        path, body = self._engine.build_request(request)
        response = await self._post(path, body, headers, stream=True)
        try:
            with naming_address(self._root + path):
                async with contextlib.aclosing(read_completion(response.aiter_bytes(), self._engine, request)) as items:
                    async for item in items:
                        yield item
        finally:
            await response.aclose()

    async def sample(self, prompt_ids: list[int], *, sampling_params: Mapping[str, Any]) -> Completion:
        """Sample one completion of a prompt."""
        request = build_sample_request(prompt_ids, model=self._model, sampling_params=sampling_params)
        return await self.sample_request(request, None)

    async def context_length(self, model: str | None = None, *, max_age: float = math.inf) -> int | None:
        """Return the context length of a model in tokens. None if it is unknown."""

        async def get_models() -> Any:
            # The time-out of the client is for samples, and is 10 minutes by default.
            async with asyncio.timeout(MODELS_TIMEOUT):
                return await self._client.get("/models", cast_to=dict[str, Any])

        return await look_up_context_length(self._base_url, model, get_models, max_age=max_age)


def is_async_openai(client: Any) -> bool:
    """Return True for an `AsyncOpenAI` client, and for another object that can post requests as it does."""
    is_synchronous = any(base.__name__ == "SyncAPIClient" for base in type(client).__mro__)
    return hasattr(client, "base_url") and not is_synchronous and _accepts_cast_to(getattr(client, "post", None))


def _accepts_cast_to(post: Any) -> bool:
    """Return True if a method has the argument `cast_to`, which the methods of HTTP clients do not have."""
    try:
        parameters = inspect.signature(post).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(each.name == "cast_to" or each.kind is each.VAR_KEYWORD for each in parameters)


def _response_class() -> type[Any]:
    """Return the class that makes the client return responses unparsed: of httpx, or of httpx2 for openai 3."""
    try:
        module = importlib.import_module("httpx")
    except ImportError:
        module = importlib.import_module("httpx2")
    response: type[Any] = module.Response
    return response
