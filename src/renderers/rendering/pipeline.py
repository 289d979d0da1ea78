"""`Writer`: what a chat template writes for messages, whose that is, and its tokens; a renderer is made of one."""

from __future__ import annotations

import contextlib
import datetime
import logging
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from renderers.core.conventions import Conventions
from renderers.core.options import ContentTokens, Prefill
from renderers.core.spans import Labelled, Mark, Span, Trace
from renderers.core.tokens import InjectedText
from renderers.errors import ControlTextError, UnencodableTextError
from renderers.probing.turn_format import Ways, ways_of
from renderers.programs.adapt import adapt_messages, adapt_tools
from renderers.programs.input_formats import Data, Given, all_given, given_to
from renderers.rendering.control_text import find_injected, find_marks, find_own
from renderers.rendering.label import label
from renderers.rendering.prefill import keep_prefill
from renderers.templating import ChatTemplate, Limits
from renderers.templating.chat import choose_template, run_chat
from renderers.tokenizer import ForeignTokenizer, LoadedTokenizer
from renderers.tokenizer.alignment import UnalignedError
from renderers.tokenizer.encode import (
    Cuts,
    EncodedRuns,
    cut_at_own,
    cut_at_walls,
    encode_labelled,
    encode_text,
    locate_marks,
)

__all__ = ["Run", "Writer"]

_LOG = logging.getLogger("renderers")
_WORD = 40
"""How long a switch's value is at most that is a word and not a text."""


class Run(NamedTuple):
    """A template's run: its trace, the messages that it was given, and with what."""

    trace: Trace
    messages: list[Data]
    roles: list[str]
    """The roles of the caller's messages, which may have become others for the template."""
    template: ChatTemplate
    given: Given
    tools: bool


@dataclass(frozen=True, kw_only=True)
class Writer:
    """Writes plain messages with a tokenizer's chat template, and makes tokens of what is written."""

    tokenizer: LoadedTokenizer | ForeignTokenizer
    chat_template: str | None
    """The template's text; None for the tokenizer's own."""
    switches: Mapping[str, Any]
    """What the template is given in every run."""
    date: datetime.datetime
    limits: Limits
    verify: bool | None
    content_tokens: ContentTokens
    conventions: Conventions
    prefill: Prefill

    def template(self, *, tools: bool) -> ChatTemplate:
        """Returns the template that is used with or without tools."""
        source = self.chat_template
        if source is None:
            source = choose_template(self.tokenizer.chat_templates, tools=tools, name=self.tokenizer.name_or_path)
        return ChatTemplate(source, limits=self.limits, verify=self.verify)

    def ways(self, *, tools: bool) -> Ways:
        """Returns what decides about the text around turns, with what is given in every run."""
        template = self.template(tools=tools)
        given = given_to(template, self.tokenizer.special_tokens_map, self.switches)
        short = _short(self.switches, given, template.source)
        return ways_of(template, given=(*given, *short), tools=tools, now=self.date)

    def run(
        self,
        messages: list[Data],
        *,
        tools: list[Data] | None,
        add_generation_prompt: bool,
        continue_final_message: bool | str = False,
        switches: Mapping[str, Any] | None = None,
    ) -> Run:
        """Runs the template over messages; `switches` are for this run alone."""
        template = self.template(tools=tools is not None)
        tokens = self.tokenizer.special_tokens_map
        all_switches = {**self.switches, **(switches or {})}
        given = given_to(template, tokens, all_switches)
        adapted = adapt_messages(template, messages, given=given)
        trace = run_chat(
            template,
            adapted,
            tools=adapt_tools(template, tools, given=given),
            add_generation_prompt=add_generation_prompt,
            continue_final_message=continue_final_message,
            now=self.date,
            arguments={**tokens, **all_switches},
        )
        roles = [message["role"] for message in messages]
        given = (*given, *_short(all_switches, given, template.source))
        if self.prefill == "kept":
            ways = ways_of(template, given=given, tools=tools is not None, now=self.date)
            trace = keep_prefill(trace, adapted, ways)
        return Run(trace, adapted, roles, template, given, tools is not None)

    def labels(self, run: Run) -> tuple[Labelled, ...]:
        """Returns the spans of what was written with their channels, and whether each is sampled."""
        return label(
            run.trace,
            run.messages,
            template=run.template,
            given=run.given,
            tools=run.tools,
            control=self.tokenizer.control_texts,
            stops=self.tokenizer.stop_texts,
            now=self.date,
            conventions=self.conventions,
            inline=self.content_tokens != "text",
        )

    def ids(self, trace: Trace) -> list[int]:
        """Returns the ids of what was written."""
        cuts, _ = self._control(trace)
        with _naming_fields(trace):
            return encode_text(self.tokenizer, trace.text, cuts)

    def encoded(self, trace: Trace, labels: Sequence[Labelled]) -> tuple[EncodedRuns, list[InjectedText]]:
        """Returns the ids of a text with their attribution, and the control text in it that is a caller's.

        There are no runs where a tokenizer of the caller's own does not say where its tokens are in the text.
        """
        text, (cuts, injected) = trace.text, self._control(trace)
        try:
            with _naming_fields(trace):
                encoded = encode_labelled(self.tokenizer, text, cuts, labels)
                places = locate_marks(self.tokenizer, text, cuts, [mark for mark, _ in injected]) if injected else []
        except UnalignedError as error:
            _LOG.warning("%s: tokens do not spell their text, and have no attribution", self.tokenizer.name_or_path)
            _LOG.debug("%s", error)
            return EncodedRuns(array("I", encode_text(self.tokenizer, text, cuts)), (), ()), []
        pairs = zip(injected, places, strict=True)
        return encoded, [InjectedText(span.message, span.path, mark.text, *place) for (mark, span), place in pairs]

    def _control(self, trace: Trace) -> tuple[Cuts, list[tuple[Mark, Span]]]:
        """Returns where a text is cut to be encoded, and the control text in it that the template did not write."""
        reserved = self.tokenizer.reserved_texts
        marks = find_marks(trace.text, reserved)
        injected = find_injected(trace, marks)
        if self.content_tokens == "refuse" and injected:
            mark, span = injected[0]
            raise ControlTextError.at(mark.text, message=span.message, path=span.path)
        if self.content_tokens == "text" and isinstance(self.tokenizer, LoadedTokenizer):
            own = find_own(trace, reserved) if injected else marks
            return cut_at_own(self.tokenizer, trace.text, own), injected
        return cut_at_walls(self.tokenizer, marks), injected


def _short(switches: Mapping[str, Any], given: Given, source: str) -> Given:
    """Returns the switches that may change what is written around a turn: flags, numbers and words, not whole texts.

    What is written around turns is learned anew for each of their values, so those that the template does
    not know are left out.
    """
    known = dict(given)
    return tuple(
        (name, value)
        for name, value in all_given({}, switches)
        if name not in known and name in source and not (isinstance(value, str) and len(value) > _WORD)
    )


@contextlib.contextmanager
def _naming_fields(trace: Trace) -> Iterator[None]:
    """Lets an error for a text that cannot be encoded say which field it came from."""
    try:
        yield
    except UnencodableTextError:
        raise _surrogate_in(trace) from None


def _surrogate_in(trace: Trace) -> UnencodableTextError:
    """Returns the error for a text's first lone surrogate, with the field that it came from."""
    at = next(at for at, character in enumerate(trace.text) if "\ud800" <= character <= "\udfff")
    (span,) = trace.spans_in(at, at + 1)
    field = ".".join(map(str, span.path))
    place = f"message {span.message}: {field or 'what is written around it'}" if span.message >= 0 else field
    return UnencodableTextError.at(f"{place or 'the chat template'}: a character", trace.text[at])
