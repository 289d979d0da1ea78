"""The renderers of this process, so that an unpickled one has nothing to learn again."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from renderers.settings import RendererSettings
from renderers.tokenizer import LoadedTokenizer

if TYPE_CHECKING:
    from renderers.core.options import BpeEngineName
    from renderers.renderer import ChatRenderer

    Key = tuple[type[ChatRenderer], RendererSettings, BpeEngineName]

_LIVE: WeakValueDictionary[Key, ChatRenderer] = WeakValueDictionary()


def register(renderer: ChatRenderer) -> None:
    """Make a renderer the one that equal renderers are unpickled to, unless there is one."""
    key = _key(type(renderer), renderer.settings)
    if key is not None:
        _LIVE.setdefault(key, renderer)


def _key(renderer_class: type[ChatRenderer], settings: RendererSettings) -> Key | None:
    """Return the key of interchangeable renderers; None for classes and tokenizers of a caller."""
    if not is_ours(renderer_class) or not isinstance(settings.tokenizer, LoadedTokenizer):
        return None
    # Equal tokenizers can have other engines.
    return renderer_class, settings, settings.tokenizer.vocab.bpe_engine


def is_ours(renderer_class: type) -> bool:
    """Return True for a class of this package."""
    return renderer_class.__module__.partition(".")[0] == __name__.partition(".")[0]


def restore(renderer_class: type[ChatRenderer], settings: RendererSettings) -> ChatRenderer:
    """Return the equal renderer of this process, with everything that it has learned, or a new one."""
    key = _key(renderer_class, settings)
    live = None if key is None else _LIVE.get(key)
    return live or renderer_class._from_settings(settings)
