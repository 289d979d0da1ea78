"""`RendererPool`: the interface of a pool, for code that was written for one; a renderer needs none."""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import queue
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from renderers.configs import BaseRendererConfig
from renderers.core.completions import ParsedResponse
from renderers.core.tokens import RenderedTokens
from renderers.errors import RendererPoolError
from renderers.factory import create_renderer
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

    def render(self, messages: Iterable[Any], **options: Any) -> RenderedTokens:
        """Renders with one that is free."""
        rendered: RenderedTokens = self._lent("render", messages, **options)
        return rendered

    def render_ids(self, messages: Iterable[Any], **options: Any) -> list[int]:
        """Renders with one that is free."""
        ids: list[int] = self._lent("render_ids", messages, **options)
        return ids

    def parse_response(self, token_ids: Iterable[Any], **options: Any) -> ParsedResponse:
        """Reads a completion with one that is free."""
        parsed: ParsedResponse = self._lent("parse_response", token_ids, **options)
        return parsed

    def bridge_to_next_turn(
        self, previous_prompt_ids: Any, previous_completion_ids: Any, new_messages: Any, **options: Any
    ) -> RenderedTokens | None:
        """Extends a rollout with one that is free."""
        prior = previous_prompt_ids, previous_completion_ids
        bridged: RenderedTokens | None = self._lent("bridge_to_next_turn", *prior, new_messages, **options)
        return bridged

    def get_stop_token_ids(self) -> list[int]:
        """Returns the tokens that a model is to be stopped with."""
        stops: list[int] = self._lent("get_stop_token_ids")
        return stops

    @property
    def is_prefix_stable(self) -> bool:
        """Whether appending messages leaves the ids of a conversation unchanged."""
        return bool(self._first.is_prefix_stable)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        value = getattr(self._first, name)
        return functools.partial(self._lent, name) if inspect.isroutine(value) else value

    def _lent(self, method: str, *args: Any, **kwargs: Any) -> Any:
        with self.checkout() as renderer:
            return getattr(renderer, method)(*args, **kwargs)


def create_renderer_pool(
    name_or_path: str | os.PathLike[str],
    config: BaseRendererConfig | None = None,
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
