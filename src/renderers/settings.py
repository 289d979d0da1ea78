"""What a renderer is made of, put together from a tokenizer, a config, and the record of its family."""

from __future__ import annotations

import datetime
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from renderers.configs import (
    CONFIG_CLASSES,
    AutoRendererConfig,
    BaseRendererConfig,
    DefaultRendererConfig,
    merge_chat_template_kwargs,
    switches_of,
)
from renderers.core.conventions import SamplingConventions
from renderers.core.options import DEFAULT_DATE, ContentTokens, ThinkingRetention
from renderers.errors import TemplateMissingError, UnknownTemplateWarning, UnreadSwitchWarning
from renderers.families import Family
from renderers.families.registry import FamilyMatch, find_family
from renderers.parsing.grammar import NO_OVERRIDES, ParserOverrides
from renderers.templating.chat import mentions_variable, read_template
from renderers.tokenizer import ForeignTokenizer, adopt_tokenizer

__all__ = ["moment_of", "settings_of"]


def settings_of(
    tokenizer: object,
    config: BaseRendererConfig | None,
    *,
    families: Sequence[str] = (),
    chat_template: str | os.PathLike[str] | None = None,
    chat_template_kwargs: Mapping[str, Any] | None = None,
    date: datetime.date | str | None = None,
    content_tokens: ContentTokens | None = None,
    thinking_retention: ThinkingRetention | None = None,
    conventions: SamplingConventions | None = None,
    **others: Any,
) -> dict[str, Any]:
    """Returns the fields of a renderer.

    `families` are the keys of the one that a class is of, and of those whose configs it takes as well. What is given
    beside the config counts more than it, and stands in the config of the result. `others` are fields that no config
    has.

    Raises:
        TemplateMissingError: The family is written by a program that is not there.
        TypeError: The config is none.
        ValueError: The config is of another family, or says what its family does not take.
    """
    if config is not None and not isinstance(config, BaseRendererConfig):
        raise TypeError(
            f"config must be a renderer's config, such as Qwen3RendererConfig(), not a {type(config).__name__}"
        )
    if config is not None and "name" not in type(config).model_fields:
        raise TypeError(f"{type(config).__name__} names no family: a config of your own goes with CustomRendererConfig")
    adopted = adopt_tokenizer(tokenizer)
    given = None if chat_template is None else read_template(chat_template, named=adopted.chat_templates)
    if given is not None and isinstance(adopted, ForeignTokenizer):
        # Which of its tokens are control tokens is seen in the template that is used.
        adopted = replace(adopted, chat_templates={**adopted.chat_templates, "default": given})
    asked = None if config is None or isinstance(config, AutoRendererConfig) else str(getattr(config, "name", ""))
    if families and asked not in (None, *families):
        raise ValueError(f"a renderer of the family {families[0]} takes its own config, not one of {asked}")
    templates = list(adopted.chat_templates.values()) if given is None else [given]
    found = find_family(key=families[0] if families else asked, name=adopted.name_or_path, templates=templates)
    if not templates and found.family.program is not None:
        raise TemplateMissingError(
            f"{adopted.name_or_path} has no chat template, and the program {found.family.program!r}, which writes "
            f"{found.family.key} without one, is not in this release: pass a template as chat_template="
        )
    if found.warning is not None and (found.conflicts or (given is None and found.matched_by != "config")):
        # Who gives a template, or names the family, knows that it may be another one: but not that of another family.
        warnings.warn(found.warning, UnknownTemplateWarning, stacklevel=3)
    told = None if date is None else moment_of(date).isoformat()
    if config is not None and asked in families[1:]:
        config = _converted(config, CONFIG_CLASSES[families[0]])
    said = {"date": told, "content_tokens": content_tokens, "thinking_retention": thinking_retention}
    whole = _resolved(config, found, {name: value for name, value in said.items() if value is not None})
    whole, loose = _merged(whole, found.family, chat_template_kwargs or {})
    drawn = found.family.conventions if whole.conventions == "0.1" else SamplingConventions()
    return {
        "tokenizer": adopted,
        "config": whole,
        "found": found,
        "chat_template": given,
        "chat_template_kwargs": {**_read_by(templates, found.family, whole), **loose},
        "date": DEFAULT_DATE if whole.date is None else moment_of(whole.date),
        "conventions": drawn if conventions is None else conventions,
        "content_tokens": whole.content_tokens,
        "prefill": whole.prefill,
        "thinking_retention": whole.thinking_retention,
        "parsers": _parsers_of(whole),
        **others,
    }


def _resolved(config: BaseRendererConfig | None, found: FamilyMatch, said: Mapping[str, Any]) -> BaseRendererConfig:
    """Returns the config of a family, with what is said beside it, and in one that left the family open."""
    if config is not None and not isinstance(config, AutoRendererConfig):
        return _made(type(config), config, **said)
    return _made(CONFIG_CLASSES[found.family.key], config, **said)


def _converted(config: BaseRendererConfig, kind: type[BaseRendererConfig]) -> BaseRendererConfig:
    """Returns the config of a family as one of another that has its switches; each has the value that it had.

    Raises:
        ValueError: One that was given is no field of the other.
    """
    lacking = sorted(config.model_fields_set - kind.model_fields.keys())
    if lacking:
        raise ValueError(f"{', '.join(lacking)} of a {type(config).__name__} is no field of {kind.__name__}: pass that")
    shared = (type(config).model_fields.keys() & kind.model_fields.keys()) - {"name"}
    return kind(**{name: getattr(config, name) for name in shared})


def _made(kind: type[BaseRendererConfig], config: BaseRendererConfig | None, **said: Any) -> BaseRendererConfig:
    """Makes a config of some class with what another one was given, and with what is said beside it."""
    kept = {} if config is None else {name: getattr(config, name) for name in config.model_fields_set - {"name"}}
    return kind(**{**kept, **said})


def _merged(
    config: BaseRendererConfig, family: Family, switches: Mapping[str, Any]
) -> tuple[BaseRendererConfig, dict[str, Any]]:
    """Returns a config with other switches, and the lists and dicts among these, which no config holds."""
    kinds = {one.name: one.values for one in family.switches}
    loose = {name: value for name, value in switches.items() if kinds.get(name) in (list, dict)}
    return merge_chat_template_kwargs(config, {name: switches[name] for name in switches.keys() - loose.keys()}), loose


def _read_by(templates: Sequence[str], family: Family, config: BaseRendererConfig) -> dict[str, Any]:
    """Returns what the templates are given of the switches of a family.

    What somebody asked for, and no template reads, is warned of. What only the family's program reads is left out as
    long as it says what would be so anyway.

    Raises:
        ValueError: What only the program reads says something else.
    """
    switches, defaults = switches_of(config), {one.name: one.default for one in family.switches}
    read = {name for name in defaults if any(mentions_variable(text, name) for text in templates)}
    asked = switches.keys() & (defaults.keys() - read)
    if family.program is None:
        for name in sorted(asked & config.model_fields_set) if templates else ():
            if switches[name] != defaults[name]:
                said = f"{name}={switches[name]!r} changes no render: the template does not read it"
                warnings.warn(said, UnreadSwitchWarning, stacklevel=4)
        return switches
    unread = sorted(name for name in asked if switches[name] != defaults[name])
    if unread:
        raise ValueError(
            f"{', '.join(unread)} of {family.key} can only be had from the program {family.program!r}, which this "
            "release does not have; its chat template does not read them"
        )
    return {name: value for name, value in switches.items() if name not in asked}


def _parsers_of(config: BaseRendererConfig) -> ParserOverrides:
    if not isinstance(config, DefaultRendererConfig):
        return NO_OVERRIDES
    return ParserOverrides(config.tool_parser, config.reasoning_parser)


def moment_of(date: datetime.date | str) -> datetime.datetime:
    """Returns the time that a date, a datetime or its ISO text is.

    >>> moment_of("2026-01-31")
    datetime.datetime(2026, 1, 31, 0, 0)
    """
    if isinstance(date, str):
        return datetime.datetime.fromisoformat(date)
    if not isinstance(date, datetime.date):
        raise TypeError(f"date must be a date, a datetime or its ISO text, not a {type(date).__name__}")
    return date if isinstance(date, datetime.datetime) else datetime.datetime(date.year, date.month, date.day)
