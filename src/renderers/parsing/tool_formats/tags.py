"""Calls with tags around the values: the markup of such a format, and its parser."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import NamedTuple

from renderers.core.completions import ParsedToolCall, RecoveryKind, ToolCallParseStatus
from renderers.core.lazy import lazy_pattern
from renderers.parsing.pieces import MARKER_CHARACTERS
from renderers.parsing.tool_formats.base import (
    MALFORMED,
    CallHead,
    FoundCalls,
    MarkerPair,
    Payload,
    call_of_values,
    failed_call,
    recovered,
)
from renderers.parsing.tool_formats.json_calls import begins_json, list_calls_in, read_json_call, read_json_head

_new = tuple.__new__
"""Creates a named tuple in half the time of its constructor."""


class ValueEnd(NamedTuple):
    """The end of a value without quotes, which can contain the marker that closes it."""

    end: int
    repeated: bool = False
    """True if the marker occurs again, with only whitespace in between."""
    ambiguous: bool = False
    """True if the value contains the marker as the format writes it, such as at the end of a line."""


_LINE_END = lazy_pattern(r"[ \t]*\r?\n")


def value_end(
    byte_text: str, start: int, last: int, closer: str, *, padding: str = "", ends_line: bool = True
) -> ValueEnd:
    """Return the end of a value from `start` on, which the marker at `last` closes, or an earlier one.

    `padding` is the text that the format writes before the marker. Without it, the marker is text of the value.
    `ends_line` is True if the format writes a line break after it.

    >>> value_end("Rome</v></v>", 0, 8, "</v>")
    ValueEnd(end=4, repeated=True, ambiguous=False)
    """
    end, first = last, start + len(padding)
    while (earlier := byte_text.rfind(closer, first, end)) >= 0:
        if byte_text[earlier + len(closer) : end].strip() or not byte_text.endswith(padding, first, earlier):
            break
        end = earlier
    while earlier >= 0:
        is_end = not ends_line or _LINE_END.match(byte_text, earlier + len(closer), end)
        if is_end and byte_text.endswith(padding, first, earlier):
            return ValueEnd(end, end < last, ambiguous=True)
        earlier = byte_text.rfind(closer, first, earlier)
    return ValueEnd(end, end < last)


class Tags(NamedTuple):
    """The markup of a call with tags around the values. The name and the keys are within tags."""

    function: str
    """The markup before the name."""
    open: str
    """The markup before a key."""
    key_end: str
    """The markup after the name or a key."""
    close: str
    end: str = ""
    """The marker after all values."""
    padding: str = ""
    """Optional padding around a value. It is removed once."""
    unnamed: ToolCallParseStatus = MALFORMED
    """The status of a call with an empty name."""
    quotes: MarkerPair | None = None
    """Optional markup around a value that contains other markup."""
    lines: bool = True
    """Each value has a line break after it."""
    name_end: str = ""
    """The markup after the name, if it is not that after a key."""

    @property
    def value(self) -> MarkerPair:
        """The beginning of the markup before a value, and the markup after it."""
        return self.open, self.close

    def marked(self, mark: Callable[[str], str]) -> Tags:
        """Return the markup as it occurs in byte text."""
        function, key_open, key_end, close, end, padding, unnamed, quotes, lines, name_end = self
        marked_quotes = (mark(quotes[0]), mark(quotes[1])) if quotes else None
        texts = map(mark, (function, key_open, key_end, close, end, padding))
        return _new(Tags, (*texts, unnamed, marked_quotes, lines, mark(name_end or key_end)))


def read_tagged(payload: Payload, *, tags: Tags) -> ParsedToolCall:
    """Parse a call with tagged values.

    A value ends at the last closing marker before the next value or before the end, so it can contain the text of that
    marker, unless only whitespace is between the last ones. A value without a closing marker ends at the next value, or
    at the marker after all values.
    """
    byte_text, decode, marks = payload.byte_text, payload.decode, tags.marked(payload.mark)
    function = byte_text.find(marks.function)
    tag = _read_tag(byte_text, function + len(marks.function), marks.name_end) if function >= 0 else None
    if tag is None:
        return failed_call(MALFORMED)
    name = decode(tag.text).strip()
    if not name:
        return failed_call(tags.unnamed)
    pairs: list[tuple[str, str]] = []
    start, repeated = tag.end, False
    outside, well_formed = [byte_text[:function]], tag.closed
    opening = byte_text.find(marks.open, start)
    while opening >= 0:
        outside.append(byte_text[start:opening])
        key = _read_tag(byte_text, opening + len(marks.open), marks.key_end)
        if key is None:
            well_formed = False
            break
        value, start, opening, closed, again = _read_tagged_value(byte_text, key.end, marks)
        pairs.append((decode(key.text).strip(), decode(value)))
        well_formed, repeated = well_formed and key.closed and closed, repeated or again
    rest, end, after = byte_text[start:].partition(marks.end) if marks.end else (byte_text[start:], "", "")
    recoveries: tuple[RecoveryKind, ...] = (RecoveryKind.REPEATED_MARKER,) if repeated else ()
    if marks.end and not end:
        recoveries += (RecoveryKind.MISSING_CLOSING_MARKER,)
        # Then the marker at the end of a value can be that of the call.
        well_formed = well_formed and not any(text.rstrip().endswith(tags.end) for _, text in pairs)
    well_formed = well_formed and not "".join([*outside, rest, after]).strip()
    return call_of_values(name, pairs, payload.schemas, well_formed=well_formed, recoveries=recoveries)


def find_tagged(payload: Payload, *, tags: Tags) -> FoundCalls | None:
    """Find the calls in a payload with several. Each begins with the markup before its name.

    A name without values and without the marker after these can be one that is written twice.
    """
    byte_text, (function, opening, *_, end) = payload.byte_text, map(payload.mark, tags[:5])
    starts = [match.start() for match in re.finditer(re.escape(function), byte_text)]
    spans = list(itertools.pairwise([*starts, len(byte_text)]))
    is_complete = all(opening in (text := byte_text[first:last]) or end in text for first, last in spans[:-1])
    return FoundCalls(spans) if len(spans) > 1 and is_complete else None


class _Value(NamedTuple):
    """A value in byte text."""

    text: str
    end: int
    """The position after its closing marker."""
    following: int
    """The position of the next value. -1 if there is none."""
    closed: bool
    """False if the closing marker is missing, or if it may be an earlier one."""
    repeated: bool = False
    """True if the closing marker occurs twice in a row."""


def _read_tagged_value(byte_text: str, start: int, marks: Tags) -> _Value:
    """Read the value from `start` on."""
    value_start = quoted_end = start
    if marks.quotes and byte_text.startswith(marks.quotes[0], start):
        value_start += len(marks.quotes[0])
        quoted_end = byte_text.find(marks.quotes[1], value_start)
        if quoted_end < 0:
            return _Value(byte_text[value_start:], len(byte_text), -1, closed=False)
    opening = byte_text.find(marks.open, quoted_end)
    bound = opening if opening >= 0 else len(byte_text)
    closing = _find_closing(byte_text, quoted_end, bound, marks)
    end, after = closing, closing + len(marks.close)
    if closing < 0:
        ended = byte_text.find(marks.end, quoted_end, bound) if marks.end else -1
        end = after = ended if ended >= 0 else bound
    if quoted_end > start:
        assert marks.quotes is not None
        beside = byte_text[quoted_end + len(marks.quotes[1]) : end]
        text, closed = byte_text[value_start:quoted_end], closing >= 0 and not beside.strip()
        return _new(_Value, (text, after, opening, closed, False))
    closed, repeated = closing >= 0, False
    if closed and byte_text.find(marks.close, start, end) >= 0:
        padding = marks.padding if byte_text.startswith(marks.padding, start) else ""
        settled = value_end(byte_text, start, end, marks.close, padding=padding, ends_line=marks.lines)
        end, closed, repeated = settled.end, not settled.ambiguous, settled.repeated
    text = byte_text[start:end].removeprefix(marks.padding).removesuffix(marks.padding)
    return _new(_Value, (text, after, opening, closed, repeated))


def read_tagged_head(payload: Payload, *, tags: Tags) -> CallHead:
    """Parse the name of a call with tagged values."""
    byte_text, marks = payload.byte_text, tags.marked(payload.mark)
    function = byte_text.find(marks.function)
    tag = _read_tag(byte_text, function + len(marks.function), marks.name_end) if function >= 0 else None
    return CallHead(payload.decode(tag.text).strip(), tag.end) if tag and tag.closed else CallHead()


class _Tag(NamedTuple):
    """The name or the key within a tag, in byte text."""

    text: str
    end: int
    """The position after the tag."""
    closed: bool
    """False if the tag has no end, so that a line break or another tag ends the text."""


TAG_TEXT = re.compile(f"[ \\t\\n\\r]*[^\\n<{MARKER_CHARACTERS.pattern[1:-1]}]*")
"""The text in a tag, up to a line break, another tag or a marker, none of which it can contain."""


def read_tagged_or_json(payload: Payload, *, tags: Tags) -> ParsedToolCall:
    """Parse a call with tagged values, or one that is a JSON object with a name and arguments."""
    if begins_json(payload.byte_text):
        return recovered(read_json_call(payload), RecoveryKind.OTHER_SYNTAX)
    return read_tagged(payload, tags=tags)


def read_tagged_or_json_head(payload: Payload, *, tags: Tags) -> CallHead:
    """Parse the name of such a call."""
    if begins_json(payload.byte_text):
        # In a stream, the arguments are text of the call only, as in a call with elements.
        return read_json_head(payload)._replace(arguments_start=None)
    return read_tagged_head(payload, tags=tags)


def find_tagged_or_json(payload: Payload, *, tags: Tags) -> FoundCalls | None:
    """Find the calls in a payload with several, as elements or in JSON."""
    return list_calls_in(payload) if begins_json(payload.byte_text) else find_tagged(payload, tags=tags)


def _read_tag(byte_text: str, start: int, tag_end: str) -> _Tag | None:
    """Read the text in a tag, from its start to the end of the tag. None if its end is not known."""
    match = TAG_TEXT.match(byte_text, start)
    assert match is not None
    end = byte_text.find(tag_end, start, match.end() + len(tag_end))
    if end >= 0:
        return _new(_Tag, (byte_text[start:end], end + len(tag_end), True))
    return _new(_Tag, (match[0], match.end(), False)) if match.end() < len(byte_text) else None


def _find_closing(byte_text: str, start: int, bound: int, marks: Tags) -> int:
    """Return the position of the marker that closes the value from `start` on. Another value begins at `bound`.

    It is -1 if there is none.
    """
    first = byte_text.find(marks.close, start, bound)
    if first < 0:
        return -1
    ended = byte_text.find(marks.end, first + len(marks.close), bound) if marks.end else -1
    closing = byte_text.rfind(marks.close, first, bound if ended < 0 else ended)
    padding = marks.padding
    if closing >= 0 and padding and byte_text.startswith(padding, start):
        padded = byte_text.find(padding + marks.close, closing - len(padding), bound)
        return closing if padded < 0 else padded + len(padding)
    return closing
