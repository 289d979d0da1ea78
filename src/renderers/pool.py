"""`RendererPool`: the interface of a pool, for code that was written for one; a renderer needs none."""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import queue
from collections.abc import Callable, Iterator
from typing import Any

from renderers.create import create_renderer
from renderers.errors import RendererPoolError
from renderers.renderer import ChatRenderer
from renderers.tokenizer import load_tokenizer

__all__ = ["RendererPool", "create_renderer_pool"]


class RendererPool:
    """Lends renderers, at most `size` at a time, and is a renderer itself: every method is that of one that is free.

    A `ChatRenderer` can be used by any number of threads at once, so a pool of one renderer many times is
    as good as many. Other renderers may not be: the factory is asked `size` times, and each of what it
    returns is lent to one borrower at a time.

    Raises:
        RendererPoolError: The factory failed; says for which of the renderers, and why.

    >>> from renderers import EMBEDDED, create_renderer, load_tokenizer
    >>> pool = RendererPool(lambda: create_renderer(load_tokenizer(EMBEDDED)), size=4)
    >>> with pool.checkout() as renderer:
    ...     ids = renderer.render_ids([{"role": "user", "content": "Hi"}])
    >>> ids == pool.render_ids([{"role": "user", "content": "Hi"}])
    True
    """

    def __init__(self, factory: Callable[[], Any], size: int) -> None:
        if size < 1:
            raise ValueError(f"a pool needs at least one renderer, not {size}")
        self._free: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._size = size
        for slot in range(size):
            try:
                made = factory()
            except Exception as error:
                why = f"{type(error).__name__}: {error}"
                raise RendererPoolError(f"renderer {slot} of {size} could not be made: {why}", slot) from error
            if not slot:
                self._first = made
            self._free.put(made)

    @property
    def size(self) -> int:
        """How many renderers can be lent at once."""
        return self._size

    @property
    def renderer_cls(self) -> type:
        """The class of the renderers."""
        return type(self._first)

    @contextlib.contextmanager
    def checkout(self) -> Iterator[Any]:
        """Lends a renderer, and waits for one where all are lent."""
        renderer = self._free.get()
        try:
            yield renderer
        finally:
            self._free.put(renderer)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        value = getattr(self._first, name)
        if not inspect.isroutine(value):
            return value

        @functools.wraps(value)
        def lent(*args: Any, **kwargs: Any) -> Any:
            with self.checkout() as renderer:
                return getattr(renderer, name)(*args, **kwargs)

        return lent


def create_renderer_pool(
    name_or_path: str | os.PathLike[str],
    config: None = None,
    *,
    size: int = 16,
    **options: Any,
) -> RendererPool:
    """Makes a pool of one shared renderer for a model; `options` are those of `create_renderer`.

    >>> from renderers import EMBEDDED
    >>> create_renderer_pool(EMBEDDED, size=32).size
    32
    """

    @functools.cache
    def shared() -> ChatRenderer:
        return create_renderer(load_tokenizer(name_or_path), config, **options)

    return RendererPool(shared, size)
