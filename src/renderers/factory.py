"""`create_renderer`: a renderer for a tokenizer, of the class of its family."""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping, Sequence
from typing import Any

from renderers.configs import (
    AutoRendererConfig,
    BaseRendererConfig,
    CustomRendererConfig,
    merge_chat_template_kwargs,
)
from renderers.core.conventions import SamplingConventions
from renderers.core.options import ContentTokens, ThinkingRetention
from renderers.errors import UnsupportedModelError
from renderers.families.config import custom_renderer_config, load_custom_renderer
from renderers.families.registry import UNKNOWN_FAMILY
from renderers.family_renderers import RENDERER_REGISTRY, DefaultMultimodalRenderer, FamilyRenderer
from renderers.programs.input_formats import accepts_format, probe_arguments
from renderers.renderer import ChatRenderer
from renderers.settings import settings_of
from renderers.templating import LIMITS, Limits
from renderers.templating.chat import normalise_template_kwargs

__all__ = ["create_renderer"]


def create_renderer(
    tokenizer: object,
    config: BaseRendererConfig | None = None,
    *,
    chat_template: str | os.PathLike[str] | None = None,
    chat_template_kwargs: Mapping[str, Any] | None = None,
    date: datetime.date | str | None = None,
    limits: Limits = LIMITS,
    verify: bool | None = None,
    content_tokens: ContentTokens | None = None,
    conventions: SamplingConventions | None = None,
    thinking_retention: ThinkingRetention | None = None,
) -> ChatRenderer:
    """Makes a renderer for a tokenizer.

    `tokenizer` is the result of `load_tokenizer`, or a tokenizer of the caller's own, as
    `adopt_tokenizer` takes it. `config` is that of a family, such as `Qwen3RendererConfig(enable_thinking=False)`; by
    default the family is found by the model's name, else by its template's text, and `renderer.resolution` says which
    it is and why. Options override the config. A class of your own, in a `CustomRendererConfig` or registered in
    `RENDERER_REGISTRY`, is called as `(tokenizer, config)` and takes no options beside its config.

    `chat_template` is a template's text, a path, or the name of one of the
    tokenizer's own; by default it is the tokenizer's. `chat_template_kwargs` go to the template in every
    render; those of a known family are checked. `date` is what templates that ask for the time are told, as a date, a
    datetime or its ISO text; by default always the same one. `limits` is what
    one run of the template may use up, and `verify` compares each run with one without tracing.
    `content_tokens` says what becomes of control text, such as `<|im_end|>`, that stands in a message, a
    tool or a document: with `"template"` what the model's own template and tokenizer make of it, a control
    token; with `"text"` ordinary tokens; with `"refuse"` it is a `ControlTextError`. `conventions` draw the
    borders of what is sampled as another package does. `thinking_retention` lets a bridge keep reasoning that
    the template would drop from the history: `"all"` of it, or `"tool_cycle"`, up to the user's next message.

    Raises:
        TemplateMissingError: There is no template.
        TemplateSourceError: The template is none.
        TypeError: The object cannot be used as a tokenizer, or not with these `content_tokens`; or an option is given
            beside the config of a class of your own.
        UnsupportedModelError: The model takes images, and its template drops them.
        ValueError: The date's text is none, or `chat_template_kwargs` has what the family does not take.

    >>> from renderers import EMBEDDED, load_tokenizer
    >>> create_renderer(load_tokenizer(EMBEDDED), date="2026-01-31").date
    datetime.datetime(2026, 1, 31, 0, 0)
    """
    options: dict[str, Any] = {
        "chat_template": chat_template,
        "date": date,
        "verify": verify,
        "content_tokens": content_tokens,
        "conventions": conventions,
        "thinking_retention": thinking_retention,
    }
    beside = [name for name, value in options.items() if value is not None]
    if limits != LIMITS:
        beside.append("limits")
    if isinstance(config, CustomRendererConfig):
        merged = merge_chat_template_kwargs(config, chat_template_kwargs)
        return _own_renderer(
            load_custom_renderer(merged.import_path), tokenizer, custom_renderer_config(merged), beside
        )
    registered = RENDERER_REGISTRY.get(getattr(config, "name", ""))
    if isinstance(config, BaseRendererConfig) and registered is not None and not _takes_settings(registered):
        return _own_renderer(registered, tokenizer, merge_chat_template_kwargs(config, chat_template_kwargs), beside)
    settings = settings_of(tokenizer, config, chat_template_kwargs=chat_template_kwargs, limits=limits, **options)
    family = settings["found"].family
    registered = RENDERER_REGISTRY[family.key]
    if not _takes_settings(registered):
        resolved = merge_chat_template_kwargs(settings["config"], chat_template_kwargs)
        return _own_renderer(registered, tokenizer, resolved, beside)
    renderer = registered(**settings)
    if family != UNKNOWN_FAMILY:
        return renderer
    if _takes_images(renderer):
        return DefaultMultimodalRenderer(**settings)
    if renderer.tokenizer.takes_images and (config is None or isinstance(config, AutoRendererConfig)):
        raise UnsupportedModelError(
            f"{renderer.tokenizer.name_or_path} takes images, and its chat template drops them: pass a template that "
            "has a place for them as chat_template=, or DefaultRendererConfig() to render its text alone"
        )
    return renderer


def _takes_settings(kind: type[FamilyRenderer]) -> bool:
    """Return True if a class is constructed as those of this package are, False if the caller wrote its constructor."""
    return getattr(kind, "__init__", None) is FamilyRenderer.__init__


def _own_renderer(kind: Any, tokenizer: object, config: BaseRendererConfig, beside: Sequence[str]) -> ChatRenderer:
    """Construct a renderer of a caller's own class, which takes a tokenizer and a config.

    Raises:
        TypeError: `beside` names options of `create_renderer` that such a class does not take.
    """
    if beside:
        raise TypeError(
            f"{', '.join(beside)} cannot be given beside the config of a class of your own, which takes a tokenizer "
            "and a config only. Add a field to the config instead."
        )
    renderer: ChatRenderer = kind(tokenizer, config)
    return renderer


def _takes_images(renderer: ChatRenderer) -> bool:
    """Says whether both the model and its template take images; of a model that does not say, the template decides."""
    template, tokens = renderer.template(), renderer.tokenizer.special_tokens_map
    if renderer.tokenizer.takes_images is False or "image" not in template.source:
        return False
    given = probe_arguments(template, tuple(tokens.items()), normalise_template_kwargs(renderer.chat_template_kwargs))
    return accepts_format(template, given, "user", "image part")
