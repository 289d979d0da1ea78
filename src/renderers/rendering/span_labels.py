"""Find the spans of each message, and label spans with channels and sampled flags, in C or in Python."""

from __future__ import annotations

import bisect
import itertools
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from renderers.core.channels import field_channel
from renderers.core.lazy import lazy
from renderers.core.native import native
from renderers.core.spans import Channel, LabelledSpan, Path, Span, Trace

ROLE = "role"
# A tuple: the hash of an enum member is computed by Python code.
_CONTENT = (Channel.CONTENT, Channel.REASONING, Channel.TOOL_RESULT, Channel.MEDIA)
"""The channels that count as content in messages of other roles, and after a turn. Names and ids do not."""
CHANNELS = (Channel.SCAFFOLD, *_CONTENT)
"""The channels that the C extension distinguishes, in its order."""

ChannelOf = Callable[[Path, bool | None], Channel]


class MessageSpans(NamedTuple):
    """The places of a message in a text: of its spans up to the first span of a later message.

    A body is a field with a channel of its own. Places are -1 if there is no such text.
    """

    start: int
    end: int
    next_span: int
    """The number of the span after its last."""
    previous_body: int
    """The end of the last body before the message; 0 if there is none."""
    first_body: int
    """The start of its first body that is not empty."""
    last_body: int
    """The end of its last body."""
    role: int
    """The end of the role before the first body; 0 if there is none."""
    content: int
    """The start of its content, which may be after a span of a later message."""


class Region(NamedTuple):
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


class Turn(NamedTuple):
    """The start of a turn, and its sampled text: from `start` to `end`, except for the `prompted` ranges."""

    first: int
    start: int
    end: int
    prompted: tuple[tuple[int, int], ...] = ()
    reasoning: Region | None = None
    """Reasoning at the start of the turn."""

    def prompts(self, start: int, end: int, path: Path, channel: Channel) -> bool:
        """Return True if a range is within a prompted one.

        Only text that the template wrote can be prompted, and the name of a call with such text around it.
        """
        if path and channel is not Channel.TOOL_NAME:
            return False
        start, end = (start - 1, end + 1) if path else (start, end)
        return any(first <= start and end <= last for first, last in self.prompted)


# ==================
# The spans of messages
# ==================

IndexedSpans = tuple[list[Channel], list[MessageSpans | None]]
"""The channel of each span, and the spans of each message; None for a message without any."""


def index_spans(spans: tuple[Span, ...], are_results: list[bool]) -> IndexedSpans:
    """Return the channels of spans and the spans of messages, which may be results of tools."""
    return index_native(spans, are_results, field_channel, CHANNELS, ROLE, MessageSpans)


def index_in_python(
    spans: tuple[Span, ...],
    are_results: list[bool],
    channel_of: ChannelOf,
    _channels: tuple[Channel, ...],
    _role: str,
    _type: type[MessageSpans],
    /,
) -> IndexedSpans:
    """Return the same as `index_spans` of the C extension."""
    channels = [
        channel_of(path, None if message < 0 else are_results[message]) if path else Channel.SCAFFOLD
        for _, _, message, path in spans
    ]
    first: dict[int, int] = {}
    content_starts: dict[int, int] = {}
    for number, (start, end, message, _) in enumerate(spans):
        first.setdefault(message, number)
        if channels[number] is Channel.CONTENT and start < end:
            content_starts.setdefault(message, start)
    message_spans = [
        _spans_of(message, spans, channels, first[message], content_starts.get(message, -1))
        if message in first
        else None
        for message in range(len(are_results))
    ]
    return channels, message_spans


def _spans_of(
    message: int, spans: Sequence[Span], channels: Sequence[Channel], first: int, content: int
) -> MessageSpans:
    """Return the spans of a message from its first one on."""
    last_own, first_body, last_body, role = first, -1, -1, 0
    for number in range(first, len(spans)):
        start, end, owner, path = spans[number]
        if owner > message:
            break
        if owner == message:
            last_own = number
            if channels[number] is not Channel.SCAFFOLD:
                last_body = end
                # An empty body may be inside the header: reasoning that is switched off.
                if first_body < 0 and start < end:
                    first_body = start
            elif first_body < 0 and path == (ROLE,):
                role = end
    bodies = (spans[number].end for number in range(first - 1, -1, -1) if channels[number] is not Channel.SCAFFOLD)
    places = spans[first].start, spans[last_own].end, last_own + 1
    return MessageSpans(*places, next(bodies, 0), first_body, last_body, role, content)


# ==================
# Labels
# ==================

Media = dict[int, re.Pattern[str] | None]
"""The placeholders of media, by message."""


def label_spans(
    trace: Trace, channels: list[Channel], turns: list[Turn | None], media: Media
) -> tuple[LabelledSpan, ...]:
    """Return the spans, split at the borders of sampled text, of reasoning in the content and of media placeholders.

    `turns` has an entry for each message.
    """
    labeller = SpanLabeller(trace.text, turns, media)
    # Turns with prompted text and messages with media are rare.
    return label_native(trace.spans, channels, turns, media, CHANNELS, LabelledSpan, labeller.label)


def label_in_python(
    spans: tuple[Span, ...],
    channels: list[Channel],
    _turns: list[Turn | None],
    _media: Media,
    _kinds: tuple[Channel, ...],
    _type: type[LabelledSpan],
    label: Callable[[Span, Channel], list[LabelledSpan]],
    /,
) -> tuple[LabelledSpan, ...]:
    """Return the same as `label_spans` of the C extension, with a function that labels one span."""
    return tuple(itertools.chain.from_iterable(map(label, spans, channels)))


index_native, label_native = (
    (index_in_python, label_in_python) if native is None else (native.index_spans, native.label_spans)
)


class SpanLabeller:
    """Labels spans of one text in Python."""

    def __init__(self, text: str, turns: Sequence[Turn | None], media: Media) -> None:
        self._text, self._turns, self._media = text, turns, media

    @lazy
    def _borders(self) -> list[int]:
        """The borders of sampled text."""
        pairs = [pair for turn in self._turns if turn for pair in ((turn.start, turn.end), *turn.prompted)]
        return sorted(set(itertools.chain.from_iterable(pairs)))

    @lazy
    def _ends(self) -> dict[int, int]:
        """The message of the turn that ends at a place."""
        return {turn.end: index for index, turn in enumerate(self._turns) if turn}

    def label(self, span: Span, channel: Channel) -> list[LabelledSpan]:
        """Return the labels of the parts of a span."""
        _, _, owner, path = span
        turn = self._turns[owner] if owner >= 0 else None
        labels = []
        for start, end, own in self._parts(span, channel, turn):
            message, sampled = owner, False
            if turn is not None and turn.start <= start < end <= turn.end:
                sampled = not (turn.prompted and turn.prompts(start, end, path, own))
            elif self._ends.get(end, owner) != owner:
                stopped = self._turns[self._ends[end]]
                assert stopped is not None
                if stopped.start <= start < end and not stopped.prompts(start, end, path, own):
                    # The stop token of the previous turn, which the template writes at the start of this message.
                    message, sampled = self._ends[end], True
            content = sampled or (own in _CONTENT and (turn is None or start >= turn.end))
            labels.append(LabelledSpan(start, end, message, path, own, sampled, content))
        return labels

    def _parts(self, span: Span, channel: Channel, turn: Turn | None) -> list[tuple[int, int, Channel]]:
        """Return the parts of a span between the borders in it, each with its channel."""
        first, last, owner, path = span
        region = turn.reasoning if turn is not None and channel is Channel.CONTENT else None
        placeholder = None if path else self._media.get(owner)
        cuts = self._borders[bisect.bisect_right(self._borders, first) : bisect.bisect_left(self._borders, last)]
        places = [match.span() for match in placeholder.finditer(self._text, first, last)] if placeholder else []
        if region or places:
            inner = {*cuts, *(region or ()), *itertools.chain.from_iterable(places)}
            cuts = sorted(place for place in inner if first < place < last)
        parts = zip((first, *cuts), (*cuts, last), strict=True)
        if region is not None:
            return [(start, end, region.channel(start, end)) for start, end in parts]
        return [(start, end, Channel.MEDIA if (start, end) in places else channel) for start, end in parts]
