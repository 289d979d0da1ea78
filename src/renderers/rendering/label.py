"""What a template writes around an assistant's turn, learned by running it, and so which text a model samples.

A turn begins after its head: all that a render with a generation prompt writes after the last body before the turn. It
ends with its stop token. `label` is the only code that says what is sampled, and in which channel a text is.
"""

from __future__ import annotations

import bisect
import datetime
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from renderers.core.channels import span_channel
from renderers.core.conventions import Conventions
from renderers.core.messages import media_parts
from renderers.core.patterns import any_of
from renderers.core.spans import Channel, Labelled, Span, Trace
from renderers.core.text import LEXEME
from renderers.probing.turn_format import Head, Ways, closer, heads, placeholder, think_markers, ways_of
from renderers.programs.input_formats import Data, Given
from renderers.templating import ChatTemplate

__all__ = ["label"]

_OURS = Conventions()
_CONTENT = frozenset({Channel.CONTENT, Channel.REASONING, Channel.TOOL_RESULT, Channel.MEDIA})
"""What is content of messages that are not the model's own: not the names and ids that lead to it."""


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
    inline: bool = True,
) -> tuple[Labelled, ...]:
    """Says of every span of a trace in which channel it is, and whether the model samples it.

    `given` is what the template was given beside messages and tools, `control` the tokens that it may close
    a turn with, `stops` those that the model is known to stop with, none where that is not known, `now` the
    time that it was told. `conventions` may draw the borders of what is sampled elsewhere. A stop token that
    the template writes with the next message belongs to the message that it stops.

    Content at the beginning of a turn, between the markers that the template writes around reasoning, is
    reasoning; with `inline` also where these are themselves in the content.
    """
    channels = [span_channel(span, messages) for span in trace.spans]
    ways = ways_of(template, given=given, tools=tools, now=now)
    placeholders = {
        at: _placeholders(ways, control, message) for at, message in enumerate(messages) if media_parts(message)
    }
    reader = _Reader(trace, channels, any_of(control), closer(ways, control), stops)
    turns = {}
    for at, message in enumerate(messages):
        if message["role"] == "assistant":
            turn = reader.turn(at, heads(ways, messages[at - 1]["role"] if at else ""))
            if turn is not None:
                turns[at] = _moved(turn, conventions, trace.text)
    labelled: Iterable[Labelled] = _labelled(trace, messages, channels, turns)
    if placeholders:
        labelled = _with_media(trace, messages, labelled, placeholders)
    regions = _reasoning(trace, channels, turns, think_markers(ways), inline=inline)
    return tuple(_with_reasoning(labelled, regions) if regions else labelled)


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
            content = sampled if speaks else channel in _CONTENT
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


def _placeholders(ways: Ways, control: frozenset[str], message: Data) -> frozenset[str]:
    """Returns what holds the place of what is not text in a message."""
    found = (placeholder(ways, control, message["role"], kind) for kind in set(media_parts(message).values()))
    return frozenset(text for text in found if text)


class _Region(NamedTuple):
    """Reasoning in a turn: where the marker that opens it begins and ends, and the one that closes it."""

    opened: int
    start: int
    end: int
    closed: int


def _reasoning(
    trace: Trace, channels: list[Channel], turns: dict[int, _Turn], markers: tuple[str, str] | None, *, inline: bool
) -> dict[int, _Region]:
    """Returns where turns begin with reasoning, by their messages."""
    if markers is None:
        return {}
    contents: dict[int, int] = {}
    for span, channel in zip(trace.spans, channels, strict=True):
        if channel is Channel.CONTENT and span.start < span.end:
            contents.setdefault(span.message, span.start)
    found = {}
    for at, turn in turns.items():
        opened = _find_marker(trace, markers[0], turn.own, turn.end, inline=inline)
        first = contents.get(at, turn.end)
        if opened is None or trace.text[min(first, opened) : opened].strip():
            continue
        start = opened + len(markers[0])
        end = _find_marker(trace, markers[1], start, turn.end, inline=inline)
        # What is not finished is reasoning to its end.
        found[at] = _Region(opened, start, *((turn.end, turn.end) if end is None else (end, end + len(markers[1]))))
    return found


def _find_marker(trace: Trace, marker: str, start: int, end: int, *, inline: bool) -> int | None:
    """Returns where a marker is first written, by the template or, with `inline`, in a body."""
    at = trace.text.find(marker, start, end)
    while at >= 0 and not inline and trace.spans_in(at, at + 1)[0].path:
        at = trace.text.find(marker, at + 1, end)
    return at if at >= 0 else None


def _with_reasoning(labels: Iterable[Labelled], regions: dict[int, _Region]) -> Iterator[Labelled]:
    """Yields labels, content cut where it is reasoning; the markers in it are scaffold."""
    for one in labels:
        region = regions.get(one.message)
        if region is None or one.channel is not Channel.CONTENT or one.start >= region.closed:
            yield one
            continue
        borders = [one.start, *(place for place in region if one.start < place < one.end), one.end]
        for start, end in itertools.pairwise(dict.fromkeys(borders) if one.start < one.end else borders):
            inside = region.start <= start and end <= region.end
            marker = region.opened <= start and end <= region.closed
            channel = Channel.REASONING if inside else Channel.SCAFFOLD if marker else Channel.CONTENT
            yield one._replace(start=start, end=end, channel=channel)


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

    def turn(self, message: int, heads: tuple[Head, ...]) -> _Turn | None:
        """Returns where a message's sampled text begins and ends; None for a message that is not there."""
        if message not in self._first:
            return None
        own = list(self._own(message))
        bodies = [number for number in own if self._is_body[number]]
        # An empty body may stand within the head: reasoning that is switched off.
        spoken = (self._spans[number].start for number in bodies if self._spans[number].start < self._spans[number].end)
        first = next(spoken, self._spans[own[-1]].end)
        start = self._start(own[0], first, self._spans[own[-1]].end, heads)
        last = max(self._spans[bodies[-1]].end if bodies else start, start)
        later = (self._spans[number] for number in range(own[-1] + 1, len(self._spans)))
        follows = next((span for span in later if span.start < span.end), None)
        end = self._end(last, max(self._spans[own[-1]].end, last), follows)
        return _Turn(self._spans[own[0]].start, start, end)

    def _own(self, message: int) -> Iterator[int]:
        """Yields the numbers of a message's spans, up to where a later one begins."""
        for number in range(self._first[message], len(self._spans)):
            if self._spans[number].message == message:
                yield number
            elif self._spans[number].message > message:
                return

    def _start(self, first_span: int, first: int, last: int, heads: tuple[Head, ...]) -> int:
        before = next((at for at in range(first_span - 1, -1, -1) if self._is_body[at]), None)
        end = self._spans[before].end if before is not None else 0
        for head in heads:
            # Reasoning that the prompt opens may be a part of the content.
            most = last if head.chosen else first
            if head.whole and self._text.startswith(head.whole, end) and end + len(head.whole) <= most:
                return end + len(head.whole)
        # What holds the place of an image may be between the last body and the head, or the message before has no body.
        for text in (*(head.whole for head in heads), *(head.prompt for head in heads)):
            at = self._text.rfind(text, end, first) if text else -1
            if at >= 0:
                return at + len(text)
        found = (self._aligned(head.prompt, end, first) for head in heads)
        # Without a generation prompt all that is written for the message is the model's. Where there is one, and
        # nothing of it is here, what is around the bodies is better left out.
        prompted = any(head.prompt for head in heads) or not heads
        return max((at for at in found if at is not None), default=first if prompted else self._spans[first_span].start)

    def _aligned(self, prompt: str, begin: int, end: int) -> int | None:
        """Returns where the longest beginning of a generation prompt ends that is there, cut between lexemes."""
        for size in reversed([match.end() for match in LEXEME.finditer(prompt)]):
            at = self._text.find(prompt[:size], begin, end)
            if at >= 0:
                return at + size
        return None

    def _end(self, last: int, end: int, follows: Span | None) -> int:
        if self._control is not None:
            stops = list(self._control.finditer(self._text, last, end))
            closers = [match for match in stops if match[0] == self._closer]
            # Where the template does not close the turn, the token that opens the next one is what stops it.
            answered = follows is not None and follows.message >= 0 and not follows.path
            following = self._control.match(self._text, end) if answered and not closers else None
            if following is not None and self._is_stop(following[0]):
                return following.end()
            if stops:
                return (closers or stops)[-1].end()
        return last + len(self._text[last:end].rstrip())

    def _is_stop(self, following: str) -> bool:
        """Says whether a token of the next message can stop a turn: a known one, or any where no turn is closed."""
        return following in self._stops if self._stops else self._closer is None
