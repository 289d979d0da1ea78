"""Keep the empty reasoning of a generation prompt in the turns of the history."""

from __future__ import annotations

import bisect
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence

from renderers.core.caller_warnings import warn_caller
from renderers.core.jsontypes import JsonObject
from renderers.core.messages import REASONING_NAMES
from renderers.core.spans import Channel, Trace
from renderers.errors import UnreadSwitchWarning
from renderers.probing.turn_format import TurnFormat, TurnHeader

_MARKER = re.compile(r"\s*<[^<>\s]{1,60}>")
_CHANNEL = re.compile(r"<[^<>\s]{1,60}>\w+\s*\Z")


def keep_prefill(trace: Trace, messages: Sequence[JsonObject], turn_format: TurnFormat) -> Trace:
    """Return a trace in which every assistant turn has the empty reasoning that its generation prompt contained.

    With reasoning switched off, a generation prompt may contain an empty pair of markers that the template drops from
    the history. A turn that has reasoning, or the pair already, stays unchanged.
    """
    insertions = list(_missing_prefills(trace, messages, turn_format))
    return _insert_texts(trace, insertions) if insertions else trace


def empty_reasoning(turn_format: TurnFormat, previous_role: str) -> tuple[str, str, str] | None:
    """Return the generation prompt after a message of a role, split before and after the marker of empty reasoning.

    None if there is no empty reasoning in it.
    """
    markers, header = _reasoning_markers(turn_format), next(iter(turn_format.headers(previous_role)), None)
    if markers is None or header is None or not header.is_default:
        return None
    return _split_at_reasoning(header, markers)


def warn_without_prefill(turn_format: TurnFormat) -> None:
    """Warn if no generation prompt has empty reasoning to keep, whether reasoning is switched on or off."""
    markers, headers = _reasoning_markers(turn_format), turn_format.headers("user")
    if markers is None or not any(_split_at_reasoning(header, markers) for header in headers):
        warn_caller(
            'prefill="kept" has no effect: the generation prompt of the chat template contains no empty reasoning',
            UnreadSwitchWarning,
        )


def _split_at_reasoning(header: TurnHeader, markers: tuple[str, str]) -> tuple[str, str, str] | None:
    before, opening, rest = header.generation_prompt.partition(markers[0])
    return (before, opening, rest) if before and markers[1] in rest else None


def _reasoning_markers(turn_format: TurnFormat) -> tuple[str, str] | None:
    """Return the texts around reasoning. The first may be a marker with the name of a channel."""
    delimiters = turn_format.field_delimiters.get(Channel.REASONING)
    if turn_format.think_markers is not None or delimiters is None:
        return turn_format.think_markers
    opening, closing = _CHANNEL.search(delimiters.before), _MARKER.match(delimiters.after)
    return None if opening is None or closing is None else (opening[0].rstrip(), closing[0].lstrip())


def _missing_prefills(
    trace: Trace, messages: Sequence[JsonObject], turn_format: TurnFormat
) -> Iterator[tuple[int, str]]:
    """Yield each position where empty reasoning is missing, with its text."""
    for index, message in enumerate(messages):
        if message["role"] != "assistant" or _has_reasoning(message, turn_format):
            continue
        empty = empty_reasoning(turn_format, messages[index - 1]["role"] if index else "")
        spans = [span for span in trace.spans if span.message == index]
        if empty is None or not spans:
            continue
        before, opening, rest = empty
        start = trace.text.find(before, spans[0].start, spans[-1].end)
        end = start + len(before)
        if start >= 0 and not trace.text.startswith(opening, end):
            yield end, opening + rest


def _has_reasoning(message: JsonObject, turn_format: TurnFormat) -> bool:
    """Return True if a message has reasoning in a field or in its content. The template may drop it."""
    markers, content = _reasoning_markers(turn_format), message.get("content")
    parts = content if isinstance(content, list) else [content]
    texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
    inline = markers is not None and any(isinstance(text, str) and markers[1] in text for text in texts)
    return inline or any(message.get(name) for name in REASONING_NAMES)


def _insert_texts(trace: Trace, insertions: Iterable[tuple[int, str]]) -> Trace:
    """Insert texts into a trace. Each belongs to the span that ends at its position or contains it."""
    cuts = sorted(insertions)
    positions = [position for position, _ in cuts]
    offsets = [0, *itertools.accumulate(len(text) for _, text in cuts)]

    def shift(position: int) -> int:
        return position + offsets[bisect.bisect_right(positions, position)]

    borders = itertools.pairwise([0, *positions, len(trace.text)])
    pairs = itertools.zip_longest(borders, (text for _, text in cuts), fillvalue="")
    text = "".join(trace.text[slice(*border)] + inserted for border, inserted in pairs)
    return Trace(text, tuple(span._replace(start=shift(span.start), end=shift(span.end)) for span in trace.spans))
