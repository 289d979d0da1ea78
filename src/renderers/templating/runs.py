"""Who owns which part of a string: runs, and what becomes of them when strings are cut and joined."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterable, Iterator
from typing import NamedTuple


class Owner(NamedTuple):
    """What a character came from: a message's number (-1 for none) and the path of a field in it."""

    message: int
    path: tuple[str | int, ...]


NO_MESSAGE = Owner(-1, ())


class PendingOwner:
    """Owns text while a template runs, until it is known whose it is."""

    __slots__ = ()


class Run(NamedTuple):
    """A part of a string, from `start` up to `end`, and its owner."""

    start: int
    end: int
    owner: Owner | PendingOwner


Runs = tuple[Run, ...]


class HasRuns:
    """What all traced strings are: they have runs, of which the first `_gap_free` are known to leave no gap."""

    __slots__ = ()
    _runs: Runs
    _gap_free: int


class HasOwner:
    """What all other traced values are: they have an owner as a whole, and their size once it was asked for.

    A template cannot change them.
    """

    __slots__ = ()
    _owner: Owner
    _size: int


def runs_of(text: object) -> Runs:
    """Returns the runs of a string; none for a string that is not traced."""
    return text._runs if isinstance(text, HasRuns) else ()


def gap_free_prefix(text: str) -> int:
    """Returns how many of a string's first runs are known to leave no gap, so that nobody has to look again."""
    return text._gap_free if isinstance(text, HasRuns) else 0


def joined_gap_free_prefix(pieces: list[str]) -> int:
    """Returns how many first runs of joined pieces leave no gap, as far as the first piece says.

    A template that adds to a long text again and again would else have all of it looked through each time.
    """
    first = pieces[0] if pieces else ""
    runs = runs_of(first)
    whole = bool(runs) and gap_free_prefix(first) == len(runs) and runs[-1].end == len(first)
    # The last one may have become one with what comes after it.
    return len(runs) - 1 if whole else 0


def join_runs(pieces: Iterable[str]) -> Runs:
    """Returns the runs of pieces one after the other; where two that touch have the same owner they are one."""
    runs: list[Run] = []
    at = 0
    for piece in pieces:
        own = runs_of(piece)
        if own:
            before = len(runs)
            runs.extend(own if not at else [Run(start + at, end + at, owner) for start, end, owner in own])
            if before and runs[before - 1].end == runs[before].start and runs[before - 1].owner == runs[before].owner:
                runs[before - 1 : before + 1] = [Run(runs[before - 1].start, runs[before].end, runs[before].owner)]
        at += len(piece)
    return tuple(runs)


def _end(run: Run) -> int:
    return run.end


def cut_runs(runs: Runs, start: int, end: int) -> Runs:
    """Returns the runs of a slice. One that is emptied by it stays if it was empty, or if nothing else is left."""
    if len(runs) == 1 and runs[0].start <= start < end <= runs[0].end:
        return (Run(0, end - start, runs[0].owner),)
    kept = []
    for at in range(bisect.bisect_left(runs, start, key=_end), len(runs)):
        run = runs[at]
        if run.start > end:
            break
        if (run.start < end and run.end > start) or run.start == run.end:
            kept.append(Run(max(run.start, start) - start, min(run.end, end) - start, run.owner))
    if not kept and start >= end:
        # An emptied string still speaks for its field: an empty system message owns its frame.
        return tuple(Run(0, 0, run.owner) for run in runs[:1])
    return tuple(kept)


def spaced_runs(parts: list[str], gap: int, owner: Owner | PendingOwner) -> Runs:
    """Returns the runs of parts that have one owner and stand `gap` characters apart."""
    runs, at = [], 0
    for part in parts:
        runs.append(Run(at, at + len(part), owner))
        at += len(part) + gap
    return tuple(runs)


def common_owner(owners: Iterable[Owner | PendingOwner]) -> Owner | None:
    """Returns the smallest field that all owners are in; None where they are of different messages, or there are none.

    >>> common_owner([Owner(0, ("tool_calls", 0, "id")), Owner(0, ("tool_calls", 1))])
    Owner(message=0, path=('tool_calls',))
    """
    fields = {owner for owner in owners if isinstance(owner, Owner)}
    if len({owner.message for owner in fields}) != 1:
        return None
    paths = [owner.path for owner in fields]
    same = itertools.takewhile(lambda keys: len(set(keys)) == 1, zip(*paths, strict=False))
    return Owner(next(iter(fields)).message, tuple(keys[0] for keys in same))


def owner_runs(value: object, size: int) -> Runs:
    """Returns the runs of a text that was made of a value: one over all of it where the value is of one message."""
    owner = common_owner(owners_in(value))
    return () if owner is None else (Run(0, size, owner),)


def owners_in(value: object) -> Iterator[Owner | PendingOwner]:
    """Yields whatever owns a value or a part of it, once for each part, however often it is there."""
    seen: set[int] = set()
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, HasRuns):
            yield from (run.owner for run in part._runs)
        elif isinstance(part, HasOwner):
            yield owner_of(part)
        elif isinstance(part, dict | list | tuple) and id(part) not in seen:
            seen.add(id(part))
            waiting.extend((*part.keys(), *part.values()) if isinstance(part, dict) else part)


def common_message(value: object) -> int | None:
    """Returns the message that a value is, or is a part of, or was made from; None for none or several.

    >>> from renderers.templating.traced_values import trace_value
    >>> common_message(("city", trace_value("Paris", Owner(2, ("tool_calls",)))))
    2
    """
    found: int | None = None
    for owner in owners_in(value):
        if isinstance(owner, Owner) and owner.message >= 0:
            if found is not None and owner.message != found:
                return None
            found = owner.message
    return found


def owner_of(value: HasOwner) -> Owner:
    """Returns the owner; nobody for what a template made with a method of the type, such as `fromkeys`."""
    return getattr(value, "_owner", NO_MESSAGE)
