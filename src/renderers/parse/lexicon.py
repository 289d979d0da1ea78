"""Token ids as wire text in which the markers of a format that are tokens are single characters of their own."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from renderers.core.patterns import compile_alternation
from renderers.parse.pieces import Joiner, Pieces
from renderers.tokenizer.wire import FREE, UNKNOWN, ForeignTexts, WireTexts, from_wire, to_wire

__all__ = ["Lexicon", "LexiconTokenizer", "as_ids", "cut_at_marks"]

_MARKS = re.compile(f"([{UNKNOWN}{''.join(FREE)}])")


class LexiconTokenizer(Protocol):
    """What a lexicon needs of a tokenizer."""

    @property
    def wire_texts(self) -> WireTexts | ForeignTexts: ...
    @property
    def added_tokens(self) -> Mapping[str, int]: ...


def as_ids(token_ids: Iterable[Any]) -> list[Any]:
    """Returns ids of lists, tuples, arrays and tensors as a list: one that is not to be changed.

    The only row of an array is what is in it, as generating gives its only sequence.

    Raises:
        TypeError: This is nothing that ids could be in.

    >>> as_ids(range(3))
    [0, 1, 2]
    """
    if type(token_ids) is list:
        return token_ids
    tolist = getattr(token_ids, "tolist", None)
    if tolist is None:
        return list(token_ids)
    listed = tolist()
    if isinstance(listed, list) and len(listed) == 1 and isinstance(listed[0], list):
        return listed[0]
    return listed if isinstance(listed, list) else [listed]


class Lexicon:
    """A vocabulary, and the marks of a format in it, those first that are met most. Nothing about it changes.

    A mark is a token of its own where the vocabulary has it as one, and is then found by its id alone; else it is
    found by its text. Stop tokens are marks as well.
    """

    def __init__(self, tokenizer: LexiconTokenizer, *, marks: Iterable[str], stops: Sequence[int]) -> None:
        texts = tokenizer.wire_texts
        wanted = [tokenizer.added_tokens[text] for text in marks if text in tokenizer.added_tokens]
        numbers = dict.fromkeys([*(number for number in stops if number >= 0), *wanted])
        characters = dict(zip(numbers, FREE, strict=False))
        self._texts: dict[str, str] = {UNKNOWN: ""}
        for number, character in characters.items():
            known = isinstance(texts, dict) or number < len(texts)
            self._texts[character] = texts[number].replace(UNKNOWN, "") if known else ""
        self._ids = {character: number for number, character in characters.items()}
        self._atomic = {
            text: characters[number] for text, number in tokenizer.added_tokens.items() if number in characters
        }
        self._joiner: Joiner | None = None
        self._overlaid: Mapping[int, str] = {}
        if isinstance(texts, dict):
            self._overlaid = _Overlaid(texts, characters)
        else:
            self._size = max((len(texts), *(number + 1 for number in characters)))
            # One more, which is none of the vocabulary's.
            gaps = dict.fromkeys(range(len(texts), self._size + 1), UNKNOWN)
            self._joiner = Joiner(texts, gaps | characters)
        self.stops = frozenset(characters[number] for number in stops if number in characters)

    def mark(self, text: str) -> str:
        """Returns a marker as it stands in wire text."""
        return self._atomic.get(text) or to_wire(text)

    def marked(self, text: str) -> str:
        """Returns a text with markers in it as it stands in wire text."""
        pattern = compile_alternation(frozenset(self._atomic))
        parts = re.split(f"({pattern.pattern})", text) if pattern else [text]
        return "".join(map(self.mark, parts))

    def is_token(self, text: str) -> bool:
        """Says whether a marker is found by its id."""
        return text in self._atomic

    def id_of(self, mark: str) -> int:
        """Returns the id that a mark stands for."""
        return self._ids[mark]

    def pieces(self, ids: list[Any]) -> Pieces:
        """Returns the wire text of ids; of what is no id of the vocabulary a mark that says so."""
        if self._joiner is None:
            return Pieces.of([self._overlaid[number] if number >= 0 else UNKNOWN for number in map(_number, ids)])
        pieces = self._joiner.join(ids)
        if pieces is None:
            numbers = map(_number, ids)
            pieces = self._joiner.join([number if 0 <= number < self._size else self._size for number in numbers])
        assert pieces is not None
        return pieces

    def text(self, wire: str) -> str:
        """Returns the text of wire text, marks included: those that only look like markers where they stand."""
        if wire.isascii():
            return wire
        for mark, text in self._texts.items():
            if mark in wire:
                if not text:
                    # Bytes on two sides of a mark are no character, even if the mark has no text.
                    return "".join(map(self.text, wire.split(mark)))
                wire = wire.replace(mark, text)
        return from_wire(wire)


def _number(value: Any) -> int:
    """Returns the number that anything is; a negative one for what is none."""
    try:
        return operator.index(value)
    except Exception:
        # A stranger's class may raise anything.
        return -1


def cut_at_marks(wire: str) -> list[str]:
    """Returns wire text in pieces, with every mark as a piece of its own.

    >>> cut_at_marks("a\u0100\u0101b")
    ['a', 'Ā', 'ā', 'b']
    """
    return [piece for piece in _MARKS.split(wire) if piece]


class _Overlaid(dict[int, str]):
    """Texts of a caller's own tokenizer, with marks in them."""

    def __init__(self, texts: ForeignTexts, marks: Mapping[int, str]) -> None:
        super().__init__(marks)
        self._under = texts

    def __missing__(self, number: int) -> str:
        return self._under[number]
