"""Label rendered text: which channel each span is in, and whether the model samples it.

A turn starts after its header, the text of the generation prompt (`rendering.header`), and ends with its stop token.
`label` decides which text of a render is sampled.
"""

from __future__ import annotations

import bisect
import itertools
import re
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from renderers.core.channels import RESULT_ROLES, field_channel
from renderers.core.jsontypes import JsonObject
from renderers.core.messages import media_parts
from renderers.core.options import SamplingConventions
from renderers.core.spans import Channel, LabelledSpan, Trace
from renderers.core.text import compile_alternation
from renderers.probing.turn_format import TurnFormat, TurnHeader
from renderers.rendering.header import TurnPlace, header_end

_DEFAULT_CONVENTIONS = SamplingConventions()
_NO_BORDER = sys.maxsize
_ROLE = ("role",)
# A tuple: the hash of an enum member is computed by Python code.
_CONTENT = (Channel.CONTENT, Channel.REASONING, Channel.TOOL_RESULT, Channel.MEDIA)
"""The channels that count as content in messages of other roles, and after a turn. Names and ids do not."""


def label(
    trace: Trace,
    messages: Sequence[JsonObject],
    *,
    turn_format: TurnFormat,
    stop_tokens: frozenset[str] = frozenset(),
    conventions: SamplingConventions = _DEFAULT_CONVENTIONS,
    inline_reasoning: bool = True,
) -> tuple[LabelledSpan, ...]:
    """Return the spans of a trace with their channels and sampled flags.

    `stop_tokens` are the texts of the model's stop tokens, empty if unknown. A stop token that the template writes
    at the start of the next message belongs to the message that it ends. `conventions` can move the boundaries of
    sampled text.

    Content at the start of a turn that is enclosed in the template's reasoning markers is reasoning. With
    `inline_reasoning`, markers inside the content count as well.
    """
    spans = _index_spans(trace, messages)
    finder = _TurnFinder(trace, spans, turn_format, stop_tokens)
    turns, media = {}, {}
    for index, message in enumerate(messages):
        parts = media_parts(message)
        if parts:
            texts = (turn_format.placeholder(message["role"], kind) for kind in set(parts.values()))
            media[index] = compile_alternation(frozenset(filter(None, texts)))
        if message["role"] == "assistant":
            turn = finder.find(index, turn_format.headers(messages[index - 1]["role"] if index else ""))
            if turn is not None:
                turns[index] = _apply_conventions(turn, conventions, trace.text)
    regions = _find_reasoning(trace, spans, turns, turn_format.think_markers, inline=inline_reasoning)
    return tuple(_label_spans(trace, spans.channels, turns, regions, media))


class _Spans(NamedTuple):
    """Facts about the spans of a trace."""

    channels: list[Channel]
    first: dict[int, int]
    """The first span of each message."""
    content_starts: dict[int, int]
    """Where the content of each message starts."""


def _index_spans(trace: Trace, messages: Sequence[JsonObject]) -> _Spans:
    spans = _Spans([], {}, {})
    channels, first, content_starts = spans
    # The last entry, for message -1, is that of the arguments.
    is_result = [*[message["role"] in RESULT_ROLES for message in messages], None]
    scaffold, content, last = Channel.SCAFFOLD, Channel.CONTENT, None
    for number, (start, end, message, path) in enumerate(trace.spans):
        channel = field_channel(path, is_result[message]) if path else scaffold
        channels.append(channel)
        if message != last:
            first.setdefault(message, number)
            last = message
        if channel is content and start < end:
            content_starts.setdefault(message, start)
    return spans


class _Turn(NamedTuple):
    """The start of a turn, and its sampled text: from `start` to `end`, except for the `prompted` ranges."""

    first: int
    start: int
    end: int
    prompted: tuple[tuple[int, int], ...] = ()

    def prompts(self, start: int, end: int) -> bool:
        """Return True if a range is within a prompted one. Only text that the template wrote can be prompted."""
        return any(first <= start and end <= last for first, last in self.prompted)


def _apply_conventions(turn: _Turn, conventions: SamplingConventions, text: str) -> _Turn:
    if conventions.sampled_from is not None:
        position = text.find(conventions.sampled_from, turn.first, turn.start)
        turn = turn._replace(start=position if position >= 0 else turn.start)
    if conventions.prompted is not None:
        matches = re.finditer(conventions.prompted, text[turn.start : turn.end])
        prompted = tuple((turn.start + match.start(), turn.start + match.end()) for match in matches)
        turn = turn._replace(prompted=turn.prompted + prompted)
    return turn


def _label_spans(
    trace: Trace,
    channels: list[Channel],
    turns: dict[int, _Turn],
    regions: dict[int, _Region],
    media: dict[int, re.Pattern[str] | None],
) -> list[LabelledSpan]:
    """Return the spans, split at the borders of sampled text, of reasoning in the content and of media placeholders."""
    pairs = [pair for turn in turns.values() for pair in ((turn.start, turn.end), *turn.prompted)]
    borders = [*sorted(set(itertools.chain.from_iterable(pairs))), _NO_BORDER]
    ends = {turn.end: index for index, turn in turns.items()}
    # Faster than the constructor of a named tuple, which runs Python code.
    new, content_channel = tuple.__new__, Channel.CONTENT
    labels: list[LabelledSpan] = []
    next_border = 0
    for (span_start, span_end, owner, path), channel in zip(trace.spans, channels, strict=True):
        while borders[next_border] <= span_start:
            next_border += 1
        turn = turns.get(owner)
        region = regions.get(owner) if channel is content_channel else None
        placeholder = None if path or not media else media.get(owner)
        if region is not None or placeholder is not None or borders[next_border] < span_end:
            parts = _split_span((span_start, span_end, channel), trace.text, borders, region, placeholder)
        elif turn is None and span_end not in ends:
            content = bool(path) and channel in _CONTENT
            labels.append(new(LabelledSpan, (span_start, span_end, owner, path, channel, False, content)))
            continue
        elif turn is not None and turn.start <= span_start < span_end <= turn.end and not turn.prompted:
            labels.append(new(LabelledSpan, (span_start, span_end, owner, path, channel, True, True)))
            continue
        else:
            parts = [(span_start, span_end, channel)]
        for start, end, own in parts:
            message, sampled = owner, False
            if turn is not None and turn.start <= start < end <= turn.end:
                sampled = not (turn.prompted and not path and turn.prompts(start, end))
            elif ends.get(end, owner) != owner:
                stopped = turns[ends[end]]
                if stopped.start <= start < end and (path or not stopped.prompts(start, end)):
                    # The stop token of the previous turn, which the template writes at the start of this message.
                    message, sampled = ends[end], True
            content = sampled or (own in _CONTENT and (turn is None or start >= turn.end))
            labels.append(new(LabelledSpan, (start, end, message, path, own, sampled, content)))
    return labels


def _split_span(
    span: tuple[int, int, Channel],
    text: str,
    borders: list[int],
    region: _Region | None,
    placeholder: re.Pattern[str] | None,
) -> list[tuple[int, int, Channel]]:
    """Return the parts of a span between the borders in it, each with its channel."""
    span_start, span_end, channel = span
    cuts = borders[bisect.bisect_right(borders, span_start) : bisect.bisect_left(borders, span_end)]
    places = [match.span() for match in placeholder.finditer(text, span_start, span_end)] if placeholder else []
    if region or places:
        inner = {*cuts, *(region or ()), *itertools.chain.from_iterable(places)}
        cuts = sorted(place for place in inner if span_start < place < span_end)
    parts = zip((span_start, *cuts), (*cuts, span_end), strict=True)
    if region is not None:
        return [(start, end, region.channel(start, end)) for start, end in parts]
    return [(start, end, Channel.MEDIA if (start, end) in places else channel) for start, end in parts]


class _Region(NamedTuple):
    """Reasoning in a turn: the text from `start` to `end`, and its markers from `open_start` to `close_end`."""

    open_start: int
    start: int
    end: int
    close_end: int

    def channel(self, start: int, end: int) -> Channel:
        """Return the channel of a piece of content. Markers in it are scaffold."""
        if not self.open_start <= start < self.close_end or end > self.close_end:
            return Channel.CONTENT
        return Channel.REASONING if self.start <= start and end <= self.end else Channel.SCAFFOLD


def _find_reasoning(
    trace: Trace, spans: _Spans, turns: dict[int, _Turn], markers: tuple[str, str] | None, *, inline: bool
) -> dict[int, _Region]:
    """Return the reasoning at the start of each turn, by message index."""
    if markers is None:
        return {}
    regions = {}
    for index, turn in turns.items():
        open_start = _find_marker(trace, markers[0], turn.first, turn.end, inline=inline)
        content_start = spans.content_starts.get(index, turn.end)
        if open_start is None or trace.text[min(content_start, open_start) : open_start].strip():
            continue
        start = open_start + len(markers[0])
        end = _find_marker(trace, markers[1], start, turn.end, inline=inline)
        # Reasoning that is not closed extends to the end of the turn.
        ends = (turn.end, turn.end) if end is None else (end, end + len(markers[1]))
        regions[index] = _Region(open_start, start, *ends)
    return regions


def _find_marker(trace: Trace, marker: str, start: int, end: int, *, inline: bool) -> int | None:
    """Return the first position of a marker in template text or, with `inline`, in a body."""
    position = trace.text.find(marker, start, end)
    while position >= 0 and not inline and trace.spans_in(position, position + 1)[0].path:
        position = trace.text.find(marker, position + 1, end)
    return position if position >= 0 else None


class _TurnFinder:
    """Finds the sampled text of turns in one trace."""

    def __init__(self, trace: Trace, spans: _Spans, turn_format: TurnFormat, stop_tokens: frozenset[str]) -> None:
        self._text, self._spans = trace.text, trace.spans
        self._channels, self._first, _ = spans
        self._special_tokens = compile_alternation(turn_format.key.special_tokens)
        self._end_token, self._stop_tokens = turn_format.end_token, stop_tokens

    def find(self, message: int, headers: tuple[TurnHeader, ...]) -> _Turn | None:
        """Return the turn of a message; None if the template does not write the message."""
        if message not in self._first:
            return None
        spans, channels = self._spans, self._channels
        first = last_own = self._first[message]
        first_body = last_body = None
        role = 0
        for number in range(first, len(spans)):
            start, end, owner, path = spans[number]
            if owner > message:
                break
            if owner == message:
                last_own = number
                if channels[number] is not Channel.SCAFFOLD:
                    last_body = end
                    # An empty body may be inside the header: reasoning that is switched off.
                    if first_body is None and start < end:
                        first_body = start
                elif first_body is None and path == _ROLE:
                    role = end
        own_start, own_end = spans[first].start, spans[last_own].end
        body = own_end if first_body is None else first_body
        place = TurnPlace(self._last_body_end(first), own_start, body, own_end, role)
        header = header_end(self._text, place, headers)
        last = header if last_body is None else max(last_body, header)
        end = self._end(last, max(own_end, last), last_own + 1)
        return _Turn(own_start, header, end, tuple(self._inner_prompts(header, end, headers)))

    def _inner_prompts(self, start: int, end: int, headers: tuple[TurnHeader, ...]) -> Iterator[tuple[int, int]]:
        """Yield the generation prompts after stop tokens within a turn, as between two calls of gpt-oss."""
        prompt = headers[0].generation_prompt if headers else ""
        pattern = compile_alternation(frozenset(token + prompt for token in self._stop_tokens)) if prompt else None
        for match in pattern.finditer(self._text, start, end) if pattern else ():
            yield match.end() - len(prompt), match.end()

    def _last_body_end(self, before: int) -> int:
        for number in range(before - 1, -1, -1):
            if self._channels[number] is not Channel.SCAFFOLD:
                return self._spans[number].end
        return 0

    def _end(self, last: int, end: int, next_span: int) -> int:
        """Return the end of a turn with its last body, its text, and the first span after it."""
        if self._special_tokens is not None:
            token = None
            for token in self._special_tokens.finditer(self._text, last, end):
                if token[0] == self._end_token:
                    return token.end()
            following = self._following_token(end, next_span)
            # Any token can stop the turn if no stop token is known.
            if following is not None and (
                following[0] in self._stop_tokens if self._stop_tokens else self._end_token is None
            ):
                return following.end()
            if token is not None:
                return token.end()
        return last + len(self._text[last:end].rstrip())

    def _following_token(self, end: int, next_span: int) -> re.Match[str] | None:
        """Return the token that opens the next message: without an end token, the model stops by emitting it."""
        later = (self._spans[number] for number in range(next_span, len(self._spans)))
        follows = next((span for span in later if span.start < span.end), None)
        is_message = follows is not None and follows.message >= 0 and not follows.path
        return self._special_tokens.match(self._text, end) if is_message and self._special_tokens else None
