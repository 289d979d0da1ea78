"""Look up the context length of a model from `/v1/models`, and keep it for each server and model."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from renderers.client.shared_tasks import share_task

__all__ = ["MODELS_TIMEOUT", "RECENT", "context_lengths", "look_up_context_length"]

_LOG = logging.getLogger("renderers.client")
MODELS_TIMEOUT = 10.0
"""Seconds to wait for the list of models, which a server returns at once."""
RECENT = 10.0
"""The age in seconds up to which a failed request is not repeated, and a length is trusted although it is exceeded.

A request before each prompt would delay all of them.
"""
_KEEP = 1024

context_lengths: dict[tuple[str, str | None], int | None] = {}
"""The context length by base URL and model, None if it is unknown: the last `_KEEP` lookups of this process."""


class _Lookup(NamedTuple):
    time: float
    has_failed: bool


_LOOKUPS: dict[tuple[str, str | None], _Lookup] = {}
"""The last lookup of each length."""
_RUNNING: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[str, str | None], asyncio.Task[int | None]]]
_RUNNING = WeakKeyDictionary()


async def look_up_context_length(
    base_url: str, model: str | None, get_models: Callable[[], Awaitable[Any]], *, max_age: float = math.inf
) -> int | None:
    """Return the context length of a model in tokens. None if the server does not report it, or the request fails.

    Calls during a lookup wait for it. A length that was looked up more than `max_age` seconds ago is looked up again,
    because the server may have been started again. If that fails, the known length is returned. After a failed request
    there is another one, but not at once. An unknown length is logged, once for each model.
    """
    key = base_url, model
    if key in context_lengths:
        now = time.monotonic()
        lookup = _LOOKUPS.get(key, _Lookup(now, False))
        if now - lookup.time <= (RECENT if lookup.has_failed else max_age):
            return context_lengths[key]
    running = _RUNNING.setdefault(asyncio.get_running_loop(), {})
    return await share_task(running, key, lambda: _look_up(base_url, model, get_models))


async def _look_up(base_url: str, model: str | None, get_models: Callable[[], Awaitable[Any]]) -> int | None:
    key = base_url, model
    length, reason, has_failed = None, "/v1/models does not report it", False
    was_logged = key in context_lengths
    try:
        length = find_context_length(await get_models(), model)
    except TypeError as error:
        reason = str(error)
    except Exception as error:
        # Whatever the reason is, an unknown length only means that the engine refuses a prompt that is too long.
        reason, has_failed = f"{type(error).__name__}: {error}", True
        length = context_lengths.get(key)
    if length is None and not was_logged:
        _LOG.warning(
            "%s: the lengths of prompts for %s are not checked, because its context length is unknown: %s",
            base_url,
            model or "the model",
            reason,
        )
    while len(context_lengths) >= _KEEP and key not in context_lengths:
        oldest = next(iter(context_lengths))
        del context_lengths[oldest]
        _LOOKUPS.pop(oldest, None)
    context_lengths[key] = length
    _LOOKUPS[key] = _Lookup(time.monotonic(), has_failed)
    return length


def find_context_length(payload: Any, model: str | None) -> int | None:
    """Return `max_model_len` of a model from the response of `/v1/models`. Without a model, the first one counts.

    Raises:
        TypeError: The response is not an object with the array `data`.

    >>> find_context_length({"data": [{"id": "a", "max_model_len": 4096}]}, "a")
    4096
    """
    cards = payload.get("data") if isinstance(payload, dict) else None
    if not isinstance(cards, list):
        raise TypeError("/v1/models must respond with a JSON object that has the array 'data'")
    for card in cards:
        if isinstance(card, dict) and (model is None or card.get("id") == model):
            length = card.get("max_model_len")
            return length if type(length) is int and length > 0 else None
    return None
