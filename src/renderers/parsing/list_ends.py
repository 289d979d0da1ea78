"""Find the end of a list of calls with strings that contain markers."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import NamedTuple

from renderers.core.lazy import lazy_pattern
from renderers.parsing.tool_formats import FoundCalls

_MOST_STRINGS = 16
"""The number of strings with markers that are tried: each takes time in proportion to the text."""
_QUOTE = lazy_pattern("[\"']")
_STRING = {
    quote: lazy_pattern(rf"{quote}[^{quote}\\]*+(?:\\.[^{quote}\\]*+)*+{quote}", re.DOTALL) for quote in ("'", '"')
}


class ListEnd(NamedTuple):
    """The end of a list, the marker there, which is empty at the end of a completion, and the calls of the list."""

    position: int
    marker: str
    calls: FoundCalls | None


def end_of_list(
    byte_text: str,
    start: int,
    first: int,
    *,
    markers: tuple[str, ...],
    stops: frozenset[str],
    find: Callable[[int, int], FoundCalls | None],
    final: bool,
) -> ListEnd | bool:
    """Return the end of the list from `start` on if the first marker that can end it, at `first`, is text of a string.

    False if that marker ends the list. True if more text decides, which cannot be if it is final. Without the marker,
    `find` has to find calls that are complete. It returns the calls between two positions.
    """
    pattern = _alternation(markers)
    stop = _alternation(tuple(stops)).search(byte_text, first) if stops else None
    limit = stop.start() if stop else len(byte_text)
    is_pending, end = not (final or stop), first
    for _ in range(_MOST_STRINGS):
        string_end = _string_end(byte_text, start, end, limit)
        if not string_end:
            return is_pending and string_end is None
        closing = pattern.search(byte_text, string_end, limit)
        if closing is None and is_pending:
            return True
        end = closing.start() if closing else limit
        calls = find(start, end)
        if calls is not None and not calls.broken:
            return ListEnd(end, closing[0] if closing else stop[0] if stop else "", calls)
        if closing is None:
            return False
    return False


def _string_end(byte_text: str, start: int, position: int, limit: int) -> int | None:
    """Return the end of the string around a position: 0 if there is none, None if the string is not closed."""
    while (quote := _QUOTE.search(byte_text, start, limit)) is not None and quote.start() < position:
        string = _STRING[quote[0]].match(byte_text, quote.start(), limit)
        if string is None:
            return None
        if string.end() > position:
            return string.end()
        start = string.end()
    return 0


@functools.lru_cache(maxsize=64)
def _alternation(markers: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, markers)))
