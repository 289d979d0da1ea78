"""Join the byte texts of tokens to one text with the start of each token, in Python or in C."""

from __future__ import annotations

import itertools
import sys
from array import array
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from renderers.core.native import native
from renderers.tokenizer.encoding.byte_text import UNKNOWN, ByteTexts

_CACHED_TEXTS = 2**18
_UTF_16 = {"little": "utf-16-le", "big": "utf-16-be"}[sys.byteorder]


class Pieces(NamedTuple):
    """The byte text of tokens, and the start of each token in it.

    >>> Pieces.of(["Hel", "lo", "", "!"])
    Pieces(byte_text='Hello!', starts=array('Q', [0, 3, 5, 5]))
    """

    byte_text: str
    starts: array[int]

    @classmethod
    def of(cls, texts: Sequence[str]) -> Pieces:
        return cls("".join(texts), array("Q", itertools.accumulate(map(len, texts), initial=0))[:-1])

    @classmethod
    def joined(cls, parts: Sequence[Pieces]) -> Pieces:
        starts, size = array("Q"), 0
        for part in parts:
            starts.extend(_shifted(part.starts, size))
            size += len(part.byte_text)
        return cls("".join([part.byte_text for part in parts]), starts)

    def after(self, count: int) -> Pieces:
        """Return the pieces without the first `count` tokens."""
        starts = self.starts[count:]
        return Pieces(self.byte_text[starts[0] :], _shifted(starts, -starts[0])) if starts else NO_PIECES


NO_PIECES = Pieces("", array("Q"))


class PieceTexts(dict[int, str]):
    """The byte texts of the ids that were joined so far, looked up in the vocabulary when first needed.

    `overrides` are byte texts of certain ids. Texts beyond a number are not kept: any number may be an id.

    >>> PieceTexts({0: "Hel", 1: "lo"}, {1: "p", 2: "!"}).join([0, 1, 2])
    Pieces(byte_text='Help!', starts=array('Q', [0, 3, 4]))
    """

    def __init__(self, texts: Mapping[int, str], overrides: Mapping[int, str]) -> None:
        super().__init__(overrides)
        self._texts, self.overrides = texts, overrides

    def __missing__(self, number: int) -> str:
        text = self._texts[number]
        if len(self) < _CACHED_TEXTS:
            self[number] = text
        return text

    def join(self, ids: list[Any]) -> Pieces | None:
        """Return the pieces of some ids. None if any of them is not a number that can be an id."""
        try:
            return Pieces.of(list(map(self.__getitem__, array("I", ids))))
        except Exception:
            # An object that is not a number can raise anything.
            return None


class PieceTable:
    """The byte texts of a whole vocabulary in a form that the C extension joins. Immutable.

    `overrides` are byte texts of certain ids, which may be larger than those of the vocabulary.

    >>> table = PieceTable(ByteTexts(["Hel", "lo"]), {1: "p", 2: "!"})
    >>> table.join([0, 1, 2])
    Pieces(byte_text='Help!', starts=array('Q', [0, 3, 4]))
    >>> table.join([3]) is None
    True
    """

    def __init__(self, texts: ByteTexts, overrides: Mapping[int, str]) -> None:
        size = max((len(texts), *(token_id + 1 for token_id in overrides)))
        gaps = dict.fromkeys(range(len(texts), size), UNKNOWN)
        # The start and the end of each text, alternating.
        self._spans = array("I", bytes(2 * size * array("I").itemsize))
        self._spans[0 : 2 * len(texts) : 2] = (array("I", [0]) + texts.ends)[: len(texts)]
        self._spans[1 : 2 * len(texts) : 2] = texts.ends
        end = len(texts.joined)
        added = {**gaps, **overrides}
        for token_id, text in added.items():
            self._spans[2 * token_id], self._spans[2 * token_id + 1] = end, end + len(text)
            end += len(text)
        self._units = "".join([texts.joined, *added.values()]).encode(_UTF_16)

    def join(self, ids: list[Any]) -> Pieces | None:
        """Return the pieces of some ids. None if any of them is not an id of the vocabulary, or not a plain int."""
        joined = native.join(ids, self._units, self._spans)
        if joined is None:
            return None
        starts = array("Q")
        starts.frombytes(joined[1])
        return Pieces(joined[0], starts)


def _shifted(starts: array[int], by: int) -> array[int]:
    return array("Q", [start + by for start in starts]) if by else starts
