"""The render pipeline: run the program, label its text, encode it."""

from __future__ import annotations

import datetime
import functools
import logging
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, get_args

from renderers.core.jsontypes import JsonObject
from renderers.core.lazy import lazy
from renderers.core.options import ContentTokens, Prefill, SamplingConventions
from renderers.core.spans import LabelledSpan, Span, TokenMatch, Trace
from renderers.core.text import describe_type
from renderers.core.tokens import InjectedText
from renderers.errors import ControlTextError, UnencodableTextError
from renderers.probing.turn_format import TurnFormat, turn_format
from renderers.programs.base import Program, ProgramRun
from renderers.programs.registry import PROGRAMS, ProgramRequest
from renderers.rendering.control_text import find_injected, find_special_tokens, find_template_tokens
from renderers.rendering.label import label
from renderers.rendering.prefill import keep_prefill
from renderers.templating import LIMITS, TemplateLimits
from renderers.templating.chat import normalise_template_kwargs
from renderers.templating.template import resolve_verify
from renderers.tokenizer import ForeignTokenizer, LoadedTokenizer
from renderers.tokenizer.encoding.alignment import UnalignedError
from renderers.tokenizer.encoding.encode import (
    Cuts,
    EncodedRuns,
    cut_at_isolating_tokens,
    cut_at_own,
    encode_labelled,
    encode_text,
    locate_marks,
)

_LOG = logging.getLogger("renderers")


@dataclass(frozen=True, kw_only=True)
class PipelineSettings:
    """Everything that determines how messages become tokens. Immutable."""

    tokenizer: LoadedTokenizer | ForeignTokenizer
    date: datetime.datetime
    """The time that templates read."""
    program: str = "template"
    """The name of the program in `renderers.programs.registry.PROGRAMS`."""
    chat_template: str | None = None
    """The source of the template that the caller passed; None for the tokenizer's own."""
    chat_template_kwargs: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Template arguments of every render. Arguments of a call override them. Not hashed: they may be mappings."""
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

    def __reduce__(self) -> tuple[Any, ...]:
        state = {item.name: getattr(self, item.name) for item in fields(self)}
        state["chat_template_kwargs"] = normalise_template_kwargs(self.chat_template_kwargs)
        return functools.partial(type(self), **state), ()


@dataclass(frozen=True)
class RenderedText:
    """The text of a conversation. Its trace and labels are computed on first access."""

    run: ProgramRun
    pipeline: RenderPipeline
    roles: list[str]
    """The roles of the caller's messages. The program may convert them."""
    arguments: Mapping[str, Any]
    with_tools: bool

    @lazy
    def turn_format(self) -> TurnFormat:
        """The turn format of the arguments of this render."""
        return self.pipeline.turn_format(with_tools=self.with_tools, arguments=self.arguments)

    @property
    def text(self) -> str:
        """The text. It needs no trace unless turns of the history keep the prefill of their prompt."""
        return self.trace.text if self.pipeline.settings.prefill == "kept" else self.run.text

    @lazy
    def trace(self) -> Trace:
        """The text with the origin of every character."""
        if self.pipeline.settings.prefill == "kept":
            return keep_prefill(self.run.trace, self.run.messages, self.turn_format)
        return self.run.trace

    @lazy
    def labels(self) -> tuple[LabelledSpan, ...]:
        """The spans of the text with their channels and sampled flags."""
        settings = self.pipeline.settings
        return label(
            self.trace,
            self.run.messages,
            turn_format=self.turn_format,
            stop_tokens=settings.tokenizer.vocab.stop_texts,
            conventions=settings.conventions,
            inline_reasoning=settings.content_tokens != "text",
        )


@dataclass(frozen=True)
class RenderPipeline:
    """Renders normalised messages to text, labels and token ids."""

    settings: PipelineSettings

    def program(self, *, with_tools: bool, verify: bool | None = None) -> Program:
        """Return the program for conversations with or without tools, by default with the setting of `verify`."""
        settings = self.settings
        verify = bool(settings.verify) if verify is None else verify
        program = self._programs.get((with_tools, verify))
        if program is None:
            request = ProgramRequest(settings.tokenizer, settings.chat_template, with_tools, settings.limits, verify)
            program = self._programs[with_tools, verify] = PROGRAMS[settings.program](request)
        return program

    @lazy
    def _programs(self) -> dict[tuple[bool, bool], Program]:
        return {}

    @lazy
    def arguments(self) -> dict[str, Any]:
        """The template arguments of every render."""
        return normalise_template_kwargs(self.settings.chat_template_kwargs)

    def turn_format(self, *, with_tools: bool, arguments: Mapping[str, Any] | None = None) -> TurnFormat:
        """Return the delimiters of turns, with the arguments of every render or with those of one render."""
        return turn_format(
            self.program(with_tools=with_tools, verify=False),
            arguments=self.arguments if arguments is None else arguments,
            with_tools=with_tools,
            now=self.settings.date,
            special_tokens=self.settings.tokenizer.vocab.control_texts,
        )

    def run(
        self,
        messages: list[JsonObject],
        *,
        tools: list[JsonObject] | None,
        add_generation_prompt: bool,
        continue_final_message: bool | str = False,
        arguments: Mapping[str, Any] | None = None,
    ) -> RenderedText:
        """Run the program over messages. `arguments` override those of every render."""
        merged = {**self.arguments, **(arguments or {})}
        run = self.program(with_tools=tools is not None).run(
            messages,
            tools=tools,
            add_generation_prompt=add_generation_prompt,
            continue_final_message=continue_final_message,
            arguments=merged,
            now=self.settings.date,
        )
        roles = [message["role"] for message in messages]
        return RenderedText(run, self, roles, merged, tools is not None)

    def ids(self, rendered: RenderedText) -> list[int]:
        """Encode a text to token ids. Only `content_tokens="text"` and `"refuse"` need its trace."""
        tokenizer = self.settings.tokenizer
        if self.settings.content_tokens == "template":
            tokens = find_special_tokens(rendered.text, tokenizer.vocab.reserved_texts)
            cuts = cut_at_isolating_tokens(tokenizer, tokens)
        else:
            cuts, _ = self._find_cuts(rendered.trace)
        try:
            return encode_text(tokenizer, rendered.text, cuts)
        except UnencodableTextError:
            raise _surrogate_error(rendered.trace) from None

    def encode(self, trace: Trace, labels: Sequence[LabelledSpan]) -> tuple[EncodedRuns, list[InjectedText]]:
        """Encode a trace to token ids with attribution, and return the special tokens in the caller's data.

        There is no attribution if a custom tokenizer provides no offsets.
        """
        tokenizer, text = self.settings.tokenizer, trace.text
        cuts, injected = self._find_cuts(trace)
        try:
            encoded = encode_labelled(tokenizer, text, cuts, labels)
            places = locate_marks(tokenizer, text, cuts, [token for token, _ in injected]) if injected else []
        except UnencodableTextError:
            raise _surrogate_error(trace) from None
        except UnalignedError as error:
            _LOG.warning("%s: tokens do not decode to their text, so they have no attribution", tokenizer.name_or_path)
            _LOG.debug("%s", error)
            return EncodedRuns(array("I", encode_text(tokenizer, text, cuts)), (), ()), []
        pairs = zip(injected, places, strict=True)
        return encoded, [InjectedText(span.message, span.path, token.text, *place) for (token, span), place in pairs]

    def _find_cuts(self, trace: Trace) -> tuple[Cuts, list[tuple[TokenMatch, Span]]]:
        """Return where the text is split before it is encoded, and the special tokens in the caller's data."""
        tokenizer, content_tokens = self.settings.tokenizer, self.settings.content_tokens
        tokens = find_special_tokens(trace.text, tokenizer.vocab.reserved_texts)
        injected = find_injected(trace, tokens)
        if content_tokens == "refuse" and injected:
            token, span = injected[0]
            raise ControlTextError.at(token.text, message=span.message, path=span.path)
        if content_tokens == "text" and isinstance(tokenizer, LoadedTokenizer):
            own = find_template_tokens(trace, tokenizer.vocab.reserved_texts) if injected else tokens
            return cut_at_own(tokenizer, trace.text, own), injected
        return cut_at_isolating_tokens(tokenizer, tokens), injected


def _surrogate_error(trace: Trace) -> UnencodableTextError:
    """Return the error for the first lone surrogate of a text, with the field that it is in."""
    position = next(index for index, character in enumerate(trace.text) if "\ud800" <= character <= "\udfff")
    (span,) = trace.spans_in(position, position + 1)
    path = ".".join(map(str, span.path))
    place = f"message {span.message}: {path or 'the text around it'}" if span.message >= 0 else path
    return UnencodableTextError.at(f"{place or 'the chat template'}: a character", trace.text[position])


def _freeze_json(value: Any) -> Any:
    if isinstance(value, dict):
        return MappingProxyType({name: _freeze_json(item) for name, item in value.items()})
    return tuple(map(_freeze_json, value)) if isinstance(value, list) else value
