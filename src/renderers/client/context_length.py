"""Look up the context length of a model from `/v1/models`, once for each server and model."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any
from weakref import WeakKeyDictionary

from renderers.client.shared_tasks import share_task

__all__ = ["context_lengths", "look_up_context_length"]

_LOG = logging.getLogger("renderers.client")
_KEEP = 1024

context_lengths: dict[tuple[str, str | None], int | None] = {}
"""The context length by base URL and model, None if it is unknown: the last `_KEEP` lookups of this process."""

_RUNNING: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[str, str | None], asyncio.Task[int | None]]]
_RUNNING = WeakKeyDictionary()


async def look_up_context_length(
    base_url: str, model: str | None, get_models: Callable[[], Awaitable[Any]]
) -> int | None:
    """Return the context length of a model in tokens. None if the server does not report it.

    Calls that come while a lookup runs wait for it. An unknown length is logged, and is not looked up
    again.
    """
    key = base_url, model
    if key in context_lengths:
        return context_lengths[key]
    running = _RUNNING.setdefault(asyncio.get_running_loop(), {})
    return await share_task(running, key, lambda: _look_up(base_url, model, get_models))


async def _look_up(base_url: str, model: str | None, get_models: Callable[[], Awaitable[Any]]) -> int | None:
    try:
        length = find_context_length(await get_models(), model)
        reason = "/v1/models does not report it"
    except Exception as error:
        # Whatever the reason is, an unknown length only means that the engine refuses a prompt that is too long.
        length = None
        reason = f"{type(error).__name__}: {error}"
    if length is None:
        _LOG.warning("%s: prompts for %s are sent without a check of their lengths: %s", base_url, model, reason)
    while len(context_lengths) >= _KEEP:
        del context_lengths[next(iter(context_lengths))]
    context_lengths[base_url, model] = length
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
