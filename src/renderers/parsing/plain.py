"""Tokens that a stream can emit at once, because no later token can change their text or their field."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from renderers.parsing.buffer import MarkerSet
from renderers.parsing.grammar import Edges
from renderers.parsing.pieces import MARKER_CHARACTERS

_CACHED_TOKENS = 2**18


class PlainTokens(dict[int, tuple[str, str] | None]):
    """The byte text and the text of each token that is plain in a field; None for all other ids.

    A plain token has whole characters. No marker of the field can begin in it, and it does not end with padding that
    the end of the field can have. Tokens beyond a number are not kept: any number may be an id.

    >>> tokens = PlainTokens({0: "Hi", 1: "a <", 2: "a "}, markers=MarkerSet.of("<end>"), ends=[Edges(right=" ")])
    >>> tokens[0], tokens[1], tokens[2]
    (('Hi', 'Hi'), None, None)
    """

    def __init__(self, texts: Mapping[int, str], *, markers: MarkerSet, ends: Iterable[Edges] = ()) -> None:
        super().__init__()
        self._texts, self._ends = texts, tuple(ends)
        self._markers = markers

    def __missing__(self, token_id: int) -> tuple[str, str] | None:
        plain = self._plain(self._texts[token_id]) if token_id >= 0 else None
        if len(self) < _CACHED_TOKENS:
            self[token_id] = plain
        return plain

    def _plain(self, byte_text: str) -> tuple[str, str] | None:
        size, markers = len(byte_text), self._markers
        if MARKER_CHARACTERS.search(byte_text) or any(text in byte_text for text in markers.texts):
            return None
        if markers.partial_suffix_length(byte_text, 0):
            return None
        if not size or any(edges.sure_in(byte_text, 0, size) < size for edges in self._ends):
            return None
        try:
            return byte_text, byte_text.encode("latin-1").decode()
        except UnicodeError:
            return None
