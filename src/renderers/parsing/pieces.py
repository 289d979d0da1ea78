"""Join the byte texts of tokens to one text with the start of each token: in C if that was built, else in Python."""

from __future__ import annotations

import itertools
import os
import sys
from array import array
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from renderers.tokenizer.encoding.byte_text import ByteTexts

_VERSION = 1
"""The interface of the C extension. An extension that was built for another version is not used."""

try:
    if os.environ.get("RENDERERS_PURE_PYTHON"):
        raise ImportError("RENDERERS_PURE_PYTHON is set")
    from renderers.parsing import _join

    COMPILED = _join.VERSION == _VERSION
except (ImportError, AttributeError):
    COMPILED = False
"""True if the C extension is used."""

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


class ByteTextJoiner:
    """Join ids to byte text, for one vocabulary. Immutable.

    `overrides` are byte texts of certain ids, which may be larger than those of the vocabulary.

    >>> joiner = ByteTextJoiner(ByteTexts(["Hel", "lo"]), {1: "p", 2: "!"})
    >>> joiner.join([0, 1, 2])
    Pieces(byte_text='Help!', starts=array('Q', [0, 3, 4]))
    >>> joiner.join([-1]) is None
    True
    """

    def __init__(self, texts: ByteTexts, overrides: Mapping[int, str], *, compiled: bool | None = None) -> None:
        self._compiled = COMPILED if compiled is None else compiled
        size = max((len(texts), *(token_id + 1 for token_id in overrides)))
        if not self._compiled:
            self._texts = [*texts, *[""] * (size - len(texts))]
            for token_id, text in overrides.items():
                self._texts[token_id] = text
            return
        # The start and the end of each text, alternating.
        self._spans = array("I", bytes(2 * size * array("I").itemsize))
        self._spans[0 : 2 * len(texts) : 2] = (array("I", [0]) + texts.ends)[: len(texts)]
        self._spans[1 : 2 * len(texts) : 2] = texts.ends
        end = len(texts.joined)
        for token_id, text in overrides.items():
            self._spans[2 * token_id], self._spans[2 * token_id + 1] = end, end + len(text)
            end += len(text)
        self._units = "".join([texts.joined, *overrides.values()]).encode(_UTF_16)

    def join(self, ids: list[Any]) -> Pieces | None:
        """Return the pieces of some ids. None if any of them is not an id of the vocabulary, or not a plain int."""
        if not self._compiled:
            try:
                # The array rejects negative ids, which would count from the end of the list.
                return Pieces.of([self._texts[token_id] for token_id in array("I", ids)])
            except Exception:
                # An object that is not a number can raise anything.
                return None
        joined = _join.join(ids, self._units, self._spans)
        if joined is None:
            return None
        starts = array("Q")
        starts.frombytes(joined[1])
        return Pieces(joined[0], starts)


def _shifted(starts: array[int], by: int) -> array[int]:
    return array("Q", [start + by for start in starts]) if by else starts
