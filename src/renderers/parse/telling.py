"""Text and markers of a completion to events, whatever the state is in which they were read.

Text is told at once, but for what the next chunk may change: the beginning of a marker that is not a token, half a
character, padding before the end of a field. Markers are told of with what follows them.
"""

from __future__ import annotations

from collections.abc import Callable

from renderers.parse.events import ContentDelta, MarkerRead, ParseEvent, TextSkipped
from renderers.parse.grammar import Edges
from renderers.parse.response import Region
from renderers.parse.tables import Tables, Watch
from renderers.parse.window import Window

__all__ = ["Tell", "Teller", "skipped_as", "whole_characters"]

Tell = Callable[[str, int, int], ParseEvent]
"""Makes an event of text and its tokens."""


class Teller:
    """Keeps the window, the field that text goes to, and how far events have been told.

    Tokens are numbered from `first` on; those before 0 are of the prompt, and are told of as number 0.
    """

    def __init__(self, tables: Tables, *, first: int) -> None:
        self._tables = tables
        self._window = Window(first=first)
        self._region = Region.START
        self._stop: int | None = None
        self._events: list[ParseEvent] = []
        self._told = first
        self._marked = False
        # The field: what reads on in it, what makes an event of text, and what is taken off its ends.
        self._read: Callable[[bool], bool] = self._in_start
        self._tell: Tell = ContentDelta
        self._lead = self._left = ""
        self._ends: tuple[Edges, ...] = ()
        self._reasoned = False
        # The call that is being read.
        self._payload: list[str] = []
        self._raw: list[str] = []

    def _in_start(self, final: bool) -> bool:
        """Reads the beginning of a turn."""
        raise NotImplementedError

    def _enter(
        self,
        read: Callable[[bool], bool],
        region: Region,
        tell: Tell,
        *,
        lead: str = "",
        left: str = "",
        ends: tuple[Edges, ...] = (),
    ) -> None:
        self._read, self._region, self._tell = read, region, tell
        self._lead, self._left, self._ends = lead, left, ends

    def _read_to(self, at: int) -> tuple[int, int]:
        """Returns the tokens of what is read up to a character. Markers before it are told of first."""
        window = self._window
        if self._marked:
            self._tell_markers()
        start, end = self._told, window.token(at)
        if end < start:
            end = start
        self._told, window.at = end, at
        return (start, end) if start >= 0 else (0, end if end > 0 else 0)

    def _tell_markers(self) -> None:
        """Tells of the tokens that have been read and not yet been told of."""
        self._marked = False
        end = self._window.token(self._window.at)
        if end > self._told:
            if end > 0:
                self._events.append(MarkerRead(max(self._told, 0), end))
            self._told = end

    def _mark_to(self, at: int) -> None:
        """Reads markers and padding up to a character; they are told of with what follows."""
        self._window.at = at
        self._marked = True

    def _text_of_chunk(self, watch: Watch, final: bool, edges: Edges) -> bool:
        """Reads text that no mark is in; false, as there is nothing more."""
        wire = self._window.wire
        end = len(wire) - (0 if final else watch.begun(wire, self._window.at))
        self._text_to(end, closed=edges if final else None)
        return False

    def _text_to(self, end: int, *, closed: Edges | None, whole: bool = False, mark: str = "") -> None:
        """Reads text up to a character: the end of its field if `closed`; else all of it only if `whole`.

        `mark` is a marker that stands there, and is read as well.
        """
        window = self._window
        wire, start = window.wire, window.at
        if self._lead:
            if wire.startswith(self._lead, start, end):
                start += len(self._lead)
            elif end - start < len(self._lead) and self._lead.startswith(wire[start:end]):
                if closed is None and not whole:
                    return
                start = end
            self._lead = ""
        if self._left:
            while start < end and wire[start] in self._left:
                start += 1
            if start < end:
                self._left = ""
        if start > window.at:
            self._mark_to(start)
        kept = end
        if closed is not None:
            # A field that nothing is taken off is told as it comes.
            kept = closed.end_in(wire, start, end) if self._ends else end
        elif not whole:
            kept = min((edges.sure_in(wire, start, end) for edges in self._ends), default=end)
            kept = whole_characters(wire, start, kept)
        if kept > start:
            if self._region is Region.REASONING:
                self._reasoned = True
            text = self._text(start, kept)
            if self._marked:
                self._tell_markers()
            first, last = self._read_to(kept)
            if last:
                self._events.append(self._tell(text, first, last))
        if mark or closed is not None:
            window.at = end + len(mark)
            self._marked = True

    def _text(self, start: int, end: int) -> str:
        """Returns text of the completion; what of it the prompt holds only counts for a call that it has begun."""
        window, lexicon = self._window, self._tables.lexicon
        part = window.wire[start:end]
        text = lexicon.text(part)
        if self._region is Region.CALL and self._stop is None:
            self._payload.append(part)
            self._raw.append(text)
        return text if start >= window.own else lexicon.text(window.wire[window.own : end])


def skipped_as(reason: str) -> Tell:
    """Returns what tells text as skipped, for a reason."""
    return lambda text, start, end: TextSkipped(text, reason, start, end)


def whole_characters(wire: str, start: int, end: int) -> int:
    """Returns up to where wire text goes that does not end within a character of its text.

    >>> whole_characters("aÃ", 0, 2), whole_characters("aÃ©", 0, 3)
    (1, 3)
    """
    if wire.isascii():
        return end
    for at in range(end - 1, max(start, end - 3) - 1, -1):
        byte = ord(wire[at])
        if byte < 0x80 or byte in (0xC0, 0xC1) or byte > 0xF4:
            break
        if byte >= 0xC2:
            wanted = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return end if end - at >= wanted else at
    return end
