"""`ConfigReader`: read a typed config, and options that override it. Imported only if there is one to read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from renderers.configs import (
    CONFIG_CLASSES,
    AutoRendererConfig,
    BaseRendererConfig,
    CustomRendererConfig,
    DefaultRendererConfig,
    merge_chat_template_kwargs,
    switches_of,
    template_field_names,
)
from renderers.core.losses import LossPolicy
from renderers.core.options import DEFAULT_DATE, SamplingConventions
from renderers.core.text import describe_type
from renderers.families import Family
from renderers.families.configs.base import check_argument_names, custom_renderer_config, load_custom_renderer
from renderers.parsing.grammar import ParserOverrides
from renderers.probing.turn_format import THINKING_SWITCHES
from renderers.settings import ConfigOptions, ConfigValues, to_datetime


@dataclass(frozen=True)
class ConfigReader:
    """A config and the options that override it.

    Raises:
        TypeError: The config is not a renderer config, or has no name, or an option has a wrong type.
        ValueError: An option has an unknown value.
    """

    config: BaseRendererConfig | None
    options: ConfigOptions

    def __post_init__(self) -> None:
        self.options.check()
        if self.config is None:
            return
        if not isinstance(self.config, BaseRendererConfig):
            raise TypeError(
                f"config must be a renderer config, such as Qwen3RendererConfig() or config_from_name('qwen3'), "
                f"not {describe_type(self.config)}"
            )
        kind = type(self.config)
        if "name" not in kind.model_fields:
            raise TypeError(
                f"{kind.__name__} has no `name` field. Wrap a config class of your own in a CustomRendererConfig."
            )
        # Checked now, because the model is loaded before the config is read.
        merge_chat_template_kwargs(self.config, self._own_switches())

    def _own_switches(self) -> dict[str, Any]:
        """Return the template arguments that are switches of the config."""
        passed = self.options.chat_template_kwargs
        names = type(self.config).template_field_names() if isinstance(self.config, BaseRendererConfig) else ()
        return {name: passed[name] for name in names if name in passed} if isinstance(passed, Mapping) else {}

    @property
    def family_key(self) -> str | None:
        """The key of the config's family. None if the family is to be detected."""
        return None if self.config is None or isinstance(self.config, AutoRendererConfig) else self.config.name

    @property
    def any_template(self) -> bool:
        """True if the config accepts a chat template of another family."""
        return self.config is not None and self.config.any_template

    def read(self, family: Family, *, parents: Sequence[str]) -> ConfigValues:
        """Return the values of the config and of the options, as those of a family.

        A config of one of the families in `parents` is converted.

        Raises:
            TypeError: An option has a wrong type.
            ValueError: An option has a value that the family does not accept.
        """
        config = AutoRendererConfig() if self.config is None else self.config
        if self.family_key in parents:
            config = _convert(config, CONFIG_CLASSES[family.key])
        config = _with_options(config, family, self.options)
        kwargs, others = _split_kwargs(self.options.chat_template_kwargs, family, config)
        config = merge_chat_template_kwargs(config, kwargs)
        return ConfigValues(
            switches=switches_of(config),
            chosen=frozenset(config.model_fields_set),
            passed=frozenset(self.options.chat_template_kwargs or ()),
            others=others,
            date=DEFAULT_DATE if config.date is None else to_datetime(config.date),
            content_tokens=config.content_tokens,
            conventions=family.conventions if config.conventions == "0.1" else SamplingConventions(),
            prefill=config.prefill,
            none_content=config.none_content,
            thinking_retention=config.thinking_retention,
            on_loss=LossPolicy.of(config.on_loss),
            program=config.program,
            parsers=ParserOverrides(config.tool_parser, config.reasoning_parser),
            config=None if config == default_config(family) else config,
        )


def default_config(family: Family) -> BaseRendererConfig:
    """Return the config of a family with all fields at their defaults."""
    return CONFIG_CLASSES[family.key]()


def with_default_thinking(
    config: BaseRendererConfig, prompt_with: Callable[[Mapping[str, Any]], str]
) -> BaseRendererConfig:
    """Return a config with the value of the template for the switch of thinking, if it is None.

    `prompt_with` returns the generation prompt for some switches. The value is the one that does not change the
    prompt. None stays if both values or neither of them do. Of two names of a switch only the first is filled in:
    a caller who reuses the config can then pass either name.
    """
    names = type(config).template_field_names()
    name = next((switch for switch in THINKING_SWITCHES if switch in names), None)
    if name is None or getattr(config, name) is not None:
        return config
    same = [value for value in (False, True) if prompt_with({name: value}) == prompt_with({})]
    return config.model_copy(update={name: same[0]}) if len(same) == 1 else config


def find_custom_renderer(
    config: BaseRendererConfig, chat_template_kwargs: Mapping[str, Any] | None, registered: Mapping[str, Any]
) -> tuple[Any, BaseRendererConfig] | None:
    """Return the renderer class that a config names, and the config to create it with. None if it names none.

    `registered` are the renderer classes that callers have registered for families.

    Raises:
        TypeError, ValueError: The class cannot be imported, or does not accept an argument.
    """
    if isinstance(config, CustomRendererConfig):
        merged = merge_chat_template_kwargs(config, chat_template_kwargs)
        return load_custom_renderer(merged.import_path), custom_renderer_config(merged)
    if isinstance(config, BaseRendererConfig) and getattr(config, "name", "") in registered:
        return registered[config.name], merge_chat_template_kwargs(config, chat_template_kwargs)
    return None


def config_of_family(family: str, config: BaseRendererConfig | None) -> BaseRendererConfig:
    """Return a config of a family with the fields of an `AutoRendererConfig` or of None; any other config unchanged."""
    if config is not None and not isinstance(config, AutoRendererConfig):
        return config
    fields = {} if config is None else {name: getattr(config, name) for name in config.model_fields_set - {"name"}}
    return CONFIG_CLASSES[family](**fields)


def _with_options(config: BaseRendererConfig, family: Family, options: ConfigOptions) -> BaseRendererConfig:
    """Return the config with other options, as a config of the family if it is an `AutoRendererConfig`."""
    passed = {
        "date": None if options.date is None else to_datetime(options.date).isoformat(),
        "content_tokens": options.content_tokens,
        "thinking_retention": options.thinking_retention,
        "on_loss": options.on_loss,
        "none_content": options.none_content,
        "program": options.program,
        "tool_parser": options.tool_parser,
        "reasoning_parser": options.reasoning_parser,
    }
    config_class = CONFIG_CLASSES[family.key] if isinstance(config, AutoRendererConfig) else type(config)
    fields = {name: getattr(config, name) for name in config.model_fields_set - {"name"}}
    return config_class(**{**fields, **{name: value for name, value in passed.items() if value is not None}})


def _convert(config: BaseRendererConfig, config_class: type[BaseRendererConfig]) -> BaseRendererConfig:
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


def _split_kwargs(
    chat_template_kwargs: Mapping[str, Any] | None, family: Family, config: BaseRendererConfig
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split template arguments into those that a config holds, and others: lists, dicts, and names of other variables.

    Raises:
        TypeError: The arguments are not a dict with strings as keys.
    """
    if not isinstance(chat_template_kwargs, Mapping | None):
        raise TypeError(f"chat_template_kwargs must be a dict, not {describe_type(chat_template_kwargs)}")
    kwargs, types = chat_template_kwargs or {}, {switch.name: switch.values for switch in family.switches}
    check_argument_names(kwargs)
    fields, switches = type(config).model_fields.keys(), template_field_names(config)
    accepted = kwargs.keys() - fields if isinstance(config, DefaultRendererConfig) else kwargs.keys() & switches
    # A template may read a variable with the name of an option, such as `date`.
    held = {name: value for name, value in kwargs.items() if name in accepted and types.get(name) not in (list, dict)}
    return held, {name: value for name, value in kwargs.items() if name not in held}
