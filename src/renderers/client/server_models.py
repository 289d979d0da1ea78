"""Keep the list of models of a server, from which the engine and the context length are found out."""

from __future__ import annotations

import asyncio
import copy
import math
import time
from collections.abc import Callable, Coroutine
from typing import Any

from renderers.client.context_length import RECENT
from renderers.client.shared_tasks import share_task
from renderers.core.jsontypes import JsonObject
from renderers.errors import EngineConnectionError, EngineError

__all__ = ["ServerModels"]


class ServerModels:
    """The response of `/v1/models`. Callers at the same time share a request."""

    def __init__(self) -> None:
        self._running: dict[None, asyncio.Task[JsonObject]] = {}
        self._response: JsonObject | None = None
        self._response_time = -math.inf
        self._failure: EngineError | None = None
        self._failure_time = -math.inf

    async def get(
        self, request: Callable[[], Coroutine[Any, Any, JsonObject]], *, max_age: float = math.inf
    ) -> JsonObject:
        """Return the response, which is requested if there is none, or if it is older than `max_age` seconds.

        Raises:
            EngineError: The request failed, now or a short time ago. A failed connection is always tried again.
        """
        now = time.monotonic()
        if self._response is not None and now - self._response_time <= max_age:
            return self._response
        if self._failure is not None and now - self._failure_time < RECENT:
            # Other tasks may use the traceback, the context and the notes of the first error.
            raise copy.deepcopy(self._failure) from self._failure
        try:
            self._response = await share_task(self._running, None, request)
        except EngineConnectionError:
            raise
        except EngineError as error:
            self._failure, self._failure_time = error, time.monotonic()
            raise
        self._response_time = time.monotonic()
        return self._response
