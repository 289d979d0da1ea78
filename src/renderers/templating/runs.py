"""Runs: which part of a string has which owner, through slicing and joining.

Also finds the owners of all parts of a value, and the owner that they have in common.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterable, Iterator
from typing import NamedTuple


class Owner(NamedTuple):
    """The origin of a character: the index of a message (-1 for none) and the path of a field in it."""

    message: int
    path: tuple[str | int, ...]


NO_MESSAGE = Owner(-1, ())
"""The owner of text that belongs to no message."""


class PendingOwner:
    """A placeholder for an owner that is resolved after the template has run."""

    __slots__ = ()


class Run(NamedTuple):
    """The part of a string from `start` up to `end`, and its owner."""

    start: int
    end: int
    owner: Owner | PendingOwner


Runs = tuple[Run, ...]


class HasRuns:
    """Base of all traced strings: `_runs`, of which the first `_gap_free` are known to leave no gap."""

    __slots__ = ()
    _runs: Runs
    _gap_free: int


class HasOwner:
    """Base of all other traced values: one owner for the value, and its size, cached on first use.

    Templates cannot change such a value.
    """

    __slots__ = ()
    _owner: Owner
    _size: int


def runs_of(text: object) -> Runs:
    """Return the runs of a string; none if it is not traced."""
    return text._runs if isinstance(text, HasRuns) else ()


def gap_free_prefix(text: str) -> int:
    """Return how many of the first runs of a string are known to leave no gap."""
    return text._gap_free if isinstance(text, HasRuns) else 0


def joined_gap_free_prefix(pieces: list[str]) -> int:
    """Return how many of the first runs of the joined pieces leave no gap, judged by the first piece alone.

    A template may append to a long string repeatedly; this avoids a scan of all its runs each time.
    """
    first = pieces[0] if pieces else ""
    runs = runs_of(first)
    covered = bool(runs) and gap_free_prefix(first) == len(runs) and runs[-1].end == len(first)
    # join_runs may have merged the last run with the one after it.
    return len(runs) - 1 if covered else 0


def join_runs(pieces: Iterable[str]) -> Runs:
    """Return the runs of concatenated pieces. Adjacent runs of the same owner are merged at the seams."""
    runs: list[Run] = []
    offset = 0
    for piece in pieces:
        own = runs_of(piece)
        if own:
            before = len(runs)
            runs.extend(own if not offset else [Run(start + offset, end + offset, owner) for start, end, owner in own])
            if before and runs[before - 1].end == runs[before].start and runs[before - 1].owner == runs[before].owner:
                runs[before - 1 : before + 1] = [Run(runs[before - 1].start, runs[before].end, runs[before].owner)]
        offset += len(piece)
    return tuple(runs)


def _end(run: Run) -> int:
    return run.end


def cut_runs(runs: Runs, start: int, end: int) -> Runs:
    """Return the runs of a slice. Empty runs stay; an empty slice keeps at least the first owner, in an empty run."""
    if len(runs) == 1 and runs[0].start <= start < end <= runs[0].end:
        return (Run(0, end - start, runs[0].owner),)
    kept = []
    for index in range(bisect.bisect_left(runs, start, key=_end), len(runs)):
        run = runs[index]
        if run.start > end:
            break
        if (run.start < end and run.end > start) or run.start == run.end:
            kept.append(Run(max(run.start, start) - start, min(run.end, end) - start, run.owner))
    if not kept and start >= end:
        # The owner survives in an empty run: an empty system message owns the delimiters around it.
        return tuple(Run(0, 0, run.owner) for run in runs[:1])
    return tuple(kept)


def spaced_runs(parts: list[str], gap: int, owner: Owner | PendingOwner) -> Runs:
    """Return the runs of parts that have the same owner and are `gap` characters apart."""
    runs, offset = [], 0
    for part in parts:
        runs.append(Run(offset, offset + len(part), owner))
        offset += len(part) + gap
    return tuple(runs)


def common_owner(owners: Iterable[Owner | PendingOwner]) -> Owner | None:
    """Return the smallest field that contains all owners; None for several messages, or for no owner.

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
    """Return the runs of a text of `size` characters derived from a value: one run if its parts have a common owner."""
    owner = common_owner(owners_in(value))
    return () if owner is None else (Run(0, size, owner),)


def owners_in(value: object) -> Iterator[Owner | PendingOwner]:
    """Yield the owners of a value and of its parts. Each container is visited once."""
    seen: set[int] = set()
    stack = [value]
    while stack:
        part = stack.pop()
        if isinstance(part, HasRuns):
            yield from (run.owner for run in part._runs)
        elif isinstance(part, HasOwner):
            yield owner_of(part)
        elif isinstance(part, dict | list | tuple) and id(part) not in seen:
            seen.add(id(part))
            stack.extend((*part.keys(), *part.values()) if isinstance(part, dict) else part)


def common_message(value: object) -> int | None:
    """Return the index of the message that a value is derived from; None for no message, or for several.

    >>> from renderers.templating.traced_values import trace_value
    >>> common_message(("city", trace_value("Paris", Owner(2, ("tool_calls",)))))
    2
    """
    message: int | None = None
    for owner in owners_in(value):
        if isinstance(owner, Owner) and owner.message >= 0:
            if message is not None and owner.message != message:
                return None
            message = owner.message
    return message


def owner_of(value: HasOwner) -> Owner:
    """Return the owner; `NO_MESSAGE` if the template created the value by a method of its type, such as `fromkeys`."""
    return getattr(value, "_owner", NO_MESSAGE)
