"""Whose message is the last one of a prompt: what begins messages is looked for in its ids, from the end on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from renderers.bridging.proofs import Write, end_of_turn, stop_at
from renderers.bridging.sample_histories import Feature, skeletons
from renderers.core.patterns import compile_alternation
from renderers.core.spans import Path
from renderers.programs.input_formats import NOT_TAKEN

__all__ = ["Heads", "follows_itself", "heads_of"]

_AT_ONCE = 512
"""How many ids are looked at at once."""
_NO_ID = -1
_OF_ROLES: tuple[Path, ...] = ((), ("role",))
"""What is written around a message, and not from the rest of it."""


class Heads(NamedTuple):
    """The ids that messages begin with, each from a control token on."""

    own: tuple[int, ...]
    others: tuple[tuple[int, ...], ...]
    """Those of users and of tools."""


def heads_of(
    write: Write, *, header: str, control: frozenset[str], encode: Callable[[str], Sequence[int]]
) -> Heads | None:
    """Returns what messages begin with; None where that cannot be told, as where no control token begins them.

    `header` is what an assistant's turn begins with.
    """
    pattern = compile_alternation(control)
    begun = pattern.search(header) if pattern else None
    if pattern is None or begun is None:
        return None
    texts = []
    for skeleton in skeletons():
        if skeleton.features in ({Feature.TURN}, {Feature.RESULT}):
            try:
                written = write(skeleton.messages, False)
            except NOT_TAKEN:
                continue
            end = end_of_turn(written, 1)
            bodies = [one.start for one in written.trace.spans if one.path not in _OF_ROLES and one.start >= (end or 0)]
            if end is not None and bodies:
                following = written.trace.text[end : bodies[0]]
                first = pattern.search(following)
                # The token that begins it may be that which stops the turn before.
                texts.append(following[first.start() :] if first else stop_at(written, end, control) + following)
    # Space at the end may be part of a token with what follows.
    own, *others = (tuple(encode(text.rstrip())) for text in (header[begun.start() :], *texts))
    others = [_sure(head, own) for head in others]
    return Heads(own, tuple(others)) if all(others) and own not in others else None


def _sure(head: tuple[int, ...], own: tuple[int, ...]) -> tuple[int, ...]:
    """Returns a head without its last token, which may be another with what follows, if it can be told without it."""
    return head[:-1] if head[:-1] != own[: len(head) - 1] else head


def follows_itself(prompt: Sequence[Any], heads: Heads) -> bool:
    """Says whether the message before the turn that a prompt opens is the assistant's as well.

    >>> heads = Heads(own=(1, 2), others=((1, 3),))
    >>> follows_itself([1, 3, 9, 1, 2, 8, 1, 2], heads), follows_itself([1, 2, 8, 1, 3, 9, 1, 2], heads)
    (True, False)
    """
    end, own = len(prompt), 0
    longest = max(map(len, (heads.own, *heads.others)))
    while end > 0:
        start = max(0, end - _AT_ONCE)
        # Those that begin before the end may go on after it.
        part = prompt[start : end + longest - 1]
        try:
            places = _places(part, heads)
        except Exception:
            # What is no id may raise anything when it is compared.
            part = [one if type(one) is int else _NO_ID for one in part]
            places = _places(part, heads)
        for place in sorted((place for place in places if place < end - start), reverse=True):
            if not _begins(part, place, heads.own):
                return False
            own += 1
            if own == 2:
                return True
        end = start
    return False


def _places(ids: Sequence[Any], heads: Heads) -> set[int]:
    """Returns where messages begin."""
    places = set()
    for head in {heads.own, *heads.others}:
        place = -1
        for _ in range(ids.count(head[0])):
            place = ids.index(head[0], place + 1)
            if _begins(ids, place, head):
                places.add(place)
    return places


def _begins(ids: Sequence[Any], place: int, head: tuple[int, ...]) -> bool:
    return tuple(ids[place : place + len(head)]) == head
