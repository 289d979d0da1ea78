"""Run long work outside of the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from renderers.renderer import ChatRenderer

__all__ = ["LONG_COMPLETION", "is_long_text", "maybe_offload", "offload_long_work"]

T = TypeVar("T")

# A thread runs for 5 ms before another one gets its turn (`sys.getswitchinterval`), so shorter work stalls the event
# loop in a thread as well, and a thread only adds to it. Reading JSON in a thread does not help either: the parser of
# the standard library lets no other thread run.
LONG_COMPLETION = 100_000
"""The number of tokens from which a completion is parsed in a thread."""
_LONG_TEXT = 100_000
"""The number of characters from which messages are rendered in a thread."""


async def maybe_offload(renderer: Any, work: Callable[[], T]) -> T:
    """Run work in a thread if the renderer is a pool, which can wait for a free renderer, and else at once."""
    return await asyncio.to_thread(work) if hasattr(renderer, "checkout") else work()


async def offload_long_work(renderer: Any, work: Callable[[], T], *, is_long: bool) -> T:
    """Run work of a renderer in a thread if it takes long or the renderer is a pool, and else at once.

    A custom renderer that is not in a pool runs in the event loop, because it need not be thread-safe.
    """
    if is_long and isinstance(renderer, ChatRenderer):
        return await asyncio.to_thread(work)
    return await maybe_offload(renderer, work)


def is_long_text(messages: Iterable[Any]) -> bool:
    """Return True if messages have a long text. Counts only their contents, which are nearly all of a long one."""
    total = 0
    for message in messages if isinstance(messages, list | tuple) else ():
        content = message.get("content") if isinstance(message, Mapping) else None
        total += sum(map(_text_length, content)) if isinstance(content, list | tuple) else _text_length(content)
        if total > _LONG_TEXT:
            return True
    return False


def _text_length(content: Any) -> int:
    """Return the number of characters of a text, or of a part with a text."""
    text = content.get("text") if isinstance(content, Mapping) else content
    return len(text) if isinstance(text, str) else 0
