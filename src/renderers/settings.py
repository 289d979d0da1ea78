"""`RendererSettings`: everything that defines a renderer, resolved from a tokenizer, a config and a family record."""

from __future__ import annotations

import datetime
import difflib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from renderers.core.caller_warnings import warn_caller
from renderers.core.inputs import TokenizerLike
from renderers.core.lazy import lazy
from renderers.core.losses import DEFAULT_LOSS_POLICY, LossPolicy, OnLoss
from renderers.core.options import (
    DEFAULT_DATE,
    BpeEngineName,
    ContentTokens,
    NoneContent,
    Prefill,
    SamplingConventions,
    ThinkingRetention,
    check_choice,
)
from renderers.core.text import describe_type
from renderers.errors import MissingTokenWarning, TemplateMissingError, UnknownTemplateWarning
from renderers.families import Family
from renderers.families.registry import NO_MATCH, FamilyMatch, find_family
from renderers.parsing.grammar import NO_OVERRIDES, ParserOverrides
from renderers.parsing.response_template import read_declared_format
from renderers.programs.base import Program
from renderers.programs.encoders.piece_program import PieceProgram
from renderers.programs.registry import PROGRAMS, ProgramRequest
from renderers.programs.template import TemplateProgram
from renderers.rendering.pipeline import PipelineSettings
from renderers.switches import check_arguments, warn_unread
from renderers.templating import LIMITS, TemplateLimits
from renderers.templating.chat import read_template
from renderers.tokenizer import ForeignTokenizer, LoadedTokenizer, adopt_tokenizer
from renderers.tokenizer.foreign_specials import find_unnamed_tokens

if TYPE_CHECKING:
    from renderers.config_reader import ConfigReader
    from renderers.configs import BaseRendererConfig


@dataclass(frozen=True, kw_only=True)
class RendererSettings(PipelineSettings):
    """Everything that defines a renderer. Immutable, picklable and comparable.

    Raises:
        TypeError: The tokenizer does not support `content_tokens`, or `conventions` has another type.
        ValueError: An option has an unknown value.
    """

    family_match: FamilyMatch = NO_MATCH
    """The model's family and how it was matched."""
    given_config: BaseRendererConfig | None = None
    """The config, including the options that were passed as arguments; None if all fields have their defaults."""
    thinking_retention: ThinkingRetention | None = None
    """The reasoning that a bridge keeps although the template drops it; None for the family's default."""
    parsers: ParserOverrides = NO_OVERRIDES
    """The parsers that override the inferred grammar."""
    on_loss: LossPolicy = DEFAULT_LOSS_POLICY
    """How input that the template does not write is reported."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("thinking_retention", self.thinking_retention, (None, *get_args(ThinkingRetention)))
        self.parsers.check()
        read_declared_format(self.tokenizer.response_template, self.parsers)

    @lazy
    def config(self) -> BaseRendererConfig:
        """The config, including the options that were passed as arguments."""
        if self.given_config is not None:
            return self.given_config
        # The config classes need pydantic, which takes longer to import than the rest of a renderer.
        from renderers.config_reader import default_config

        return default_config(self.family_match.family)

    __hash__ = PipelineSettings.__hash__


class ConfigOptions(NamedTuple):
    """The options that override fields of a config. None for those that were not passed."""

    chat_template_kwargs: Mapping[str, Any] | None = None
    date: datetime.date | str | None = None
    content_tokens: ContentTokens | None = None
    thinking_retention: ThinkingRetention | None = None
    on_loss: OnLoss | None = None
    none_content: NoneContent | None = None
    program: str | None = None
    tool_parser: str | None = None
    reasoning_parser: str | None = None

    def check(self) -> None:
        """Check the values. Pydantic would describe a wrong one in its own words, on several lines.

        Raises:
            TypeError: The name of a program or a parser is not a string.
            ValueError: An option has an unknown value.
        """
        check_choice("content_tokens", self.content_tokens, (None, *get_args(ContentTokens)))
        check_choice("thinking_retention", self.thinking_retention, (None, *get_args(ThinkingRetention)))
        check_choice("none_content", self.none_content, (None, *get_args(NoneContent)))
        for option in ("program", "tool_parser", "reasoning_parser"):
            value = getattr(self, option)
            if not isinstance(value, str | None):
                raise TypeError(f"{option} must be a name, not {describe_type(value)}")

    @property
    def are_empty(self) -> bool:
        """True if there is nothing to override. A value of a wrong type counts as passed."""
        kwargs = self.chat_template_kwargs
        return not any(option is not None for option in self[1:]) and (
            kwargs is None or (isinstance(kwargs, Mapping) and not kwargs)
        )


@dataclass(frozen=True, kw_only=True)
class ConfigValues:
    """The values of a config and of the options that override it. The defaults are those of every config."""

    switches: Mapping[str, Any]
    """The template arguments that a config can hold."""
    chosen: frozenset[str] = frozenset()
    """The names of the fields that were set."""
    passed: frozenset[str] = frozenset()
    """The names of the template arguments that were passed as such."""
    others: Mapping[str, Any] = field(default_factory=dict)
    """The template arguments that a config cannot hold: lists, dicts, and names of other variables."""
    date: datetime.datetime = DEFAULT_DATE
    content_tokens: ContentTokens = "template"
    conventions: SamplingConventions = field(default_factory=SamplingConventions)
    prefill: Prefill = "template"
    none_content: NoneContent = "omitted"
    thinking_retention: ThinkingRetention | None = None
    on_loss: LossPolicy = DEFAULT_LOSS_POLICY
    program: str | None = None
    """The name of the program that was asked for. None for that of the family."""
    parsers: ParserOverrides = NO_OVERRIDES
    config: BaseRendererConfig | None = None
    """The config with the options; None if all fields have their defaults."""


def resolve_settings(
    tokenizer: TokenizerLike,
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
    on_loss: OnLoss | None = None,
    bpe_engine: BpeEngineName | None = None,
    none_content: NoneContent | None = None,
    program: str | None = None,
    tool_parser: str | None = None,
    reasoning_parser: str | None = None,
) -> RendererSettings:
    """Resolve the settings of a renderer. Options override the config, and the returned config includes them.

    `families` are the family keys of a renderer class and its parent classes. It accepts the configs of all of them.

    Raises:
        TemplateMissingError: There is no chat template.
        TypeError: The config is not a renderer config, or an option has a wrong type.
        ValueError: The config is that of another family than the renderer class or the chat template, or has a value
            that its family does not accept.
    """
    if not isinstance(limits, TemplateLimits):
        raise TypeError(f"limits must be TemplateLimits, not {describe_type(limits)}")
    # Pydantic would describe a wrong policy in its own words, on several lines.
    LossPolicy.of(on_loss)
    parsers = tool_parser, reasoning_parser
    options = ConfigOptions(
        chat_template_kwargs, date, content_tokens, thinking_retention, on_loss, none_content, program, *parsers
    )
    reader = _config_reader(config, options)
    adopted, source = _read_model(tokenizer, chat_template, bpe_engine)
    templates = list(adopted.chat_templates.values()) if source is None else [source]
    match = _match_family(adopted.name_or_path, templates, reader, families, own_template=source is None)
    values = _read_values(reader, match.family, adopted, parents=families[1:])
    used = _choose_program(values.program, match.family, adopted.name_or_path, templates, own_template=source is None)
    programs = _build_programs(used, adopted, source, limits)
    template_kwargs = _template_kwargs(programs, match.family, values)
    if isinstance(adopted, ForeignTokenizer):
        _warn_of_missing_tokens(adopted, programs)
    return RendererSettings(
        tokenizer=adopted,
        date=values.date,
        program=used,
        chat_template=source,
        chat_template_kwargs={**template_kwargs, **values.others},
        limits=limits,
        verify=verify,
        content_tokens=values.content_tokens,
        conventions=values.conventions if conventions is None else conventions,
        prefill=values.prefill,
        none_content=values.none_content,
        family_stop_tokens=match.family.stop_tokens if match.warning is None else (),
        family_match=match,
        given_config=values.config,
        thinking_retention=values.thinking_retention,
        on_loss=values.on_loss,
        parsers=values.parsers,
    )


def _read_model(
    tokenizer: TokenizerLike, chat_template: str | os.PathLike[str] | None, bpe_engine: BpeEngineName | None
) -> tuple[LoadedTokenizer | ForeignTokenizer, str | None]:
    """Return the tokenizer to use, and the source of the template that the caller passes; None for its own."""
    adopted = adopt_tokenizer(tokenizer, bpe_engine=bpe_engine)
    source = None if chat_template is None else read_template(chat_template, named=adopted.chat_templates)
    if source is not None and isinstance(adopted, ForeignTokenizer):
        # Its special tokens are found in the template that is used.
        adopted = replace(adopted, chat_templates={**adopted.chat_templates, "default": source})
    return adopted, source


def _match_family(
    name: str, templates: Sequence[str], reader: ConfigReader | None, families: Sequence[str], *, own_template: bool
) -> FamilyMatch:
    """Return the family of a model. Warn about a template that is unknown for it, unless the caller chose one of both.

    Raises:
        ValueError: The config is that of another family than the renderer class or the chat template.
    """
    requested = None if reader is None else reader.family_key
    if families and requested not in (None, *families):
        raise ValueError(f"a renderer of the family {families[0]} needs a config of this family, not of {requested}")
    match = find_family(
        key=families[0] if families else requested,
        name=name,
        templates=templates,
        any_template=reader is not None and reader.any_template,
    )
    if match.warning is not None and (match.conflicts or (own_template and match.matched_by != "config")):
        # A caller who passes a template or a config knows that it may be unknown.
        warn_caller(match.warning, UnknownTemplateWarning)
    return match


def _read_values(
    reader: ConfigReader | None, family: Family, tokenizer: LoadedTokenizer | ForeignTokenizer, parents: Sequence[str]
) -> ConfigValues:
    """Return the values of a config for a family, or the defaults of the family."""
    if reader is None:
        values = ConfigValues(switches=family.default_switches, content_tokens=family.content_tokens)
    else:
        values = reader.read(family, parents=parents)
    if isinstance(tokenizer, ForeignTokenizer) and "content_tokens" not in values.chosen:
        # It cannot encode special tokens as text.
        return replace(values, content_tokens="template")
    return values


def _config_reader(config: BaseRendererConfig | None, options: ConfigOptions) -> ConfigReader | None:
    """Return a reader of a config and of options. None if there is nothing to read."""
    if config is None and options.are_empty:
        return None
    # The config classes need pydantic, which takes longer to import than the rest of a renderer.
    from renderers.config_reader import ConfigReader

    return ConfigReader(config, options)


def _choose_program(
    requested: str | None, family: Family, name: str, templates: Sequence[str], *, own_template: bool
) -> str:
    """Return the name of the program: the requested one, the template that the caller passes, or the family's program.

    Raises:
        TemplateMissingError: There is no template, and the family's program is not in this release.
        ValueError: There is no such program, or the caller passes a template and another program.
    """
    if requested is not None:
        if requested not in PROGRAMS:
            close = difflib.get_close_matches(requested, PROGRAMS, n=1)
            hint = f"Did you mean {close[0]!r}? " if close else ""
            raise ValueError(
                f"there is no program {requested!r}. {hint}The programs are {', '.join(sorted(PROGRAMS))}."
            )
        if requested != "template" and not own_template:
            raise ValueError(
                f"chat_template= and program={requested!r} contradict each other. Pass only one of the two."
            )
        return requested
    own = family.program if templates else family.program or family.program_without_template
    program = own if own_template and own is not None and own in PROGRAMS else "template"
    if not templates and own not in (None, program):
        raise TemplateMissingError(
            f"{name} has no chat template, and the program {own!r} that renders {family.key} without one is not in "
            "this release. Pass a template as chat_template=."
        )
    return program


def _build_programs(
    name: str, tokenizer: LoadedTokenizer | ForeignTokenizer, source: str | None, limits: TemplateLimits
) -> list[Program]:
    """Return the programs of conversations without and with tools.

    Raises:
        TemplateError: There is no template, or it does not compile.
        ValueError: The vocabulary lacks special tokens of the program.
    """
    requests = (ProgramRequest(tokenizer, source, with_tools, limits, False) for with_tools in (False, True))
    programs = [PROGRAMS[name](request) for request in requests]
    needed = programs[0].special_tokens if isinstance(programs[0], PieceProgram) else ()
    find = tokenizer.vocab.token_id if isinstance(tokenizer, ForeignTokenizer) else tokenizer.added_tokens.get
    missing = [text for text in needed if find(text) is None]
    if missing:
        raise ValueError(
            f"the program {name!r} writes special tokens that are not in the vocabulary of {tokenizer.name_or_path}: "
            f"{', '.join(map(repr, missing))}. Pass program='template' to use its chat template."
        )
    return programs


def _template_kwargs(programs: Sequence[Program], family: Family, values: ConfigValues) -> Mapping[str, Any]:
    """Return the template arguments of a config. Warn about those that were set and that no template reads.

    The default value of an argument that only the family's program reads is left out.

    Raises:
        UnknownSwitchError: An argument that was not set in a config is unknown.
        ValueError: An argument that only the program reads has another value.
    """
    kwargs = values.switches
    passed = {name: value for name, value in {**kwargs, **values.others}.items() if name in values.passed}
    check_arguments(passed, family=family, programs=programs)
    chosen = {name: kwargs[name] for name in values.chosen & (kwargs.keys() - values.passed)}
    warn_unread(chosen, family=family, programs=programs)
    if family.program is None:
        return kwargs
    defaults = {switch.name for switch in family.switches}
    return {
        name: value
        for name, value in kwargs.items()
        if name not in defaults or any(program.mentions(name) for program in programs)
    }


def _warn_of_missing_tokens(tokenizer: ForeignTokenizer, programs: Sequence[Program]) -> None:
    templates = [program.template for program in programs if isinstance(program, TemplateProgram)]
    missing = find_unnamed_tokens(tokenizer, {name for template in templates for name in template.arguments})
    if missing:
        warn_caller(
            f"the chat template writes {', '.join(missing)}, but {type(tokenizer.wrapped).__name__} has no such "
            "attribute, so the prompts lack it. Set it to the text of the token, or to None if there is none.",
            MissingTokenWarning,
        )


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
