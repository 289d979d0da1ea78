"""`RendererPool`: the pool interface of release 0.1. A renderer of this package can be shared without one."""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import queue
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NoReturn, Self, cast

from renderers.core.completions import ParsedResponse
from renderers.core.inputs import MessageLike, TokenIds
from renderers.core.tokens import RenderedTokens
from renderers.errors import RendererPoolError
from renderers.factory import create_renderer
from renderers.renderer import ChatRenderer

if TYPE_CHECKING:
    from renderers.configs import BaseRendererConfig


class RendererPool:
    """A pool of `size` renderers with the methods of a renderer: each call runs on a free one.

    Any number of threads may use a `ChatRenderer` at once, so the factory may return the same one each time. A custom
    renderer may not be thread-safe: the factory is called `size` times, and each result serves one thread at a time.

    Raises:
        RendererPoolError: The factory failed. Names the renderer and the reason.

    >>> from renderers import EXAMPLE_MODEL, create_renderer, load_tokenizer
    >>> pool = RendererPool(lambda: create_renderer(load_tokenizer(EXAMPLE_MODEL)), size=4)
    >>> with pool.checkout() as renderer:
    ...     ids = renderer.render_ids([{"role": "user", "content": "Hi"}])
    >>> ids == pool.render_ids([{"role": "user", "content": "Hi"}])
    True
    """

    def __init__(self, factory: Callable[[], Any], size: int) -> None:
        if not isinstance(size, int):
            raise TypeError(f"the size of a pool must be an int, not {size!r}")
        if not callable(factory):
            raise TypeError(f"the factory of a pool must be a function that creates a renderer, not {factory!r}")
        if size < 1:
            raise ValueError(f"the size of a pool must be at least 1, not {size}")
        self._free: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._size = size
        for slot in range(size):
            try:
                renderer = factory()
            except Exception as error:
                reason = f"{type(error).__name__}: {error}"
                raise RendererPoolError(f"renderer {slot} of {size} could not be created: {reason}", slot) from error
            self._free.put(renderer)
            if slot == 0:
                self._first = renderer

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a RendererPool cannot be pickled. Pickle a ChatRenderer, which needs no pool, or set the renderer of a "
            "rollout to None before you pickle it."
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        # Threads can share it.
        return self

    @property
    def size(self) -> int:
        """The number of renderers."""
        return self._size

    @property
    def renderer_cls(self) -> type:
        """The class of the renderers."""
        return type(self._first)

    @contextlib.contextmanager
    def checkout(self) -> Iterator[Any]:
        """Check out a renderer for the time of a `with` block. Waits until one is free."""
        renderer = self._free.get()
        try:
            yield renderer
        finally:
            self._free.put(renderer)

    def render(self, messages: Iterable[MessageLike], **options: Any) -> RenderedTokens:
        """Render with a free renderer."""
        return cast(RenderedTokens, self._call("render", messages, **options))

    def render_ids(self, messages: Iterable[MessageLike], **options: Any) -> list[int]:
        """Render with a free renderer."""
        return cast(list[int], self._call("render_ids", messages, **options))

    def parse_response(self, token_ids: TokenIds, **options: Any) -> ParsedResponse:
        """Parse a completion with a free renderer."""
        return cast(ParsedResponse, self._call("parse_response", token_ids, **options))

    def bridge_to_next_turn(
        self,
        previous_prompt_ids: TokenIds,
        previous_completion_ids: TokenIds,
        new_messages: Iterable[MessageLike] | None,
        **options: Any,
    ) -> RenderedTokens | None:
        """Extend a rollout with a free renderer."""
        prior = previous_prompt_ids, previous_completion_ids
        return cast(RenderedTokens | None, self._call("bridge_to_next_turn", *prior, new_messages, **options))

    def get_stop_token_ids(self) -> list[int]:
        """Return the stop tokens of the model."""
        return cast(list[int], self._call("get_stop_token_ids"))

    @property
    def is_prefix_stable(self) -> bool:
        """Whether appending messages leaves the ids of a conversation unchanged."""
        return bool(self._first.is_prefix_stable)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        value = getattr(self._first, name)
        return functools.partial(self._call, name) if inspect.isroutine(value) else value

    def _call(self, method: str, *args: Any, **kwargs: Any) -> Any:
        with self.checkout() as renderer:
            return getattr(renderer, method)(*args, **kwargs)


def create_renderer_pool(
    name_or_path: str | os.PathLike[str], config: BaseRendererConfig | None = None, *, size: int = 16, **options: Any
) -> RendererPool:
    """Create a pool of one shared renderer for a model. `options` are those of `create_renderer`.

    >>> from renderers import EXAMPLE_MODEL
    >>> create_renderer_pool(EXAMPLE_MODEL, size=32).size
    32
    """

    @functools.cache
    def shared() -> ChatRenderer:
        return create_renderer(name_or_path, config, **options)

    return RendererPool(shared, size)
