"""`create_renderer`: create the renderer of a tokenizer's family."""

from __future__ import annotations

import datetime
import difflib
import functools
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec

from renderers.core.inputs import TokenizerLike
from renderers.core.losses import OnLoss
from renderers.core.options import BpeEngineName, ContentTokens, NoneContent, SamplingConventions, ThinkingRetention
from renderers.errors import UnsupportedModelError
from renderers.families.registry import MODEL_RENDERER_MAP, UNKNOWN_FAMILY
from renderers.family_renderers import RENDERER_REGISTRY, DefaultMultimodalRenderer, FamilyRenderer
from renderers.renderer import ChatRenderer
from renderers.settings import RendererSettings, resolve_settings
from renderers.templating import LIMITS, TemplateLimits
from renderers.tokenizer import load_tokenizer

if TYPE_CHECKING:
    from renderers.configs import BaseRendererConfig


P = ParamSpec("P")


def _explain_unknown_options(create: Callable[P, ChatRenderer]) -> Callable[P, ChatRenderer]:
    """Raise a `TypeError` for a keyword argument that does not exist, with the place for template arguments."""
    names = {"tokenizer", "config", *(getattr(create, "__kwdefaults__", None) or ())}

    @functools.wraps(create)
    def checked(*args: P.args, **kwargs: P.kwargs) -> ChatRenderer:
        for name in kwargs.keys() - names:
            close = difflib.get_close_matches(name, names, n=1)
            hint = (
                f"Did you mean {close[0]!r}?"
                if close
                else (f"Pass template arguments as chat_template_kwargs={{{name!r}: {kwargs[name]!r}}}.")
            )
            raise TypeError(f"create_renderer has no option {name!r}. {hint}")
        return create(*args, **kwargs)

    return checked


@_explain_unknown_options
def create_renderer(
    tokenizer: TokenizerLike,
    config: BaseRendererConfig | None = None,
    *,
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
) -> ChatRenderer:
    """Create a renderer for a model or a tokenizer.

    `tokenizer` is the name or the path of a model, which is loaded with `load_tokenizer`, the result of that function,
    or any object that `adopt_tokenizer` accepts. `config` is the config of a family, such as
    `Qwen3RendererConfig(enable_thinking=False)`. Without one, the family is found by the model's name, else by its chat
    template; `renderer.resolution` shows which and why. Options override the config. They cannot be combined with the
    config of a custom renderer class.

    Args:
        chat_template: The source of a template, its path, or the name of one of the tokenizer's. Default: the
            tokenizer's own.
        chat_template_kwargs: Template arguments of every render. Those of a known family are checked.
        date: The date that templates read: a date, a datetime or ISO text. Default: a fixed date.
        limits: Limits for one run of the template.
        verify: Compare every run with one without tracing. Default: the environment variable `RENDERERS_VERIFY`.
        content_tokens: How special tokens such as `<|im_end|>` in messages, tools and documents are encoded.
            `"template"`: as the special token, like the model's own tokenizer. `"text"`: as ordinary tokens.
            `"refuse"`: raise a `ControlTextError`.
        conventions: Rules of another package for the boundaries of sampled text.
        thinking_retention: The reasoning that a bridge keeps although the template drops it from the history:
            `"all"`, or `"tool_cycle"` up to the next user message.
        on_loss: How a message or field of which the template writes nothing is treated: `"error"`, `"warn"` or
            `"ignore"`, or a dict of these by kind, such as `{"message": "warn"}`. Default: an error for a whole
            message, no report for reasoning, and a warning for anything else.
        bpe_engine: The library that encodes text; see `load_tokenizer`. Default: that of the tokenizer.
        none_content: How fields with the value None, such as `content` beside tool calls, are passed to a template
            that would write the word None. `"omitted"`, the default: in a form that it writes as nothing.
            `"as_template"`: as None.
        tool_parser: The name of the parser of tool calls. Default: the format that the template shows.
        reasoning_parser: The name of the parser of reasoning. Default: the format that the template shows.
        program: The program that renders messages. `"template"`: the chat template. A name such as `"harmony"`: an
            encoder in Python. Default: the program of the family, unless `chat_template` is passed.

    Raises:
        ModuleNotFoundError: The engine is not installed.
        TemplateMissingError: There is no chat template.
        TemplateSourceError: The chat template is not valid.
        TokenizerLoadError: The model cannot be loaded.
        TypeError: The object cannot be used as a tokenizer, or not with these `content_tokens`; or an option is
            combined with the config of a custom renderer class.
        UnsupportedModelError: The model accepts images, and its chat template drops them.
        ValueError: The date is not ISO text, or the family does not accept an argument in `chat_template_kwargs`,
            or there is no such program or parser.

    >>> from renderers import EXAMPLE_MODEL
    >>> create_renderer(EXAMPLE_MODEL, date="2026-01-31").date
    datetime.datetime(2026, 1, 31, 0, 0)
    """
    options: dict[str, Any] = {
        "chat_template": chat_template,
        "date": date,
        "verify": verify,
        "content_tokens": content_tokens,
        "conventions": conventions,
        "thinking_retention": thinking_retention,
        "on_loss": on_loss,
        "bpe_engine": bpe_engine,
        "none_content": none_content,
        "tool_parser": tool_parser,
        "reasoning_parser": reasoning_parser,
        "program": program,
    }
    passed = [name for name, value in options.items() if value is not None] + ["limits"] * (limits != LIMITS)
    custom = _find_custom(tokenizer, config, chat_template_kwargs)
    if custom is not None:
        return _create_custom(*custom, tokenizer, passed)
    settings = resolve_settings(tokenizer, config, chat_template_kwargs=chat_template_kwargs, limits=limits, **options)
    registered = RENDERER_REGISTRY[settings.family_match.family.key]
    if not _is_ours(registered):
        custom = _find_custom(tokenizer, settings.config, chat_template_kwargs)
        assert custom is not None
        return _create_custom(*custom, tokenizer, passed)
    return _create(registered, settings)


def _create(renderer_class: type[FamilyRenderer], settings: RendererSettings) -> ChatRenderer:
    """Create a renderer of a family, or one with support for images if the family is unknown and the format has it.

    Raises:
        UnsupportedModelError: The family was not requested, and the model's format drops images that it accepts.
    """
    renderer = renderer_class._from_settings(settings)
    if settings.family_match.family != UNKNOWN_FAMILY:
        return renderer
    if _accepts_images(renderer):
        return DefaultMultimodalRenderer._from_settings(settings)
    if renderer.tokenizer.takes_images and settings.family_match.matched_by != "config":
        raise UnsupportedModelError(
            f"{renderer.tokenizer.name_or_path} accepts images but its chat template drops them. Pass a template with "
            "image support as chat_template=, or DefaultRendererConfig() to render text only."
        )
    return renderer


def _find_custom(
    tokenizer: TokenizerLike, config: BaseRendererConfig | None, chat_template_kwargs: Mapping[str, Any] | None
) -> tuple[Any, BaseRendererConfig] | None:
    """Return a caller's renderer class, and the config to create it with. None if there is no such class.

    The class is named by a `CustomRendererConfig`, or registered for the family of the config. Without a config of a
    family, it can be registered for the name of the model; it decides itself if it accepts the tokenizer.
    """
    theirs = {key: renderer_class for key, renderer_class in RENDERER_REGISTRY.items() if not _is_ours(renderer_class)}
    name = getattr(tokenizer, "name_or_path", None)
    family = MODEL_RENDERER_MAP.get(name) if theirs and isinstance(name, str) else None
    if config is None and family not in theirs:
        return None
    # The config classes need pydantic, which takes longer to import than the rest of a renderer.
    from renderers.config_reader import config_of_family, find_custom_renderer

    if family is not None and family in theirs:
        config = config_of_family(family, config)
    assert config is not None
    return find_custom_renderer(config, chat_template_kwargs, theirs)


def _is_ours(renderer_class: type[FamilyRenderer]) -> bool:
    """Return True for a class with the constructor of this package, False for one that a caller registered."""
    return getattr(renderer_class, "__init__", None) is FamilyRenderer.__init__


def _create_custom(
    renderer_class: Any, config: BaseRendererConfig, tokenizer: TokenizerLike, passed: Sequence[str]
) -> ChatRenderer:
    """Create a renderer of a caller's class, which accepts a tokenizer and a config.

    Raises:
        TypeError: `passed` names options of `create_renderer` that such a class does not accept.
    """
    if passed:
        raise TypeError(
            f"{', '.join(passed)} cannot be combined with a custom renderer class, which accepts only a "
            "tokenizer and a config. Add a field to the config instead."
        )
    if isinstance(tokenizer, str | os.PathLike):
        tokenizer = load_tokenizer(tokenizer)
    renderer: ChatRenderer = renderer_class(tokenizer, config)
    return renderer


def _accepts_images(renderer: ChatRenderer) -> bool:
    """Return True if the model and its format accept images. If the model does not specify it, the format decides."""
    if renderer.tokenizer.takes_images is False:
        return False
    return renderer._pipeline.turn_format(with_tools=False).placeholder("user", "image") is not None
