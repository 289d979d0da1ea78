"""The render pipeline: run the program, label its text, encode it."""

from __future__ import annotations

import datetime
import functools
import logging
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, get_args

from renderers.core.jsontypes import JsonObject
from renderers.core.lazy import lazy
from renderers.core.losses import LossKind
from renderers.core.messages import find_tool_names
from renderers.core.options import ContentTokens, NoneContent, Prefill, SamplingConventions, check_choice
from renderers.core.spans import LabelledSpan, Trace
from renderers.core.text import describe_type
from renderers.errors import TemplateLimitError
from renderers.probing.turn_format import TurnFormat, turn_format
from renderers.programs.base import Program, ProgramRun, RunProgram
from renderers.programs.registry import PROGRAMS, ProgramRequest
from renderers.rendering.label import LabelOptions, attribute_spans, label
from renderers.rendering.labelled_text import LabelledText
from renderers.rendering.losses import LossFinder
from renderers.rendering.prefill import keep_prefill
from renderers.rendering.turns import are_disjoint
from renderers.templating import LIMITS, TemplateLimits
from renderers.templating.chat import normalise_template_kwargs
from renderers.templating.template import resolve_verify
from renderers.tokenizer import ForeignTokenizer, LoadedTokenizer
from renderers.tokenizer.encoding.encode import Runs

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
    none_content: NoneContent = "omitted"
    """How a field that is None is passed to a template that would write it as a word."""
    family_stop_tokens: tuple[str, ...] = ()
    """The stop tokens of the family, for a tokenizer that does not name those of the model."""
    _exact: Hashable = field(init=False, repr=False, default=())
    """Distinguishes equal arguments and dates that a template writes differently: `1` and `True`, two time zones."""

    def __post_init__(self) -> None:
        check_choice("content_tokens", self.content_tokens, get_args(ContentTokens))
        check_choice("none_content", self.none_content, get_args(NoneContent))
        if not isinstance(self.conventions, SamplingConventions):
            raise TypeError(f"conventions must be SamplingConventions, not {describe_type(self.conventions)}")
        self._check_tokenizer()
        object.__setattr__(self, "verify", resolve_verify(self.verify))
        plain = normalise_template_kwargs(self.chat_template_kwargs)
        object.__setattr__(self, "chat_template_kwargs", _freeze_json(plain))
        arguments = frozenset((name, repr(value)) for name, value in plain.items())
        object.__setattr__(self, "_exact", (arguments, repr(self.date)))

    @property
    def stop_texts(self) -> frozenset[str]:
        """The texts of the stop tokens of the model."""
        return self.tokenizer.vocab.stop_texts or frozenset(self.family_stop_tokens)

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
        state = {item.name: getattr(self, item.name) for item in fields(self) if item.init}
        state["chat_template_kwargs"] = normalise_template_kwargs(self.chat_template_kwargs)
        return functools.partial(type(self), **state), ()


@dataclass(frozen=True)
class RenderedText(LabelledText):
    """The text of a conversation. Its trace and labels are computed on first access."""

    run: ProgramRun
    pipeline: RenderPipeline
    messages: list[JsonObject]
    """The caller's messages, normalised. The program may convert them."""
    tools: list[JsonObject] | None
    arguments: Mapping[str, Any]

    @property
    def settings(self) -> PipelineSettings:
        return self.pipeline.settings

    @lazy
    def turn_format(self) -> TurnFormat:
        """The turn format of the arguments of this render."""
        if self.arguments is self.pipeline.arguments:
            return self.pipeline.turn_formats[self.tools is not None]
        return self.pipeline.turn_format(with_tools=self.tools is not None, arguments=self.arguments)

    @property
    def roles(self) -> list[str]:
        """The roles of the caller's messages."""
        return [message["role"] for message in self.messages]

    @property
    def items(self) -> tuple[tuple[LossKind, Sequence[Any] | None], ...]:
        """The tools and the documents, each with the kind of its losses."""
        documents = self.arguments.get("documents")
        # Callers may pass any JSON data.
        listed = documents if documents is None or isinstance(documents, list) else [documents]
        return ("tools", self.tools), ("documents", listed)

    def loss_finder(self, *, first: int = 0) -> LossFinder:
        """Return a finder of the input that was not written: of all of it, or of the messages from `first` on."""
        items = () if first else self.items
        return LossFinder(self.messages, items, self.run, lambda: self.turn_format, first)

    @property
    def text(self) -> str:
        """The text. It needs no trace unless turns of the history keep the prefill of their prompt."""
        return self.trace.text if self.settings.prefill == "kept" else self.run.text

    @lazy
    def trace(self) -> Trace:
        """The text with the origin of every character."""
        if self.settings.prefill == "kept":
            return keep_prefill(self.run.trace, self.run.messages, self.turn_format)
        return self.run.trace

    @property
    def tool_names(self) -> list[str | None]:
        """The name of the tool of each message that is a result, None for other messages."""
        return find_tool_names(self.run.messages)

    @lazy
    def labels(self) -> tuple[LabelledSpan, ...]:
        """The spans of the text with their channels and sampled flags."""
        return label(self.trace, self.run.messages, **self._label_options())

    def _attribute_tokens(self) -> Runs:
        runs = None
        if "labels" not in self.__dict__:
            vocab, messages = self.settings.tokenizer.vocab, self.run.messages
            runs = attribute_spans(vocab, self.encoded, self.trace, messages, **self._label_options())
        return super()._attribute_tokens() if runs is None else runs

    def _label_options(self) -> LabelOptions:
        settings = self.pipeline.settings
        vocab = settings.tokenizer.vocab
        return {
            "turn_format": self.turn_format,
            "stop_tokens": settings.stop_texts,
            "conventions": settings.conventions,
            "inline_reasoning": settings.content_tokens != "text",
            "tokens": self.special_tokens if are_disjoint(vocab.control_texts, vocab.reserved_texts) else None,
        }


RunConversation = Callable[[list[JsonObject], list[JsonObject] | None], RenderedText]
"""A function from normalised messages and tools to their text."""


@dataclass(frozen=True)
class RenderPipeline:
    """Renders normalised messages to text, labels and token ids."""

    settings: PipelineSettings

    def with_settings(self, **changes: Any) -> RenderPipeline:
        """Return a pipeline with some settings changed."""
        names = [item.name for item in fields(PipelineSettings) if item.init]
        kept = {name: getattr(self.settings, name) for name in names}
        return RenderPipeline(PipelineSettings(**kept | changes))

    def program(self, *, with_tools: bool, verify: bool | None = None) -> Program:
        """Return the program for conversations with or without tools, by default with the setting of `verify`."""
        settings = self.settings
        verify = bool(settings.verify) if verify is None else verify
        program = self._programs.get((with_tools, verify))
        if program is None:
            request = ProgramRequest(
                settings.tokenizer,
                settings.chat_template,
                with_tools,
                settings.limits,
                verify,
                settings.none_content,
            )
            program = self._programs[with_tools, verify] = PROGRAMS[settings.program](request)
        return program

    @lazy
    def _programs(self) -> dict[tuple[bool, bool], Program]:
        return {}

    @lazy
    def arguments(self) -> dict[str, Any]:
        """The template arguments of every render."""
        return normalise_template_kwargs(self.settings.chat_template_kwargs)

    @lazy
    def turn_formats(self) -> tuple[TurnFormat, TurnFormat]:
        """The delimiters of turns with the arguments of every render, without and with tools."""
        return self.turn_format(with_tools=False), self.turn_format(with_tools=True)

    def turn_format(self, *, with_tools: bool, arguments: Mapping[str, Any] | None = None) -> TurnFormat:
        """Return the delimiters of turns, with the arguments of every render or with those of one render."""
        return turn_format(
            self.program(with_tools=with_tools, verify=False),
            arguments=self.arguments if arguments is None else arguments,
            with_tools=with_tools,
            now=self.settings.date,
            special_tokens=self.settings.tokenizer.vocab.control_texts,
        )

    def generation_prompt(self, arguments: Mapping[str, Any], *, with_tools: bool) -> str:
        """Return the generation prompt after a user message, with arguments that override those of every render.

        It is empty if there is none, or if the template exceeds its limits.
        """
        merged = {**self.arguments, **arguments}
        try:
            headers = self.turn_format(with_tools=with_tools, arguments=merged).headers("user")
        except TemplateLimitError:
            return ""
        return next((header.generation_prompt for header in headers if header.is_default), "")

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
        run = self.prepare(
            with_tools=tools is not None,
            add_generation_prompt=add_generation_prompt,
            continue_final_message=continue_final_message,
            arguments=arguments,
        )
        return run(messages, tools)

    def prepare(
        self,
        *,
        with_tools: bool,
        add_generation_prompt: bool,
        continue_final_message: bool | str = False,
        arguments: Mapping[str, Any] | None = None,
    ) -> RunConversation:
        """Return a function that runs the program as `run` does, over conversations that all have tools or all none."""
        merged = {**self.arguments, **arguments} if arguments else self.arguments
        options = with_tools, bool(add_generation_prompt)
        if arguments or continue_final_message:
            run_program = self._prepare_program(*options, continue_final_message, merged)
        else:
            known = self._prepared.get(options)
            run_program = self._prepared[options] = known or self._prepare_program(*options, False, merged)
        return lambda messages, tools: RenderedText(run_program(messages, tools), self, messages, tools, merged)

    @lazy
    def _prepared(self) -> dict[tuple[bool, bool], RunProgram]:
        """The functions of most renders, by their options."""
        return {}

    def _prepare_program(
        self,
        with_tools: bool,
        add_generation_prompt: bool,
        continue_final_message: bool | str,
        arguments: Mapping[str, Any],
    ) -> RunProgram:
        return self.program(with_tools=with_tools).prepare(
            add_generation_prompt=add_generation_prompt,
            continue_final_message=continue_final_message,
            arguments=arguments,
            now=self.settings.date,
        )


def _freeze_json(value: Any) -> Any:
    if isinstance(value, dict):
        return MappingProxyType({name: _freeze_json(item) for name, item in value.items()})
    return tuple(map(_freeze_json, value)) if isinstance(value, list) else value
