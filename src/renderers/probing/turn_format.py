"""What a template writes around an assistant's turn, learned by running it with small conversations."""

from __future__ import annotations

import datetime
import functools
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from renderers.core.channels import span_channel
from renderers.core.patterns import any_of
from renderers.core.spans import Channel, Trace
from renderers.core.text import LEXEME, alike
from renderers.errors import MessageError, TemplateError, TemplateLimitError
from renderers.programs.adapt import adapt_messages, adapt_tools
from renderers.programs.input_formats import ASK, TOOL, Data, Given, around
from renderers.templating import ChatTemplate, Limits

__all__ = [
    "THINKING_SWITCHES",
    "Head",
    "Markers",
    "Ways",
    "closer",
    "fields",
    "heads",
    "placeholder",
    "think_markers",
    "turn_of",
    "ways_of",
]

THINKING_SWITCHES = ("enable_thinking", "thinking")
"""What templates call the switch that lets a model think."""
_NEVER = datetime.datetime(2026, 1, 1)
"""The time for templates that do not ask for it."""
_WORDS = ("Kiesel", "Wolke")
"""Texts around an image that is tried."""


def ways_of(template: ChatTemplate, *, given: Given, tools: bool, now: datetime.datetime = _NEVER) -> Ways:
    """Returns what decides about the text around turns of a conversation; `now` counts if the template asks for it."""
    time = now if "strftime_now" in template.source else _NEVER
    return Ways(template.source, template.limits, given, tools, time)


class Ways(NamedTuple):
    """What decides about the text around a turn, beside who spoke before: a template and what it is given."""

    source: str
    limits: Limits
    given: Given
    tools: bool
    now: datetime.datetime


class Head(NamedTuple):
    """What stands between the last body before a turn and the turn; `prompt` is the generation prompt's part of it."""

    whole: str
    prompt: str
    chosen: bool
    """With the switches that were given, not with thinking switched otherwise."""


@functools.lru_cache(maxsize=1024)
def heads(ways: Ways, before: str) -> tuple[Head, ...]:
    """Returns the heads of a turn after a role: with what is given, then with thinking switched otherwise.

    That of a template without a generation prompt may be empty.
    """
    switches = dict(ways.given)
    others = [{**switches, name: value} for name in THINKING_SWITCHES if name in ways.source for value in (True, False)]
    found = []
    for conversation in _ending_with(before):
        for at, arguments in enumerate((switches, *others)):
            trace = _tried(ways, conversation, arguments=arguments, prompt=True)
            if trace is not None:
                whole, prompt = trace.text[_last_body(trace, conversation) :], trace.text[_prompt_start(trace) :]
                found.append(Head(whole, prompt, chosen=not at))
    return tuple(dict.fromkeys(found))


@functools.lru_cache(maxsize=256)
def closer(ways: Ways, control: frozenset[str]) -> str | None:
    """Returns the token that closes a turn which others follow; None where there is none, or it cannot be told."""
    pattern = any_of(control)
    conversation = [ASK, {"role": "assistant", "content": "A"}, ASK]
    trace = _tried(ways, conversation, arguments=dict(ways.given), prompt=False)
    if trace is None or pattern is None:
        return None
    bodies = [
        span.end
        for span in trace.spans
        if span.message == 1 and span_channel(span, conversation) is not Channel.SCAFFOLD
    ]
    following = [span.start for span in trace.spans if span.message == 2]
    found = pattern.findall(trace.text, bodies[-1], following[0]) if bodies and following else []
    return str(found[-1]) if found else None


class Markers(NamedTuple):
    """What a template writes before a field and after it, up to its neighbours, or to the ends of the turn."""

    before: str
    after: str


@functools.lru_cache(maxsize=256)
def fields(ways: Ways) -> Mapping[Channel, Markers]:
    """Returns the markers around each field of an assistant's last turn, of those that the template writes."""
    found: dict[Channel, Markers] = {}
    for said in _SAID:
        trace, conversation = turn_of(ways, said)
        if trace is not None:
            for channel, markers in _markers(trace, conversation).items():
                found.setdefault(channel, markers)
    return MappingProxyType(found)


def turn_of(ways: Ways, said: Data) -> tuple[Trace | None, list[Data]]:
    """Returns what a template writes for an assistant's last turn after a question, and that conversation.

    None for a turn that it does not take.
    """
    conversation = [ASK, {"role": "assistant", **said}]
    return _tried(ways, conversation, arguments=dict(ways.given), prompt=False), conversation


@functools.lru_cache(maxsize=256)
def think_markers(ways: Ways) -> tuple[str, str] | None:
    """Returns the markers next to a turn's reasoning; None where there are no two that stand for it."""
    around = fields(ways)
    if Channel.REASONING not in around:
        return None
    markers = _next_to(around[Channel.REASONING])
    if not all(len(marker) > 2 and marker[0] in "<[" for marker in markers):
        return None
    # A marker that content begins with as well stands for any field.
    content = around.get(Channel.CONTENT)
    return None if content is not None and _next_to(content)[0] == markers[0] else markers


def _next_to(around: Markers) -> tuple[str, str]:
    """Returns the lexemes next to a field."""
    before, after = LEXEME.findall(around.before.rstrip()), LEXEME.findall(around.after.lstrip())
    return before[-1] if before else "", after[0] if after else ""


_CALL = {"id": "call00000", "type": "function", "function": {"name": "f", "arguments": {"x": "y"}}}
_THOUGHT = {"reasoning_content": "Thought", "thinking": "Thought"}
_SAID: tuple[Data, ...] = (
    {"content": "Said", **_THOUGHT, "tool_calls": [_CALL]},
    {"content": "Said", **_THOUGHT},
    {"content": "", "tool_calls": [_CALL]},
    {"content": "Said"},
)


def _markers(trace: Trace, conversation: Sequence[Data]) -> dict[Channel, Markers]:
    own = [span for span in trace.spans if span.message == 1 and span.start < span.end]
    bodies = [span for span in own if span_channel(span, conversation) is not Channel.SCAFFOLD]
    found: dict[Channel, Markers] = {}
    for at, span in enumerate(bodies):
        before = bodies[at - 1].end if at else own[0].start
        after = bodies[at + 1].start if at + 1 < len(bodies) else own[-1].end
        markers = Markers(trace.text[before : span.start], trace.text[span.end : after])
        found.setdefault(span_channel(span, conversation), markers)
    return found


@functools.lru_cache(maxsize=256)
def placeholder(ways: Ways, control: frozenset[str], role: str, kind: str) -> str | None:
    """Returns what a template writes in the place of an image, or of another kind of media, in a message of a role.

    That is one token where it writes one, without those that open and close its place. None for what it does not take.
    """
    first, last = ({"type": "text", "text": word} for word in _WORDS)
    texts = around({"role": role, "content": [first, last]})
    media = around({"role": role, "content": [first, {"type": kind, kind: "x"}, last]})
    for without, with_media in zip(texts, media, strict=True):
        one = _tried(ways, without, arguments=dict(ways.given), prompt=False)
        other = _tried(ways, with_media, arguments=dict(ways.given), prompt=False)
        if one is not None and other is not None and one.text != other.text:
            return _added(one.text, other.text, control)
    return None


def _added(without: str, with_media: str, control: frozenset[str]) -> str:
    """Returns what is in the second text for a medium that the first one has not."""
    before = alike(without, with_media)
    after = alike(without[before:][::-1], with_media[before:][::-1])
    added = with_media[before : len(with_media) - after]
    pattern = any_of(control)
    marks: list[str] = pattern.findall(added) if pattern is not None else []
    # The last token closes what others have opened.
    return marks[-2 if len(marks) > 2 else 0] if marks else added.strip()


def _last_body(trace: Trace, messages: Sequence[Data]) -> int:
    return max((span.end for span in trace.spans if span_channel(span, messages) is not Channel.SCAFFOLD), default=0)


def _prompt_start(trace: Trace) -> int:
    """Returns where what nobody said begins at the end of a text."""
    return max((span.end for span in trace.spans if span.message >= 0), default=0)


def _ending_with(role: str) -> list[list[Data]]:
    """Returns conversations that end with a message of a role."""
    if role == "tool":
        return around({"role": role, "content": "R"})
    if role in ("", "user"):
        return [[ASK]]
    return [[{"role": role, "content": "A"}], [ASK, {"role": role, "content": "A"}]]


def _tried(ways: Ways, messages: list[Data], *, arguments: Data, prompt: bool) -> Trace | None:
    template = ChatTemplate(ways.source, limits=ways.limits, verify=False)
    try:
        adapted = adapt_messages(template, messages, given=ways.given)
        tools = adapt_tools(template, [TOOL], given=ways.given) if ways.tools else None
        return template.run(adapted, tools=tools, add_generation_prompt=prompt, now=ways.now, **arguments)
    except TemplateLimitError:
        raise
    except (MessageError, TemplateError):
        return None
