"""`create_renderer`: a renderer for a tokenizer and a chat template."""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping
from typing import Any

from renderers.chat import plain_switches, read_template
from renderers.choices import ContentTokens, ThinkingRetention
from renderers.conventions import Conventions
from renderers.forms import given_to, takes_form
from renderers.renderer import ChatRenderer, MultimodalChatRenderer, state_of
from renderers.tokenizer import adopt_tokenizer
from renderers.trace import LIMITS, Limits

__all__ = ["create_renderer"]


def create_renderer(
    tokenizer: object,
    config: None = None,
    *,
    chat_template: str | os.PathLike[str] | None = None,
    chat_template_kwargs: Mapping[str, Any] | None = None,
    date: datetime.date | str | None = None,
    limits: Limits = LIMITS,
    verify: bool | None = None,
    content_tokens: ContentTokens = "template",
    conventions: Conventions | None = None,
    thinking_retention: ThinkingRetention | None = None,
) -> ChatRenderer:
    """Makes a renderer for a tokenizer.

    `tokenizer` is the result of `load_tokenizer`, or a tokenizer of the caller's own, as
    `adopt_tokenizer` takes it. `chat_template` is a template's text, a path, or the name of one of the
    tokenizer's own; by default it is the tokenizer's. `chat_template_kwargs` go to the template in every
    render. `date` is what templates that ask for the time are told, as a date, a datetime or its ISO text;
    by default the time of this call, so give it where several processes have to agree. `limits` is what
    one run of the template may use up, and `verify` compares each run with one without tracing.
    `content_tokens` says what becomes of control text, such as `<|im_end|>`, that stands in a message, a
    tool or a document: with `"template"` what the model's own template and tokenizer make of it, a control
    token; with `"text"` ordinary tokens; with `"refuse"` it is a `ControlTextError`. `conventions` draw the
    borders of what is sampled as another package does. `thinking_retention` lets a bridge keep reasoning that
    the template would drop from the history: `"all"` of it, or `"tool_cycle"`, up to the user's next message.

    Raises:
        TemplateMissingError: There is no template.
        TemplateSourceError: The template is none.
        TypeError: The object cannot be used as a tokenizer, or not with these `content_tokens`.
        ValueError: The date's text is none.

    >>> import datetime
    >>> from renderers import EMBEDDED, load_tokenizer
    >>> create_renderer(load_tokenizer(EMBEDDED), date=datetime.date(2026, 1, 31)).date
    datetime.datetime(2026, 1, 31, 0, 0)
    """
    if config is not None:
        raise TypeError(f"config must be None, not a {type(config).__name__}: pass chat_template_kwargs=")
    adopted = adopt_tokenizer(tokenizer)
    given = None if chat_template is None else read_template(chat_template, named=adopted.chat_templates)
    made = ChatRenderer(
        tokenizer=adopted,
        chat_template=given,
        chat_template_kwargs=chat_template_kwargs or {},
        date=_moment(date),
        limits=limits,
        verify=verify,
        content_tokens=content_tokens,
        conventions=Conventions() if conventions is None else conventions,
        thinking_retention=thinking_retention,
    )
    return MultimodalChatRenderer(**state_of(made)) if _takes_images(made) else made


def _takes_images(renderer: ChatRenderer) -> bool:
    """Says whether both the model and its template take images; of a model that does not say, the template decides."""
    template, tokens = renderer.template(), renderer.tokenizer.special_tokens_map
    if renderer.tokenizer.takes_images is False or "image" not in template.source:
        return False
    given = given_to(template, tokens, plain_switches(renderer.chat_template_kwargs))
    return takes_form(template, given, "user", "image part")


def _moment(date: datetime.date | str | None) -> datetime.datetime:
    if date is None:
        return datetime.datetime.now()
    if isinstance(date, str):
        return datetime.datetime.fromisoformat(date)
    if not isinstance(date, datetime.date):
        raise TypeError(f"date must be a date, a datetime or its ISO text, not a {type(date).__name__}")
    return date if isinstance(date, datetime.datetime) else datetime.datetime(date.year, date.month, date.day)
