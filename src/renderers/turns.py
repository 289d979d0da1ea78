"""What a template writes around an assistant's turn, learned by running it, and so which text a model samples.

A turn begins after its head: all that a render with a generation prompt writes after the last body before the turn. It
ends with its stop token. `label` is the only code that says what is sampled, and in which channel a text is.
"""

from __future__ import annotations

import bisect
import datetime
import functools
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from renderers.adapt import adapt_messages, adapt_tools
from renderers.conventions import Conventions
from renderers.errors import MessageError, TemplateError, TemplateLimitError
from renderers.forms import ASK, TOOL, Data, Given, around
from renderers.messages import MEDIA_KINDS, REASONING_NAMES, media_parts
from renderers.patterns import any_of
from renderers.spans import Channel, Labelled, Path, Span, Trace
from renderers.trace import ChatTemplate, Limits

__all__ = ["channel_of", "label", "placeholder"]

_THINKING_SWITCHES = ("enable_thinking", "thinking")
_RESULT_ROLES = frozenset({"tool", "function", "ipython", "tool_response"})
_NEVER = datetime.datetime(2026, 1, 1)
"""The time for templates that do not ask for it."""
_WORDS = ("Kiesel", "Wolke")
"""Texts around an image that is tried."""
_LEXEME = re.compile(r"<[^<>\s]{1,60}>|\[/?[A-Z_]{2,40}\]|\w+|\s|.", re.DOTALL)
"""What a generation prompt is cut into where only a part of it is there: markers, words, single characters."""


_OURS = Conventions()


def label(
    trace: Trace,
    messages: Sequence[Data],
    *,
    template: ChatTemplate,
    given: Given,
    tools: bool,
    control: frozenset[str],
    stops: frozenset[str] = frozenset(),
    now: datetime.datetime,
    conventions: Conventions = _OURS,
) -> tuple[Labelled, ...]:
    """Says of every span of a trace in which channel it is, and whether the model samples it.

    `given` is what the template was given beside messages and tools, `control` the tokens that it may close
    a turn with, `stops` those that the model is known to stop with, none where that is not known, `now` the
    time that it was told. `conventions` may draw the borders of what is sampled elsewhere. A stop token that
    the template writes with the next message belongs to the message that it stops.
    """
    channels = [_channel(span, messages) for span in trace.spans]
    ways = _Ways(template.source, template.limits, given, tools, now if "strftime_now" in template.source else _NEVER)
    placeholders = {
        at: _placeholders(ways, control, message) for at, message in enumerate(messages) if media_parts(message)
    }
    reader = _Reader(trace, channels, any_of(control), _closer(ways, control), stops)
    turns = {}
    for at, message in enumerate(messages):
        if message["role"] == "assistant":
            turn = reader.turn(at, _heads(ways, messages[at - 1]["role"] if at else ""))
            if turn is not None:
                turns[at] = _moved(turn, conventions, trace.text)
    labelled = _labelled(trace, messages, channels, turns)
    return tuple(_with_media(trace, messages, labelled, placeholders) if placeholders else labelled)


def placeholder(
    kind: str, *, template: ChatTemplate, given: Given, control: frozenset[str], role: str = "user"
) -> str | None:
    """Returns what a template writes in the place of an image, or of another kind of media, in a message of a role.

    That is one token where it writes one, without those that open and close its place. None for what it does not take.
    """
    ways = _Ways(template.source, template.limits, given, tools=False, now=_NEVER)
    return _placeholder(ways, control, role, kind)


def channel_of(path: Path, role: str | None) -> Channel:
    """Returns the channel of a field: of a message with a role, or of what belongs to no message.

    >>> channel_of(("tool_calls", 0, "function", "name"), "assistant")
    <Channel.TOOL_NAME: 'tool_name'>
    """
    if not path:
        return Channel.SCAFFOLD
    if role is None:
        return Channel.TOOL_DEFINITION if path[0] == "tools" else Channel.SCAFFOLD
    if path[0] == "content":
        if path[-1] == "thinking" and len(path) > 1:
            return Channel.REASONING
        if len(path) > 2 and path[2] in MEDIA_KINDS:
            return Channel.MEDIA
        return Channel.TOOL_RESULT if role in _RESULT_ROLES else Channel.CONTENT
    if path[0] in REASONING_NAMES:
        return Channel.REASONING
    if path[0] == "tool_calls":
        if "arguments" in path:
            return Channel.TOOL_ARGUMENTS
        return {"id": Channel.TOOL_CALL_ID, "name": Channel.TOOL_NAME}.get(str(path[-1]), Channel.SCAFFOLD)
    if path[0] == "tool_call_id":
        return Channel.TOOL_CALL_ID
    return Channel.TOOL_NAME if path[0] == "name" and role in _RESULT_ROLES else Channel.SCAFFOLD


def _channel(span: Span, messages: Sequence[Data]) -> Channel:
    return channel_of(span.path, messages[span.message]["role"] if span.message >= 0 else None)


class _Turn(NamedTuple):
    """Where a turn's own text begins, and what of it is sampled: from `start` to `end`, but for what is given."""

    own: int
    start: int
    end: int
    given: tuple[tuple[int, int], ...] = ()

    def has(self, start: int, end: int, *, own: bool) -> bool:
        """Says whether a part is sampled; only text of the template's own can be given."""
        within = self.start <= start < end <= self.end
        return within and not (own and any(first <= start and end <= last for first, last in self.given))


def _moved(turn: _Turn, conventions: Conventions, text: str) -> _Turn:
    """Returns a turn as conventions have it."""
    if conventions.sampled_from is not None:
        at = text.find(conventions.sampled_from, turn.own, turn.start)
        turn = turn._replace(start=at if at >= 0 else turn.start)
    if conventions.given is not None:
        found = re.finditer(conventions.given, text[turn.start : turn.end])
        given = tuple((turn.start + one.start(), turn.start + one.end()) for one in found)
        turn = turn._replace(given=given)
    return turn


def _labelled(
    trace: Trace, messages: Sequence[Data], channels: list[Channel], turns: dict[int, _Turn]
) -> Iterator[Labelled]:
    """Yields the spans, cut where what is sampled begins and ends."""
    pairs = [pair for turn in turns.values() for pair in ((turn.start, turn.end), *turn.given)]
    borders = sorted(set(itertools.chain.from_iterable(pairs)))
    markers = {turn.end: at for at, turn in turns.items()}
    for span, channel in zip(trace.spans, channels, strict=True):
        inside = slice(bisect.bisect_right(borders, span.start), bisect.bisect_left(borders, span.end))
        cuts = [span.start, *borders[inside], span.end]
        for start, end in itertools.pairwise(cuts):
            message, turn = span.message, turns.get(span.message)
            sampled = turn is not None and turn.has(start, end, own=not span.path)
            stopped = markers.get(end, message)
            if stopped != message and turns[stopped].has(start, end, own=not span.path):
                # The stop token of the turn before, which the template writes as the first of this message's text.
                message, sampled = stopped, True
            speaks = message >= 0 and messages[message]["role"] == "assistant"
            content = sampled if speaks else channel not in (Channel.SCAFFOLD, Channel.TOOL_DEFINITION)
            yield Labelled(start, end, message, span.path, channel, sampled, content)


def _with_media(
    trace: Trace, messages: Sequence[Data], labels: Iterable[Labelled], placeholders: dict[int, frozenset[str]]
) -> Iterator[Labelled]:
    """Yields labels, those of the template's own text cut where it holds the place of media."""
    for one in labels:
        pattern = any_of(placeholders.get(one.message, frozenset())) if not one.path else None
        if pattern is None:
            yield one
            continue
        places = [found.span() for found in pattern.finditer(trace.text, one.start, one.end)]
        borders = [one.start, *itertools.chain.from_iterable(places), one.end]
        for at, (start, end) in enumerate(itertools.pairwise(borders)):
            if at % 2:
                content = one.sampled or messages[one.message]["role"] != "assistant"
                yield one._replace(start=start, end=end, channel=Channel.MEDIA, content=content)
            elif start < end or len(borders) == 2:
                yield one._replace(start=start, end=end)


class _Reader:
    """Finds turns in one trace."""

    def __init__(
        self,
        trace: Trace,
        channels: list[Channel],
        control: re.Pattern[str] | None,
        closer: str | None,
        stops: frozenset[str],
    ) -> None:
        self._text = trace.text
        self._spans = trace.spans
        self._control = control
        self._closer = closer
        self._stops = stops
        self._is_body = [channel is not Channel.SCAFFOLD for channel in channels]
        self._first: dict[int, int] = {}
        for number, span in enumerate(trace.spans):
            self._first.setdefault(span.message, number)

    def turn(self, message: int, heads: tuple[_Head, ...]) -> _Turn | None:
        """Returns where a message's sampled text begins and ends; None for a message that is not there."""
        if message not in self._first:
            return None
        own = list(self._own(message))
        bodies = [number for number in own if self._is_body[number]]
        # An empty body may stand within the head: reasoning that is switched off.
        spoken = (self._spans[number].start for number in bodies if self._spans[number].start < self._spans[number].end)
        first = next(spoken, self._spans[own[-1]].end)
        start = self._start(own[0], first, heads)
        last = max(self._spans[bodies[-1]].end if bodies else start, start)
        later = (self._spans[number] for number in range(own[-1] + 1, len(self._spans)))
        follows = next((span for span in later if span.start < span.end), None)
        answered = follows is not None and follows.message >= 0
        end = self._end(last, max(self._spans[own[-1]].end, last), answered)
        return _Turn(self._spans[own[0]].start, start, end)

    def _own(self, message: int) -> Iterator[int]:
        """Yields the numbers of a message's spans, up to where a later one begins."""
        for number in range(self._first[message], len(self._spans)):
            if self._spans[number].message == message:
                yield number
            elif self._spans[number].message > message:
                return

    def _start(self, first_span: int, first: int, heads: tuple[_Head, ...]) -> int:
        before = next((at for at in range(first_span - 1, -1, -1) if self._is_body[at]), None)
        end = self._spans[before].end if before is not None else 0
        for head in heads:
            if self._text.startswith(head.whole, end) and end + len(head.whole) <= first:
                return end + len(head.whole)
        # What holds the place of an image may be between the last body and the head.
        for head in heads:
            at = self._text.rfind(head.whole, end, first)
            if at >= 0:
                return at + len(head.whole)
        # The message before may have no body, or a text of the template's own after it.
        for head in heads:
            at = self._text.rfind(head.prompt, end, first) if head.prompt else -1
            if at >= 0:
                return at + len(head.prompt)
        found = (self._aligned(head.prompt, end, first) for head in heads)
        return max((at for at in found if at is not None), default=self._spans[first_span].start)

    def _aligned(self, prompt: str, begin: int, end: int) -> int | None:
        """Returns where the longest beginning of a generation prompt ends that is there, cut between lexemes."""
        for size in reversed([match.end() for match in _LEXEME.finditer(prompt)]):
            at = self._text.find(prompt[:size], begin, end)
            if at >= 0:
                return at + size
        return None

    def _end(self, last: int, end: int, answered: bool) -> int:
        if self._control is not None:
            stops = list(self._control.finditer(self._text, last, end))
            closers = [match for match in stops if match[0] == self._closer]
            # Where the template does not close the turn, the token that opens the next one is what stops it.
            following = self._control.match(self._text, end) if answered and not closers else None
            if following is not None and self._is_stop(following[0]):
                return following.end()
            if stops:
                return (closers or stops)[-1].end()
        return last + len(self._text[last:end].rstrip())

    def _is_stop(self, following: str) -> bool:
        """Says whether a token of the next message can stop a turn: a known one, or any where no turn is closed."""
        return following in self._stops if self._stops else self._closer is None


# ==================
# Learning
# ==================


class _Ways(NamedTuple):
    """What decides about the text around a turn, beside who spoke before: a template and what it is given."""

    source: str
    limits: Limits
    given: Given
    tools: bool
    now: datetime.datetime


class _Head(NamedTuple):
    """What stands between the last body before a turn and the turn; `prompt` is the generation prompt's part of it."""

    whole: str
    prompt: str


@functools.lru_cache(maxsize=1024)
def _heads(ways: _Ways, before: str) -> tuple[_Head, ...]:
    """Returns the heads of a turn after a role: with what is given, then with thinking switched otherwise."""
    switches = dict(ways.given)
    others = [
        {**switches, name: value} for name in _THINKING_SWITCHES if name in ways.source for value in (True, False)
    ]
    heads = []
    for conversation in _ending_with(before):
        for arguments in (switches, *others):
            trace = _tried(ways, conversation, arguments=arguments, prompt=True)
            if trace is not None:
                heads.append(_Head(trace.text[_last_body(trace, conversation) :], trace.text[_prompt_start(trace) :]))
    return tuple(dict.fromkeys(head for head in heads if head.whole))


@functools.lru_cache(maxsize=256)
def _closer(ways: _Ways, control: frozenset[str]) -> str | None:
    """Returns the token that closes a turn which others follow; None where there is none, or it cannot be told."""
    pattern = any_of(control)
    conversation = [ASK, {"role": "assistant", "content": "A"}, ASK]
    trace = _tried(ways, conversation, arguments=dict(ways.given), prompt=False)
    if trace is None or pattern is None:
        return None
    bodies = [
        span.end for span in trace.spans if span.message == 1 and _channel(span, conversation) is not Channel.SCAFFOLD
    ]
    following = [span.start for span in trace.spans if span.message == 2]
    found = pattern.findall(trace.text, bodies[-1], following[0]) if bodies and following else []
    return str(found[-1]) if found else None


def _placeholders(ways: _Ways, control: frozenset[str], message: Data) -> frozenset[str]:
    """Returns what holds the place of what is not text in a message."""
    kinds = set(media_parts(message).values())
    found = (_placeholder(ways, control, message["role"], kind) for kind in kinds)
    return frozenset(text for text in found if text)


@functools.lru_cache(maxsize=256)
def _placeholder(ways: _Ways, control: frozenset[str], role: str, kind: str) -> str | None:
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
    before = _alike(without, with_media)
    after = _alike(without[before:][::-1], with_media[before:][::-1])
    added = with_media[before : len(with_media) - after]
    pattern = any_of(control)
    marks: list[str] = pattern.findall(added) if pattern is not None else []
    # The last token closes what others have opened.
    return marks[-2 if len(marks) > 2 else 0] if marks else added.strip()


def _alike(one: str, other: str) -> int:
    """Returns how many characters two texts begin with alike."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _last_body(trace: Trace, messages: Sequence[Data]) -> int:
    return max((span.end for span in trace.spans if _channel(span, messages) is not Channel.SCAFFOLD), default=0)


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


def _tried(ways: _Ways, messages: list[Data], *, arguments: Data, prompt: bool) -> Trace | None:
    template = ChatTemplate(ways.source, limits=ways.limits, verify=False)
    try:
        adapted = adapt_messages(template, messages, given=ways.given)
        tools = adapt_tools(template, [TOOL], given=ways.given) if ways.tools else None
        return template.run(adapted, tools=tools, add_generation_prompt=prompt, now=ways.now, **arguments)
    except TemplateLimitError:
        raise
    except (MessageError, TemplateError):
        return None
