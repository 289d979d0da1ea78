"""Typed renderer configs: the base class, the configs without a family, and their template switches."""

from __future__ import annotations

import datetime
import difflib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, TypeVar, get_args

from pydantic import VERSION, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from renderers.core.importing import load_target
from renderers.core.losses import LossAction, LossPolicy
from renderers.core.options import ContentTokens, NoneContent, ThinkingRetention
from renderers.core.text import describe_type
from renderers.families.family import Family
from renderers.families.registry import FAMILIES

CONFIG_CLASSES: dict[str, type[BaseRendererConfig]] = {}
"""The config class of each family, by the key of the family, and those named `auto`, `default` and `custom`."""

_OLD_FLAGS = {"preserve_all_thinking": "all", "preserve_thinking_between_tool_calls": "tool_cycle"}

# Deferred classes are built on first use, which saves most of the import time. Pydantic builds them under a lock since
# 2.14. Before that, concurrent first uses can validate with the schema of a parent class.
_DEFER_BUILD = tuple(map(int, VERSION.split(".")[:2])) >= (2, 14)


def _to_iso_text(date: object) -> object:
    """Convert a date to ISO text. Check a date that is already text."""
    if isinstance(date, datetime.date):
        return date.isoformat()
    if isinstance(date, str):
        try:
            datetime.datetime.fromisoformat(date)
        except ValueError:
            raise ValueError(f"{date!r} is not a date. Use ISO text such as '2026-01-31'.") from None
    return date


def _to_policy(on_loss: object) -> object:
    """Convert actions by kind to a policy, which is hashable."""
    return LossPolicy.of(on_loss) if isinstance(on_loss, Mapping) else on_loss


def option(default: Any, description: str) -> Any:
    """Declare a field of a config."""
    return Field(default=default, description=description)


class BaseRendererConfig(BaseModel):
    """The options of a renderer. Configs are frozen, hashable and comparable, and reject unknown fields.

    Text is converted to the type of the field, because command lines pass everything as text:
    `"false"` to a bool, `"5"` to a number, `"None"` to None. Numbers are rejected for bool fields, and
    bools for number fields.

    Each field of a subclass is a template switch, passed to the template under its name, unless
    `_internal_fields` lists it. `family` is the key of the family that the config class belongs to.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=_DEFER_BUILD)

    _family: ClassVar[Family | None] = None
    _internal_fields: ClassVar[frozenset[str]] = frozenset()

    if TYPE_CHECKING:  # Every config class of this package has a name. Custom config classes need none.
        name: str = ""

    thinking_retention: ThinkingRetention | None = option(
        None, "How much reasoning of past turns a bridge keeps. None uses the template's default."
    )
    content_tokens: ContentTokens = option(
        "template",
        "How to encode control text in a message: as the template does, as ordinary text, or with an error.",
    )
    date: Annotated[str, BeforeValidator(_to_iso_text)] | None = option(
        None, "The current date for templates that use it, as ISO text. A `datetime.date` is converted."
    )
    conventions: Literal["exact", "0.1"] = option(
        "exact", "Which tokens count as sampled: those that the model samples, or those that release 0.1 marked."
    )
    prefill: Literal["template", "kept"] = option(
        "template", "Whether past turns keep the empty reasoning block of the prompt: as in the template, or always."
    )
    none_content: NoneContent = option(
        "omitted",
        "How to pass None to a template that would write the word: as an empty field, or as None.",
    )

    on_loss: Annotated[LossAction | LossPolicy | None, BeforeValidator(_to_policy)] = option(
        None,
        "How to treat input that the template does not write: one action, or a dict of actions by kind of input.",
    )

    program: str | None = option(
        None,
        "The program that renders messages: `template` for the chat template, or a name such as `harmony`. None uses "
        "the program of the family.",
    )
    tool_parser: str | None = option(None, "The format of tool calls to parse. None uses the format of the template.")
    reasoning_parser: str | None = option(
        None, "The format of reasoning to parse. None uses the format of the template."
    )
    any_template: bool = option(
        False, "Accept a chat template of another family. False raises an error for a template that is known as such."
    )

    def __init_subclass__(cls, *, family: str | None = None, **options: Any) -> None:
        super().__init_subclass__(**options)
        if family is not None:
            cls._family = FAMILIES[family]
            CONFIG_CLASSES[family] = cls

    @classmethod
    def template_field_names(cls) -> frozenset[str]:
        """Return the names of the template switches.

        >>> from renderers.configs import Qwen3VLRendererConfig
        >>> Qwen3VLRendererConfig.template_field_names()
        frozenset({'add_vision_id'})
        """
        shared = {"name", *BaseRendererConfig.model_fields}
        return frozenset(cls.model_fields) - shared - cls._internal_fields

    @model_validator(mode="before")
    @classmethod
    def _convert_text(cls, fields: Any) -> Any:
        """Convert the text `None`. Reject numbers for bool fields and bools for number fields."""
        if not isinstance(fields, dict):
            return fields
        converted: dict[str, Any] = {
            name: None if isinstance(value, str) and value == "None" else value for name, value in fields.items()
        }
        for name in converted.keys() & cls.model_fields.keys():
            annotation, value_type = cls.model_fields[name].annotation, type(converted[name])
            types = {bool, int, float}.intersection(get_args(annotation) or (annotation,))
            if types and (bool not in types if value_type is bool else value_type in (int, float) and types == {bool}):
                expected = "number" if value_type is bool else "bool"
                raise ValueError(f"{name} must be a {expected}, not {converted[name]!r}")
        return converted

    @model_validator(mode="after")
    def _check_retention(self) -> Self:
        """Reject a `thinking_retention` that contradicts a switch."""
        if self._family is None or self.thinking_retention is None:
            return self
        # A dump sets every field, so the caller may not have chosen a default value there.
        from_dump = self.model_fields_set >= set(type(self).model_fields)
        for switch in self.model_fields_set & {rule.switch for rule in self._family.retains}:
            value, default = getattr(self, switch), type(self).model_fields[switch].default
            kept = {rule.value: rule.keeps for rule in self._family.retains if rule.switch == switch}
            if len(kept) < 2 or (from_dump and value == default):
                continue
            if kept.get(value, self.thinking_retention) != self.thinking_retention:
                raise ValueError(
                    f"{switch}={value!r} implies thinking_retention={kept[value]!r}, which contradicts "
                    f"thinking_retention={self.thinking_retention!r}. Set only one of the two."
                )
        return self


class CachedImagesConfig(BaseRendererConfig):
    """The shared fields of configs for vision models."""

    _internal_fields: ClassVar[frozenset[str]] = frozenset({"image_cache_max"})

    image_cache_max: int = option(256, "No effect. Accepted for compatibility with release 0.1.")


class AutoRendererConfig(BaseRendererConfig):
    """Detect the family from the name and the chat template of the model."""

    name: Literal["auto"] = "auto"


class DefaultRendererConfig(BaseRendererConfig):
    """Run the chat template of the model, whatever its family. All other fields are passed to the template.

    >>> DefaultRendererConfig(enable_thinking=False).model_extra
    {'enable_thinking': False}
    """

    model_config = ConfigDict(extra="allow")

    name: Literal["default"] = "default"

    @model_validator(mode="after")
    def _reject_old_flags(self) -> Self:
        """Reject the flags that `thinking_retention` replaced. Templates do not read them."""
        for name, value in (self.model_extra or {}).items():
            if name in _OLD_FLAGS:
                remedy = f"Pass thinking_retention={_OLD_FLAGS[name]!r}" if value else "Leave it out"
                raise ValueError(f"{name} was replaced by thinking_retention. {remedy}.")
        return self

    if TYPE_CHECKING:  # Type checkers would reject the extra fields.

        def __init__(self, **fields: Any) -> None: ...


class CustomRendererConfig(BaseRendererConfig):
    """Use a renderer class of your own. All other fields are those of its `config_class`.

    The class is imported at once, so that a wrong path or field raises here.
    """

    model_config = ConfigDict(extra="allow")
    _internal_fields: ClassVar[frozenset[str]] = frozenset({"import_path"})

    name: Literal["custom"] = "custom"
    import_path: str = Field(
        description="Where the class is: `package.module:Name`, `package.module.Name` or `path/to/file.py:Name`."
    )

    if TYPE_CHECKING:  # Type checkers would reject the extra fields.

        def __init__(self, **fields: Any) -> None: ...

    @model_validator(mode="after")
    def _check_fields(self) -> Self:
        custom_renderer_config(self)
        return self


CONFIG_CLASSES |= {"auto": AutoRendererConfig, "default": DefaultRendererConfig, "custom": CustomRendererConfig}

Config = TypeVar("Config", bound=BaseRendererConfig)


def config_from_name(name: str) -> BaseRendererConfig | None:
    """Create the config with this name, with all fields at their defaults. None for `"auto"`.

    Raises:
        ValueError: There is no such config, or it has required fields.

    >>> config_from_name("qwen3").enable_thinking
    True
    """
    if name == "auto":
        return None
    if name == "custom":
        raise ValueError("a custom renderer needs an import path. Use CustomRendererConfig(import_path=...).")
    if not isinstance(name, str):
        raise TypeError(f"the name of a renderer must be a string such as 'qwen3', not {describe_type(name)}")
    known = sorted(CONFIG_CLASSES.keys() - {"custom"})
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"Did you mean {close[0]!r}? " if close else ""
        raise ValueError(f"there is no renderer {name!r}. {hint}The names are {', '.join(known)}.")
    return CONFIG_CLASSES[name]()


def load_custom_renderer(import_path: str) -> Any:
    """Import a renderer class of the caller. It is called as `(tokenizer, config)`.

    Raises:
        TypeError: Its `config_class` is not a subclass of `BaseRendererConfig`.
        FileNotFoundError, ModuleNotFoundError, ValueError: See `load_target`.
    """
    target = load_target(import_path)
    config_class = getattr(target, "config_class", None)
    if not callable(target) or not (isinstance(config_class, type) and issubclass(config_class, BaseRendererConfig)):
        raise TypeError(
            f"import path {import_path!r} must name a renderer class with a config_class that is a subclass of "
            f"BaseRendererConfig, not {target!r} with config_class {config_class!r}"
        )
    return target


def custom_renderer_config(config: CustomRendererConfig) -> BaseRendererConfig:
    """Create the config of a custom renderer class: its `config_class` with the fields that were set.

    Raises:
        ValidationError: A field is unknown to the class or has a wrong value.
        FileNotFoundError, ModuleNotFoundError, TypeError, ValueError: See `load_custom_renderer`.
    """
    if not isinstance(config, CustomRendererConfig):
        raise TypeError(f"config must be a CustomRendererConfig, not {describe_type(config)}")
    config_class: type[BaseRendererConfig] = load_custom_renderer(config.import_path).config_class
    names = config.model_fields_set - {"name", "import_path"}
    return config_class(**{name: getattr(config, name) for name in names})


def template_field_names(config: BaseRendererConfig) -> frozenset[str]:
    """Return the names of the template switches of a config.

    >>> from renderers.configs import GLM5RendererConfig
    >>> sorted(template_field_names(GLM5RendererConfig()))
    ['clear_thinking', 'enable_thinking']
    """
    return type(_resolve(config)).template_field_names()


def switches_of(config: BaseRendererConfig) -> dict[str, Any]:
    """Return the arguments for the template: the switches that are not None, and the extra fields of a default config.

    >>> from renderers.configs import Qwen35RendererConfig
    >>> switches_of(Qwen35RendererConfig())
    {'add_vision_id': False}
    """
    resolved = _resolve(config)
    names = type(resolved).template_field_names()
    values = {name: value for name, value in resolved if name in names and value is not None}
    return values | (resolved.model_extra or {})


def merge_chat_template_kwargs(config: Config, chat_template_kwargs: Mapping[str, Any] | None) -> Config:
    """Return a copy of the config with other switches, validated. Without any, return the config itself.

    Raises:
        TypeError: `chat_template_kwargs` is not a mapping.
        ValueError: A name is not a switch of the config, or its value is invalid.

    >>> from renderers.configs import Qwen3RendererConfig
    >>> merge_chat_template_kwargs(Qwen3RendererConfig(), {"enable_thinking": False}).enable_thinking
    False
    """
    if not chat_template_kwargs:
        return config
    if not isinstance(chat_template_kwargs, Mapping):
        raise TypeError(f"chat_template_kwargs must be a mapping, not {describe_type(chat_template_kwargs)}")
    check_argument_names(chat_template_kwargs)
    resolved = _resolve(config)
    names = type(resolved).template_field_names()
    accepts_any = isinstance(resolved, DefaultRendererConfig)
    passed = set(chat_template_kwargs)
    rejected = sorted(passed & type(resolved).model_fields.keys() if accepts_any else passed - names)
    if rejected:
        known = ", ".join(sorted(names))
        hint = f"Allowed: {known}." if known else "It has no switches."
        raise ValueError(
            f"chat_template_kwargs has {', '.join(rejected)}: not a switch of {type(resolved).__name__}. "
            f"{'' if accepts_any else f'{hint} '}Set the fields of a config in the config."
        )
    fields = {name: getattr(config, name) for name in config.model_fields_set}
    return type(config)(**(fields | dict(chat_template_kwargs)))


def check_argument_names(chat_template_kwargs: Mapping[Any, Any]) -> None:
    """Raise a `TypeError` if the name of a template argument is not a string."""
    for name in chat_template_kwargs:
        if not isinstance(name, str):
            raise TypeError(f"the keys of chat_template_kwargs must be strings, not {name!r}")


def _resolve(config: BaseRendererConfig) -> BaseRendererConfig:
    """Return the config that declares the switches: that of a custom renderer class, or the config itself.

    Raises:
        TypeError: It is not a config.
    """
    if not isinstance(config, BaseRendererConfig):
        raise TypeError(f"config must be a renderer config, not {describe_type(config)}")
    return custom_renderer_config(config) if isinstance(config, CustomRendererConfig) else config
