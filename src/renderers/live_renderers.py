"""The renderers of this process, so that an unpickled one has nothing to learn again."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from renderers.settings import RendererSettings
from renderers.tokenizer import LoadedTokenizer

if TYPE_CHECKING:
    from renderers.renderer import ChatRenderer

_LIVE: WeakValueDictionary[tuple[type[ChatRenderer], RendererSettings], ChatRenderer] = WeakValueDictionary()


def register(renderer: ChatRenderer) -> None:
    """Make a renderer the one that equal renderers are unpickled to, unless there is one."""
    if _is_shared(type(renderer), renderer.settings):
        _LIVE.setdefault((type(renderer), renderer.settings), renderer)


def _is_shared(renderer_class: type[ChatRenderer], settings: RendererSettings) -> bool:
    """Return True if equal renderers are interchangeable: the class is one of this package."""
    return is_ours(renderer_class) and isinstance(settings.tokenizer, LoadedTokenizer)


def is_ours(renderer_class: type) -> bool:
    """Return True for a class of this package."""
    return renderer_class.__module__.partition(".")[0] == __name__.partition(".")[0]


def restore(renderer_class: type[ChatRenderer], settings: RendererSettings) -> ChatRenderer:
    """Return the equal renderer of this process, with everything that it has learned, or a new one."""
    live = _LIVE.get((renderer_class, settings)) if _is_shared(renderer_class, settings) else None
    return live or renderer_class._from_settings(settings)
