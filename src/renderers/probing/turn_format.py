"""`TurnFormat`: the delimiters of turns and fields, learned by running a program on small conversations."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any, NamedTuple

from renderers.core.bounded_table import BoundedTable
from renderers.core.channels import span_channel
from renderers.core.jsontypes import Arguments, JsonObject, exact_key
from renderers.core.lazy import lazy
from renderers.core.probe_words import PROBE_CAPTIONS, PROBE_CONTENT, PROBE_REASONING, PROBE_RESULT
from renderers.core.probes import (
    ARGUMENTS,
    ASK,
    TOOL,
    chat_message,
    conversations_with,
    reasoning_fields,
    tool_call,
)
from renderers.core.spans import Channel, Span, Trace
from renderers.core.text import LEXEME, common_prefix_length, compile_alternation
from renderers.programs.base import REJECTIONS, Program

THINKING_SWITCHES = ("enable_thinking", "thinking")
"""The names that templates use for the argument that turns reasoning on."""
_PROBES_KEPT = 64
"""How many headers and placeholders of a format are kept at least. A caller may pass any number of roles."""


class ProbeKey(NamedTuple):
    """Everything that determines a turn's delimiters except the previous role."""

    program: Program
    arguments: Arguments
    with_tools: bool
    now: datetime
    special_tokens: frozenset[str]
    """The texts of the special tokens that a program may end a turn with."""

    @property
    def exact(self) -> Hashable:
        """A value that differs for equal keys with arguments or times that are written differently."""
        return exact_key(self.arguments), repr(self.now)


class TurnHeader(NamedTuple):
    """The text between the last body before a turn and the turn."""

    text: str
    generation_prompt: str
    """The part of the text that the generation prompt adds."""
    is_default: bool
    """True for the header with the actual arguments, False for one with reasoning switched the other way."""


class FieldDelimiters(NamedTuple):
    """The text before and after a field, up to the neighbouring field or to the end of the turn."""

    before: str
    after: str


@dataclass(frozen=True, eq=False)
class TurnFormat:
    """The delimiters of turns and fields, each probed on first use. Call `turn_format` for a shared object."""

    key: ProbeKey

    @lazy
    def _probed(self) -> BoundedTable[Any]:
        return BoundedTable(keep=_PROBES_KEPT)

    def headers(self, previous_role: str) -> tuple[TurnHeader, ...]:
        """Return the headers of a turn that follows a message of a role, the default header first.

        The header of a program without a generation prompt may be empty. Pass "" if no message precedes the turn.
        """
        headers: tuple[TurnHeader, ...] = self._probed.get(previous_role, lambda: self._probe_headers(previous_role))
        return headers

    def _probe_headers(self, previous_role: str) -> tuple[TurnHeader, ...]:
        switches = [name for name in THINKING_SWITCHES if self.key.program.mentions(name)]
        switched = [{name: value} for name in switches for value in (True, False)]
        headers = []
        for conversation, switch in itertools.product(_ending_with(previous_role), ({}, *switched)):
            trace = self.render(conversation, prompt=True, **switch)
            if trace is not None:
                last_body = max((span.end for span in _bodies(trace, conversation)), default=0)
                prompt_start = max((span.end for span in trace.spans if span.message >= 0), default=0)
                headers.append(TurnHeader(trace.text[last_body:], trace.text[prompt_start:], is_default=not switch))
        return tuple(dict.fromkeys(headers))

    def placeholder(self, role: str, kind: str) -> str | None:
        """Return the text for a media part, without the tokens around it; None if the program accepts no such part."""
        placeholder: str | None = self._probed.get((role, kind), lambda: self._probe_placeholder(role, kind))
        return placeholder

    def _probe_placeholder(self, role: str, kind: str) -> str | None:
        first, last = ({"type": "text", "text": caption} for caption in PROBE_CAPTIONS)
        without_media = conversations_with({"role": role, "content": [first, last]})
        with_media = conversations_with({"role": role, "content": [first, {"type": kind, kind: "x"}, last]})
        for conversation, other in zip(without_media, with_media, strict=True):
            trace, media_trace = self.render(conversation), self.render(other)
            if trace is not None and media_trace is not None and trace.text != media_trace.text:
                return _inserted_placeholder(trace.text, media_trace.text, self.key.special_tokens)
        return None

    @lazy
    def end_token(self) -> str | None:
        """The special token that ends a turn when another message follows; None if there is none."""
        pattern = compile_alternation(self.key.special_tokens)
        conversation = [ASK, chat_message("assistant", PROBE_CONTENT), ASK]
        trace = self.render(conversation)
        if trace is None or pattern is None:
            return None
        bodies = [span.end for span in _bodies(trace, conversation) if span.message == 1]
        following = [span.start for span in trace.spans if span.message == 2]
        tokens = pattern.findall(trace.text, bodies[-1], following[0]) if bodies and following else []
        return str(tokens[-1]) if tokens else None

    @lazy
    def field_delimiters(self) -> Mapping[Channel, FieldDelimiters]:
        """The delimiters of each field that the program writes in an assistant's last turn."""
        delimiters: dict[Channel, FieldDelimiters] = {}
        for fields in _TURNS:
            trace, conversation = self.render_turn(fields)
            if trace is not None:
                delimiters = _delimiters_in(trace, conversation) | delimiters
        return MappingProxyType(delimiters)

    @lazy
    def think_markers(self) -> tuple[str, str] | None:
        """The markers around reasoning, such as `<think>` and `</think>`; None if there is no such pair."""
        reasoning = self.field_delimiters.get(Channel.REASONING)
        if reasoning is None:
            return None
        markers = _adjacent_lexemes(reasoning)
        if not _is_tag(markers[0]):
            # The opening marker can be a tag with a word after it, such as `<|channel>thought`.
            before = LEXEME.findall(reasoning.before.rstrip())
            markers = before[-2] if len(before) > 1 and before[-1].isalpha() else "", markers[1]
        if not all(map(_is_tag, markers)):
            return None
        # A marker that also opens the content is not specific to reasoning, unless there is a word in it.
        content = self.field_delimiters.get(Channel.CONTENT)
        return _named_tags(reasoning) if content and _adjacent_lexemes(content)[0] == markers[0] else markers

    def render_turn(self, fields: JsonObject) -> tuple[Trace | None, list[JsonObject]]:
        """Render an assistant's turn after a question. Return the trace, None if rejected, and the conversation."""
        conversation = [ASK, {"role": "assistant", **fields}]
        return self.render(conversation), conversation

    def render(self, messages: list[JsonObject], *, prompt: bool = False, **switches: bool) -> Trace | None:
        """Render a conversation, with a generation prompt if `prompt` is True. None if the program rejects it."""
        program, default, with_tools, now, _ = self.key
        tools, arguments = [TOOL] if with_tools else None, {**dict(default), **switches}
        try:
            run = program.run(messages, tools=tools, add_generation_prompt=prompt, arguments=arguments, now=now)
        except REJECTIONS:
            return None
        return run.trace


def turn_format(
    program: Program, *, arguments: Mapping[str, Any], with_tools: bool, now: datetime, special_tokens: frozenset[str]
) -> TurnFormat:
    """Return the turn format of a program. The time counts only if it can change the format."""
    time = program.probe_time(arguments, now)
    key = ProbeKey(program, program.probe_arguments(arguments), with_tools, time, special_tokens)
    return _shared_format(key, key.exact)


@functools.lru_cache(maxsize=256)
def _shared_format(key: ProbeKey, _exact: Hashable) -> TurnFormat:
    return TurnFormat(key)


def _inserted_placeholder(text: str, media_text: str, special_tokens: frozenset[str]) -> str:
    """Return the placeholder that the second text has and the first one has not."""
    before = common_prefix_length(text, media_text)
    after = common_prefix_length(text[before:][::-1], media_text[before:][::-1])
    inserted = media_text[before : len(media_text) - after]
    pattern = compile_alternation(special_tokens)
    tokens: list[str] = pattern.findall(inserted) if pattern is not None else []
    # With three or more tokens, the first and the last are delimiters.
    return tokens[-2 if len(tokens) > 2 else 0] if tokens else inserted.strip()


_CALL = tool_call("f", ARGUMENTS[0])
_TURNS: tuple[JsonObject, ...] = (
    {"content": PROBE_CONTENT, **reasoning_fields(PROBE_REASONING), "tool_calls": [_CALL]},
    {"content": PROBE_CONTENT, **reasoning_fields(PROBE_REASONING)},
    {"content": "", "tool_calls": [_CALL]},
    {"content": PROBE_CONTENT},
)


def _delimiters_in(trace: Trace, conversation: Sequence[JsonObject]) -> dict[Channel, FieldDelimiters]:
    turn = [span for span in trace.spans if span.message == 1 and span.start < span.end]
    bodies = [span for span in _bodies(trace, conversation) if span in turn]
    delimiters: dict[Channel, FieldDelimiters] = {}
    for index, span in enumerate(bodies):
        before = bodies[index - 1].end if index else turn[0].start
        after = bodies[index + 1].start if index + 1 < len(bodies) else turn[-1].end
        pair = FieldDelimiters(trace.text[before : span.start], trace.text[span.end : after])
        delimiters.setdefault(span_channel(span, conversation), pair)
    return delimiters


def _named_tags(around: FieldDelimiters) -> tuple[str, str] | None:
    """Return markers of two tags with the same word between them: `<|open|>think<|sep|>`, `<|close|>think<|sep|>`."""
    before, after = LEXEME.findall(around.before.rstrip())[-3:], LEXEME.findall(around.after.lstrip())[:3]
    if len(before) < 3 or len(after) < 3 or before[1] != after[1] or not before[1].isalpha():
        return None
    is_named = all(map(_is_tag, (before[0], before[2], after[0], after[2])))
    return ("".join(before), "".join(after)) if is_named else None


def _is_tag(lexeme: str) -> bool:
    return len(lexeme) > 2 and lexeme[0] in "<["


def _adjacent_lexemes(delimiters: FieldDelimiters) -> tuple[str, str]:
    before, after = LEXEME.findall(delimiters.before.rstrip()), LEXEME.findall(delimiters.after.lstrip())
    return before[-1] if before else "", after[0] if after else ""


def _bodies(trace: Trace, messages: Sequence[JsonObject]) -> list[Span]:
    return [span for span in trace.spans if span_channel(span, messages) is not Channel.SCAFFOLD]


def _ending_with(role: str) -> list[list[JsonObject]]:
    if role == "tool":
        return conversations_with({"role": role, "content": PROBE_RESULT})
    if role in ("", "user"):
        return [[ASK]]
    message = chat_message(role, PROBE_CONTENT)
    return [[message], [ASK, message]]
