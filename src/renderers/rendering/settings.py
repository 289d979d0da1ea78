"""`RenderSettings`: everything that determines how messages become tokens."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from renderers.core.conventions import SamplingConventions
from renderers.core.options import ContentTokens, Prefill
from renderers.templating import LIMITS, Limits
from renderers.templating.chat import normalise_template_kwargs
from renderers.tokenizer import ForeignTokenizer, LoadedTokenizer


@dataclass(frozen=True, kw_only=True)
class RenderSettings:
    """Everything that determines how messages become tokens. Immutable."""

    tokenizer: LoadedTokenizer | ForeignTokenizer
    date: datetime.datetime
    """The time that templates read."""
    program: str = "template"
    """The name of the program in `renderers.programs.registry.PROGRAMS`."""
    chat_template: str | None = None
    """The source of the template that the caller passed; None for the tokenizer's own."""
    chat_template_kwargs: Mapping[str, Any] = field(default_factory=dict)
    """Template arguments of every render. Arguments of a call override them."""
    limits: Limits = LIMITS
    verify: bool = False
    """Compare every run of the template with a run without tracing."""
    content_tokens: ContentTokens = "template"
    """How special tokens in messages, tools and documents are encoded."""
    conventions: SamplingConventions = field(default_factory=SamplingConventions)
    """Where sampled text starts and ends."""
    prefill: Prefill = "template"
    """Whether turns of the history keep the empty reasoning of their generation prompt."""

    def __post_init__(self) -> None:
        plain = normalise_template_kwargs(self.chat_template_kwargs)
        object.__setattr__(self, "chat_template_kwargs", freeze_json(plain))

    def __hash__(self) -> int:
        # Without the template arguments, which may contain mappings. Equal settings still have equal hashes.
        return hash((self.tokenizer, self.chat_template, self.date, self.limits, self.verify, self.content_tokens))


def freeze_json(value: Any) -> Any:
    """Return JSON data in immutable containers."""
    if isinstance(value, dict):
        return MappingProxyType({name: freeze_json(item) for name, item in value.items()})
    return tuple(map(freeze_json, value)) if isinstance(value, list) else value
