"""Tokens as one text, and where each of them begins in it: in C where that could be built, else in Python."""

from __future__ import annotations

import itertools
import os
import sys
from array import array
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from renderers.tokenizer.wire import WireTexts

__all__ = ["COMPILED", "NO_PIECES", "Joiner", "Pieces"]

_VERSION = 1
"""What is expected of the part in C: one that was built before a change must not be used after it."""

try:
    if os.environ.get("RENDERERS_PURE_PYTHON"):
        raise ImportError("the part in C is not wanted")
    from renderers.parse import _join

    COMPILED = _join.VERSION == _VERSION
except (ImportError, AttributeError):
    COMPILED = False
"""Whether the part in C is there and wanted."""

_UTF_16 = {"little": "utf-16-le", "big": "utf-16-be"}[sys.byteorder]


class Pieces(NamedTuple):
    """The wire text of some tokens, and where in it each of them begins.

    >>> Pieces.of(["Hel", "lo", "", "!"])
    Pieces(wire='Hello!', starts=array('Q', [0, 3, 5, 5]))
    """

    wire: str
    starts: array[int]

    @classmethod
    def of(cls, texts: Sequence[str]) -> Pieces:
        """Returns the pieces of some tokens, by the text of each."""
        return cls("".join(texts), array("Q", itertools.accumulate(map(len, texts), initial=0))[:-1])

    @classmethod
    def joined(cls, parts: Sequence[Pieces]) -> Pieces:
        """Returns pieces one after the other.

        >>> Pieces.joined([Pieces.of(["a", "b"]), Pieces.of(["c"])]) == Pieces.of(["a", "b", "c"])
        True
        """
        starts = array("Q")
        size = 0
        for part in parts:
            starts.extend(_moved(part.starts, size))
            size += len(part.wire)
        return cls("".join([part.wire for part in parts]), starts)

    def after(self, place: int) -> Pieces:
        """Returns the pieces without the first ones.

        >>> Pieces.of(["a", "b", "c"]).after(1) == Pieces.of(["b", "c"])
        True
        """
        starts = self.starts[place:]
        return Pieces(self.wire[starts[0] :], _moved(starts, -starts[0])) if starts else NO_PIECES


NO_PIECES = Pieces("", array("Q"))


class Joiner:
    """The wire texts of a vocabulary, for ids to be put together by. Nothing about it changes.

    Some ids have other texts than the vocabulary says, and there may be more of them than it has.

    >>> joiner = Joiner(WireTexts(["Hel", "lo"]), {1: "p", 2: "!"})
    >>> joiner.join([0, 1, 2])
    Pieces(wire='Help!', starts=array('Q', [0, 3, 4]))
    >>> joiner.join([-1]) is None
    True
    """

    def __init__(self, texts: WireTexts, others: Mapping[int, str], *, compiled: bool | None = None) -> None:
        self._compiled = COMPILED if compiled is None else compiled
        size = max((len(texts), *(number + 1 for number in others)))
        if not self._compiled:
            self._texts = [*texts, *[""] * (size - len(texts))]
            for number, text in others.items():
                self._texts[number] = text
            return
        # Where each text begins, and where it ends.
        self._spans = array("I", bytes(2 * size * array("I").itemsize))
        self._spans[0 : 2 * len(texts) : 2] = (array("I", [0]) + texts.ends)[: len(texts)]
        self._spans[1 : 2 * len(texts) : 2] = texts.ends
        end = len(texts.joined)
        for number, text in others.items():
            self._spans[2 * number], self._spans[2 * number + 1] = end, end + len(text)
            end += len(text)
        self._units = "".join([texts.joined, *others.values()]).encode(_UTF_16)

    def join(self, ids: list[Any]) -> Pieces | None:
        """Returns the pieces of some ids; None where anything among them is no id, or an unusual number."""
        if not self._compiled:
            return self._join_in_python(ids)
        found = _join.join(ids, self._units, self._spans)
        if found is None:
            return None
        starts = array("Q")
        starts.frombytes(found[1])
        return Pieces(found[0], starts)

    def _join_in_python(self, ids: list[Any]) -> Pieces | None:
        try:
            # Negative ones would count from the end.
            texts = [self._texts[number] for number in array("I", ids)]
        except Exception:
            # What is no number may raise anything.
            return None
        return Pieces.of(texts)


def _moved(starts: array[int], by: int) -> array[int]:
    return array("Q", [start + by for start in starts]) if by else starts
