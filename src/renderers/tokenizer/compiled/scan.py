"""Turn an automaton into a table that finds all words of ASCII text in one pass.

An automaton finds the end of one match, and begins again there. A match often ends before the character that shows
it, so characters are read again, and the processor cannot predict where. In a scan table, a state also holds the words
that begin where a match may end. So each character is read once, and an entry tells which words end.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from renderers.tokenizer.compiled.automaton import Automaton
from renderers.tokenizer.compiled.block import ACCEPT

ENDS_EARLIER, ENDS_BEFORE, ENDS_HERE, MATCHES, STOPS, ENDS = 1 << 26, 1 << 27, 1 << 28, 1 << 29, 1 << 30, 1 << 31
"""Flags of an entry: a word ends at the kept place, before the last character, and before the read one; that place is
kept; the automaton has to find the end of the word; any word ends."""
_MOST_ROWS = 512
_MOST_WORDS = 4
"""The words of a state that are followed. Tables of usual patterns have no more."""
_COLUMNS = 256

_NOWHERE, _EARLIER, _BEFORE, _HERE = 0, ENDS_EARLIER, ENDS_BEFORE, ENDS_HERE
"""Where a match of a word may end: nowhere, at an earlier place, before the last character, before the read one."""
_START, _LOST = -1, -2
"""The state before a word, and that of a word that is not followed."""

_Reading = tuple[tuple[int, int], ...]
"""The state of a word and where it may end, then those of the word that begins there, and so on."""


class _Scan:
    """The steps of a scan. Columns are those of the automaton."""

    def __init__(self, automaton: Automaton) -> None:
        self._transitions, self._start = automaton

    def begins(self, column: int) -> bool:
        """Return True if a word can begin with a character."""
        return bool(self._transitions[self._start + column] & ~ACCEPT)

    def step(self, reading: _Reading, column: int) -> tuple[tuple[int, ...], _Reading] | None:
        """Return the places where words end, and the state after the character. None if that is not known."""
        (state, end), rest = reading[0], reading[1:]
        if state == _LOST:
            return None
        begun = ((self._transitions[self._start + column] & ~ACCEPT, _NOWHERE),)
        if state == _START:
            return (), begun
        entry = self._transitions[state + column]
        following = entry & ~ACCEPT
        if entry & ACCEPT:
            return ((), ((following, _BEFORE), *begun)) if following else ((_HERE,), begun)
        if end == _NOWHERE:
            return ((), ((following, _NOWHERE),)) if following else None
        after = self.step(rest, column)
        if following:
            # No place is kept for the end of a word that may not be one.
            is_known = after is not None and not after[0] and len(after[1]) < _MOST_WORDS
            known = after[1] if after and is_known else ((_LOST, _NOWHERE),)
            return (), ((following, _EARLIER), *known)
        return after and ((end, *after[0]), after[1])


def _entry_flags(reading: _Reading, ends: tuple[int, ...]) -> int:
    """Return the flags of an entry. Only one place is kept: that of the first word that is read."""
    end = reading[0][1]
    if list(ends) != sorted({*ends}) or (ends and end == _EARLIER):
        return STOPS
    return sum(ends) | (ENDS if ends else 0) | (MATCHES if end == _BEFORE else 0)


def build_scan(automaton: Automaton, *, ascii_classes: Sequence[int]) -> array[int]:
    """Return the scan table of an automaton; empty if words of ASCII do not follow each other, or if it is too large.

    `ascii_classes` are the classes of the first 128 characters. The table begins with the number of its entries, and
    with the place of the column of each byte as 16 bits. An entry is the place of the next row in bytes, plus flags.
    """
    columns = sorted({*ascii_classes})
    width = len(columns) + 1
    scan = _Scan(automaton)
    if not all(map(scan.begins, columns)):
        return array("I")
    rows: dict[_Reading, int] = {((_START, _NOWHERE),): 0}
    pending = list(rows)
    entries = array("I")
    for reading in pending:
        for column in columns:
            stepped = scan.step(reading, column)
            flags = STOPS if stepped is None else _entry_flags(stepped[1], stepped[0])
            if stepped is None or flags == STOPS:
                entries.append(STOPS)
                continue
            following = stepped[1]
            if following not in rows:
                if len(rows) >= _MOST_ROWS:
                    return array("I")
                rows[following] = len(rows)
                pending.append(following)
            entries.append(rows[following] * width * entries.itemsize | flags)
        # The column of bytes that are not ASCII.
        entries.append(STOPS)
    places = [columns.index(number) for number in ascii_classes]
    places += [len(columns)] * (_COLUMNS - len(places))
    packed = array("H", [place * entries.itemsize for place in places])
    return array("I", [len(entries)]) + array("I", packed.tobytes()) + entries
