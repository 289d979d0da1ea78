"""The switches of a config: which there are, what the template is given, and others merged in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from renderers.configs.base import BaseRendererConfig
from renderers.configs.special import CustomRendererConfig, DefaultRendererConfig

__all__ = ["merge_chat_template_kwargs", "switches_of", "template_field_names"]

_Config = TypeVar("_Config", bound=BaseRendererConfig)


def template_field_names(config: BaseRendererConfig) -> frozenset[str]:
    """Returns the names of the switches of a config: the fields that its template reads.

    >>> from renderers.configs import GLM5RendererConfig
    >>> sorted(template_field_names(GLM5RendererConfig()))
    ['clear_thinking', 'enable_thinking']
    """
    return type(_resolved(config)).template_field_names()


def switches_of(config: BaseRendererConfig) -> dict[str, Any]:
    """Returns what the template is given: the switches that are not None, and the free fields of a default config.

    >>> from renderers.configs import Qwen35RendererConfig
    >>> switches_of(Qwen35RendererConfig())
    {'add_vision_id': False}
    """
    resolved = _resolved(config)
    names = type(resolved).template_field_names()
    given = {name: getattr(resolved, name) for name in type(resolved).model_fields if name in names}
    return {name: value for name, value in given.items() if value is not None} | (resolved.model_extra or {})


def merge_chat_template_kwargs(config: _Config, chat_template_kwargs: Mapping[str, Any] | None) -> _Config:
    """Returns the config with other switches, checked as if it were written so; without any, the config itself.

    Raises:
        TypeError: The switches are no mapping.
        ValueError: A name is no switch of the config, or a value is none for it.

    >>> from renderers.configs import Qwen3RendererConfig
    >>> merge_chat_template_kwargs(Qwen3RendererConfig(), {"enable_thinking": False}).enable_thinking
    False
    """
    if not chat_template_kwargs:
        return config
    if not isinstance(chat_template_kwargs, Mapping):
        raise TypeError(f"chat_template_kwargs must be a mapping, not a {type(chat_template_kwargs).__name__}")
    resolved = _resolved(config)
    names = type(resolved).template_field_names()
    takes_all = isinstance(resolved, DefaultRendererConfig)
    unknown = [
        name
        for name in sorted(chat_template_kwargs)
        if (name in type(resolved).model_fields if takes_all else name not in names)
    ]
    if unknown:
        allowed = "any that is no field of the config" if takes_all else ", ".join(sorted(names)) or "none"
        raise ValueError(
            f"chat_template_kwargs has {', '.join(unknown)}, which the template of {getattr(config, 'name', None)!r} "
            f"is not given: it may have {allowed}; give other options in the config"
        )
    given = {name: getattr(config, name) for name in config.model_fields_set}
    return type(config)(**(given | dict(chat_template_kwargs)))


def _resolved(config: BaseRendererConfig) -> BaseRendererConfig:
    """Returns the config that has the switches: that of the caller's own class, or the config itself."""
    if not isinstance(config, CustomRendererConfig):
        return config
    # Only here, as the loader of classes imports these configs.
    from renderers.custom import custom_renderer_config

    return custom_renderer_config(config)
