"""Texts with owners: create, cut and join them, and find the common owner of values."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from renderers.core.native import COMPILED, native
from renderers.templating.values import (
    DataDict,
    DataList,
    FieldFloat,
    FieldInt,
    FieldText,
    LazyDict,
    LazyList,
    MixedText,
    Owner,
    Run,
    SafeText,
)

plain = str.__str__
"""Return a text as an exact `str`, without its owners."""
_new_text = str.__new__


def _field_text(text: str, owner: Owner) -> FieldText:
    """Return a text of one field."""
    wrapped = _new_text(FieldText, text)
    wrapped._owner = owner
    return wrapped


field_text: Callable[[str, Owner], FieldText] = (
    functools.partial(native.field_text, FieldText, "_owner") if COMPILED else _field_text
)


def mixed_text(text: str, runs: tuple[Run, ...], *, safe: bool = False) -> str:
    """Return a text with runs, as the simplest type that can hold them."""
    if not safe:
        if not runs:
            return text
        if len(runs) == 1:
            owner = runs[0][1]
            if owner is None:
                return plain(text)
            if owner.__class__ is tuple:
                return field_text(text, owner)
    wrapped = _new_text(SafeText if safe else MixedText, text)
    wrapped._runs = runs
    return wrapped


def safe_text(text: str) -> SafeText:
    """Return a text that is marked as safe."""
    wrapped = _new_text(SafeText, text)
    wrapped._runs = runs_of(text)
    return wrapped


def runs_of(text: str) -> tuple[Run, ...]:
    """Return the runs of a text.

    >>> runs_of("ab"), runs_of(field_text("ab", (0, ("content",))))
    (((2, None),), ((2, (0, ('content',))),))
    """
    if text.__class__ is FieldText:
        return ((len(text), text._owner),)
    if isinstance(text, MixedText):
        return text._runs
    return ((len(text), None),) if text else ()


def cut(text: str, start: int, end: int) -> str:
    """Return the slice of a text from `start` up to `end`, which are not negative.

    Empty runs stay. An empty slice keeps the first owner in an empty run: an empty system message owns the
    delimiters around it.
    """
    part = str.__getitem__(text, slice(start, end))
    kind = text.__class__
    if part and len(part) == len(text):
        return text
    if kind is str:
        return part
    if kind is FieldText:
        return field_text(part, text._owner)  # type: ignore[attr-defined]
    runs: tuple[Run, ...] = text._runs  # type: ignore[attr-defined]
    kept = []
    begin = 0
    for stop, owner in runs:
        if begin > end:
            break
        if (stop > start and begin < end) or (begin == stop and begin >= start):
            kept.append((min(stop, end) - start, owner))
        begin = stop
    if not kept and start >= end:
        kept = [(0, owner) for _, owner in runs[:1]]
    return mixed_text(part, tuple(kept), safe=kind is SafeText)


def join_runs(parts: Iterable[str]) -> tuple[Run, ...]:
    """Return the runs of concatenated texts."""
    runs: list[Run] = []
    offset = 0
    for part in parts:
        kind = part.__class__
        if kind is str:
            if part:
                offset += len(part)
                if runs and runs[-1][1] is None:
                    runs[-1] = (offset, None)
                else:
                    runs.append((offset, None))
        elif kind is FieldText:
            offset += len(part)
            runs.append((offset, part._owner))  # type: ignore[attr-defined]
        else:
            runs.extend([(offset + end, owner) for end, owner in part._runs])  # type: ignore[attr-defined]
            offset += len(part)
    return tuple(runs)


def join_texts(parts: Sequence[str]) -> str:
    """Concatenate texts, and keep their owners."""
    return mixed_text("".join(parts), join_runs(parts))


def fill_gaps(text: str, owner: Any) -> str:
    """Return a text with its template text given to an owner.

    >>> runs_of(fill_gaps(join_texts(["<", field_text("Hi", (0, ("content",)))]), (-1, ())))
    ((1, (-1, ())), (3, (0, ('content',))))
    """
    kind = text.__class__
    if kind is FieldText or not text:
        return text
    runs = runs_of(text)
    if None not in [own for _, own in runs]:
        return text
    filled = tuple([(end, owner if own is None else own) for end, own in runs])
    return mixed_text(plain(text), filled, safe=kind is SafeText)


# ==================
# Common owners
# ==================


def owners_in(value: Any) -> Iterator[Owner]:
    """Yield the owners of a value and of its parts. Each container is visited once."""
    seen: set[int] = set()
    stack = [value]
    while stack:
        part = stack.pop()
        if isinstance(part, str):
            yield from (owner for _, owner in runs_of(part) if owner.__class__ is tuple)
        elif isinstance(part, DataDict | DataList | FieldInt | FieldFloat):
            yield part._owner
        elif isinstance(part, dict | list | tuple) and id(part) not in seen:
            seen.add(id(part))
            stack.extend((*part.keys(), *part.values()) if isinstance(part, dict) else part)


def common_owner(value: Any) -> Owner | None:
    """Return the smallest field that contains all owners in a value; None for several messages, or for no owner.

    >>> common_owner([field_text("a", (0, ("tool_calls", 0, "id"))), field_text("b", (0, ("tool_calls", 1)))])
    (0, ('tool_calls',))
    """
    owners = set(owners_in(value))
    if len({message for message, _ in owners}) != 1:
        return None
    paths = [path for _, path in owners]
    same = itertools.takewhile(lambda keys: len(set(keys)) == 1, zip(*paths, strict=False))
    return next(iter(owners))[0], tuple(keys[0] for keys in same)


_OWNED: frozenset[Any] = frozenset({FieldText, FieldInt, FieldFloat, DataDict, LazyDict, DataList, LazyList})
_SCALARS = frozenset({str, int, float, bool, type(None)})
_OWNED_OR_SCALAR = _OWNED | _SCALARS


def common_message(value: Any) -> int | None:
    """Return the index of the message that a value is derived from; None for no message, or for several.

    >>> common_message(("city", field_text("Paris", (2, ("tool_calls",)))))
    2
    """
    common: int | None = None
    parts: tuple[Any, ...] = value if value.__class__ is tuple else (value,)
    owners: Iterable[Owner]
    if _OWNED_OR_SCALAR.issuperset(map(type, parts)):
        owners = [part._owner for part in parts if part.__class__ in _OWNED]
    else:
        owners = owners_in(value)
    for message, _ in owners:
        if message >= 0:
            if common is not None and message != common:
                return None
            common = message
    return common


def coarse_text(text: str, value: Any, *, safe: bool = False) -> str:
    """Return a text that was derived from a value, with the common owner of the value."""
    return mixed_text(text, ((len(text), common_owner(value)),), safe=safe)
