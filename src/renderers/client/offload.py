"""Run the work of a renderer without stalling the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

from renderers.renderer import ChatRenderer

__all__ = ["maybe_offload", "offload_long_work"]

T = TypeVar("T")


async def maybe_offload(renderer: Any, work: Callable[[], T]) -> T:
    """Run work in a thread if the renderer is a pool, which can wait for a free renderer, and else at once."""
    return await asyncio.to_thread(work) if hasattr(renderer, "checkout") else work()


async def offload_long_work(renderer: Any, work: Callable[[], T], *, is_long: bool) -> T:
    """Run work in a thread if it takes long or the renderer is a pool, and else at once.

    A custom renderer that is not in a pool runs in the event loop, because it need not be thread-safe.
    """
    if is_long and isinstance(renderer, ChatRenderer):
        return await asyncio.to_thread(work)
    return await maybe_offload(renderer, work)
