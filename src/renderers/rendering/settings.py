"""`RenderSettings`: everything that determines how messages become tokens."""

from __future__ import annotations

import datetime
import functools
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, get_args

from renderers.core.options import ContentTokens, Prefill, SamplingConventions
from renderers.core.text import describe_type
from renderers.templating import LIMITS, TemplateLimits
from renderers.templating.chat import normalise_template_kwargs
from renderers.templating.template import resolve_verify
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
    limits: TemplateLimits = LIMITS
    verify: bool | None = None
    """Compare every run of the template with a run without tracing. None is replaced by the value of the environment
    variable `RENDERERS_VERIFY` when the settings are made."""
    content_tokens: ContentTokens = "template"
    """How special tokens in messages, tools and documents are encoded."""
    conventions: SamplingConventions = field(default_factory=SamplingConventions)
    """Where sampled text starts and ends."""
    prefill: Prefill = "template"
    """Whether turns of the history keep the empty reasoning of their generation prompt."""

    def __post_init__(self) -> None:
        if self.content_tokens not in get_args(ContentTokens):
            choices = ", ".join(map(repr, get_args(ContentTokens)))
            raise ValueError(f"content_tokens must be one of {choices}, not {self.content_tokens!r}")
        if not isinstance(self.conventions, SamplingConventions):
            raise TypeError(f"conventions must be SamplingConventions, not {describe_type(self.conventions)}")
        self._check_tokenizer()
        object.__setattr__(self, "verify", resolve_verify(self.verify))
        plain = normalise_template_kwargs(self.chat_template_kwargs)
        object.__setattr__(self, "chat_template_kwargs", _freeze_json(plain))

    def _check_tokenizer(self) -> None:
        tokenizer, fault = self.tokenizer, None
        if isinstance(tokenizer, LoadedTokenizer):
            if self.content_tokens == "text":
                # Raises if the vocabulary cannot encode special tokens as text.
                _ = tokenizer.vocab.plain
            return
        wrapped = type(tokenizer.wrapped).__name__
        if self.content_tokens == "text":
            fault = f"from load_tokenizer, or one with a Rust backend. {wrapped} encodes special tokens itself."
        elif self.content_tokens == "refuse" and not tokenizer.lists_added_tokens:
            fault = f"that lists its special tokens. {wrapped} has no get_added_vocab."
        if fault is not None:
            raise TypeError(f'content_tokens="{self.content_tokens}" needs a tokenizer {fault}')

    def __hash__(self) -> int:
        # Without the template arguments, which may contain mappings. Equal settings still have equal hashes.
        return hash((self.tokenizer, self.chat_template, self.date, self.limits, self.verify, self.content_tokens))

    def __reduce__(self) -> tuple[Any, ...]:
        state = {item.name: getattr(self, item.name) for item in fields(self)}
        state["chat_template_kwargs"] = normalise_template_kwargs(self.chat_template_kwargs)
        return functools.partial(type(self), **state), ()


def _freeze_json(value: Any) -> Any:
    if isinstance(value, dict):
        return MappingProxyType({name: _freeze_json(item) for name, item in value.items()})
    return tuple(map(_freeze_json, value)) if isinstance(value, list) else value
