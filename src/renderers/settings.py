"""`RendererSettings`: everything that defines a renderer, resolved from a tokenizer, a config and a family record."""

from __future__ import annotations

import datetime
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

from renderers.configs import (
    CONFIG_CLASSES,
    AutoRendererConfig,
    BaseRendererConfig,
    DefaultRendererConfig,
    merge_chat_template_kwargs,
    switches_of,
)
from renderers.core.options import DEFAULT_DATE, BpeEngineName, ContentTokens, SamplingConventions, ThinkingRetention
from renderers.core.text import describe_type
from renderers.errors import TemplateMissingError, UnknownTemplateWarning, UnreadSwitchWarning
from renderers.families import Family
from renderers.families.registry import NO_MATCH, FamilyMatch, find_family
from renderers.parsing.grammar import NO_OVERRIDES, ParserOverrides
from renderers.programs.base import Program
from renderers.programs.registry import PROGRAMS, ProgramRequest
from renderers.rendering.pipeline import PipelineSettings
from renderers.templating import LIMITS, TemplateLimits
from renderers.templating.chat import read_template
from renderers.tokenizer import ForeignTokenizer, adopt_tokenizer


@dataclass(frozen=True, kw_only=True)
class RendererSettings(PipelineSettings):
    """Everything that defines a renderer. Immutable, picklable and comparable.

    Raises:
        TypeError: The tokenizer does not support `content_tokens`, or `conventions` has another type.
        ValueError: An option has an unknown value.
    """

    family_match: FamilyMatch = NO_MATCH
    """The model's family and how it was matched."""
    config: BaseRendererConfig | None = None
    """The config, including the options that were passed as arguments; None if the renderer was made without one."""
    thinking_retention: ThinkingRetention | None = None
    """The reasoning that a bridge keeps although the template drops it; None for the family's default."""
    parsers: ParserOverrides = NO_OVERRIDES
    """The parsers that override the inferred grammar."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.thinking_retention not in (None, *get_args(ThinkingRetention)):
            choices = ", ".join(map(repr, (None, *get_args(ThinkingRetention))))
            raise ValueError(f"thinking_retention must be one of {choices}, not {self.thinking_retention!r}")
        self.parsers.check()

    __hash__ = PipelineSettings.__hash__


def resolve_settings(
    tokenizer: object,
    config: BaseRendererConfig | None,
    *,
    families: Sequence[str] = (),
    chat_template: str | os.PathLike[str] | None = None,
    chat_template_kwargs: Mapping[str, Any] | None = None,
    date: datetime.date | str | None = None,
    limits: TemplateLimits = LIMITS,
    verify: bool | None = None,
    content_tokens: ContentTokens | None = None,
    conventions: SamplingConventions | None = None,
    thinking_retention: ThinkingRetention | None = None,
    bpe_engine: BpeEngineName | None = None,
) -> RendererSettings:
    """Resolve the settings of a renderer. Options override the config, and the returned config includes them.

    `families` are the family keys of a renderer class and its parent classes. It accepts the configs of all of them.

    Raises:
        TemplateMissingError: There is no chat template.
        TypeError: The config is not a renderer config, or an option has a wrong type.
        ValueError: The config is that of another family, or has a value that its family does not accept.
    """
    if config is not None and not isinstance(config, BaseRendererConfig):
        raise TypeError(
            f"config must be a renderer config, such as Qwen3RendererConfig() or config_from_name('qwen3'), "
            f"not {describe_type(config)}"
        )
    if config is not None and "name" not in type(config).model_fields:
        raise TypeError(
            f"{type(config).__name__} has no `name` field. Wrap a config class of your own in a CustomRendererConfig."
        )
    adopted = adopt_tokenizer(tokenizer, bpe_engine=bpe_engine)
    source = None if chat_template is None else read_template(chat_template, named=adopted.chat_templates)
    if source is not None and isinstance(adopted, ForeignTokenizer):
        # Its special tokens are found in the template that is used.
        adopted = replace(adopted, chat_templates={**adopted.chat_templates, "default": source})
    requested = None if config is None or isinstance(config, AutoRendererConfig) else config.name
    if families and requested not in (None, *families):
        raise ValueError(f"a renderer of the family {families[0]} needs a config of this family, not of {requested}")
    templates = list(adopted.chat_templates.values()) if source is None else [source]
    match = find_family(key=families[0] if families else requested, name=adopted.name_or_path, templates=templates)
    # A template that the caller passes takes precedence over the family's program.
    own = match.family.program
    program = own if source is None and own is not None and own in PROGRAMS else "template"
    if not templates and own not in (None, program):
        raise TemplateMissingError(
            f"{adopted.name_or_path} has no chat template, and the program {own!r} that renders "
            f"{match.family.key} without one is not in this release. Pass a template as chat_template=."
        )
    if match.warning is not None and (match.conflicts or (source is None and match.matched_by != "config")):
        # A caller who passes a template or a config knows that it may be unknown, but not that it is another family's.
        warnings.warn(match.warning, UnknownTemplateWarning, stacklevel=3)
    if config is not None and requested in families[1:]:
        config = _convert_config(config, CONFIG_CLASSES[families[0]])
    options = {
        "date": None if date is None else to_datetime(date).isoformat(),
        "content_tokens": content_tokens,
        "thinking_retention": thinking_retention,
    }
    passed = {name: value for name, value in options.items() if value is not None}
    config = _with_options(AutoRendererConfig() if config is None else config, match.family, passed)
    if not isinstance(chat_template_kwargs, Mapping | None):
        raise TypeError(f"chat_template_kwargs must be a dict, not {describe_type(chat_template_kwargs)}")
    kwargs, types = chat_template_kwargs or {}, {switch.name: switch.values for switch in match.family.switches}
    # Configs cannot hold lists and dicts.
    containers = {name: value for name, value in kwargs.items() if types.get(name) in (list, dict)}
    config = merge_chat_template_kwargs(config, {name: kwargs[name] for name in kwargs.keys() - containers.keys()})
    parsers = NO_OVERRIDES
    if isinstance(config, DefaultRendererConfig):
        parsers = ParserOverrides(config.tool_parser, config.reasoning_parser)
    if conventions is None:
        conventions = match.family.conventions if config.conventions == "0.1" else SamplingConventions()
    if program == "template":
        requests = (ProgramRequest(adopted, source, with_tools, limits, False) for with_tools in (False, True))
        template_kwargs = _template_kwargs([PROGRAMS[program](request) for request in requests], match.family, config)
    else:
        template_kwargs = switches_of(config)
    return RendererSettings(
        tokenizer=adopted,
        date=DEFAULT_DATE if config.date is None else to_datetime(config.date),
        program=program,
        chat_template=source,
        chat_template_kwargs={**template_kwargs, **containers},
        limits=limits,
        verify=verify,
        content_tokens=config.content_tokens,
        conventions=conventions,
        prefill=config.prefill,
        family_match=match,
        config=config,
        thinking_retention=config.thinking_retention,
        parsers=parsers,
    )


def _with_options(config: BaseRendererConfig, family: Family, options: Mapping[str, Any]) -> BaseRendererConfig:
    """Return the config with other options, as a config of the family if it is an `AutoRendererConfig`."""
    config_class = CONFIG_CLASSES[family.key] if isinstance(config, AutoRendererConfig) else type(config)
    fields = {name: getattr(config, name) for name in config.model_fields_set - {"name"}}
    return config_class(**{**fields, **options})


def _convert_config(config: BaseRendererConfig, config_class: type[BaseRendererConfig]) -> BaseRendererConfig:
    """Convert the config of a family to that of a related family with the same values.

    Raises:
        ValueError: A field that was set does not exist in the other config.
    """
    missing = sorted(config.model_fields_set - config_class.model_fields.keys())
    if missing:
        raise ValueError(
            f"{config_class.__name__} has no field {', '.join(missing)} of {type(config).__name__}. "
            f"Pass a {config_class.__name__}."
        )
    shared = (type(config).model_fields.keys() & config_class.model_fields.keys()) - {"name"}
    return config_class(**{name: getattr(config, name) for name in shared})


def _template_kwargs(programs: Sequence[Program], family: Family, config: BaseRendererConfig) -> dict[str, Any]:
    """Return the template arguments of a config.

    Warn about an argument that was set and that no template reads. Leave out the default value of an argument that
    only the family's program reads.

    Raises:
        ValueError: An argument that only the program reads has another value.
    """
    kwargs, defaults = switches_of(config), {switch.name: switch.default for switch in family.switches}
    read = {name for name in defaults if any(used.mentions(name) for used in programs)}
    unread = kwargs.keys() & (defaults.keys() - read)
    if family.program is None:
        for name in sorted(unread & config.model_fields_set):
            if kwargs[name] != defaults[name]:
                message = f"{name}={kwargs[name]!r} has no effect: the chat template does not read it"
                warnings.warn(message, UnreadSwitchWarning, stacklevel=4)
        return kwargs
    changed = sorted(name for name in unread if kwargs[name] != defaults[name])
    if changed:
        raise ValueError(
            f"{', '.join(changed)} of {family.key} needs the program {family.program!r}, which is not in this release. "
            "The chat template does not read it."
        )
    return {name: value for name, value in kwargs.items() if name not in unread}


def to_datetime(date: datetime.date | str) -> datetime.datetime:
    """Convert a date, a datetime or ISO text to a datetime.

    >>> to_datetime("2026-01-31")
    datetime.datetime(2026, 1, 31, 0, 0)
    """
    if isinstance(date, str):
        try:
            return datetime.datetime.fromisoformat(date)
        except ValueError:
            raise ValueError(f"date {date!r} is not ISO text such as '2026-01-31'") from None
    if not isinstance(date, datetime.date):
        raise TypeError(f"date must be a date, a datetime or ISO text, not {describe_type(date)}")
    return date if isinstance(date, datetime.datetime) else datetime.datetime(date.year, date.month, date.day)
