"""Token ids as byte text, in which every marker that is a token is a single character."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from renderers.core.native import COMPILED
from renderers.core.text import compile_alternation
from renderers.core.token_ids import as_ids
from renderers.parsing.pieces import MARKER_CHARACTERS, Pieces, PieceTable, PieceTexts
from renderers.tokenizer.encoding.byte_text import FREE, UNKNOWN, ByteTexts, from_byte_text, to_byte_text

_SHORT_TEXT, _KEPT_SHORT_TEXTS = 8, 2**12
"""The size of texts that are kept decoded, and their number. Most are markers."""
_SPLIT_AT_MARKERS = re.compile(f"({MARKER_CHARACTERS.pattern})")


class MarkerTokenizer(Protocol):
    """The part of a tokenizer that parsing uses."""

    @property
    def token_texts(self) -> Mapping[int, str]: ...
    @property
    def byte_texts(self) -> ByteTexts | None: ...
    @property
    def stored(self) -> object | None: ...
    @property
    def added_tokens(self) -> Mapping[str, int]: ...
    @property
    def reserved_texts(self) -> frozenset[str]: ...


class MarkerText:
    """Convert ids to byte text, and byte text to text, for a vocabulary and the markers of a format.

    A marker that is a token of the vocabulary is found by its id only, a marker that is not is found
    by its text. Stop tokens are markers as well. `markers` are sorted by how common they are. Threads can share it.
    """

    def __init__(self, tokenizer: MarkerTokenizer, *, markers: Iterable[str], stops: Sequence[int]) -> None:
        # Keeps the tokenizer alive: compiled grammars are found by its id.
        self._tokenizer = tokenizer
        texts = tokenizer.token_texts
        marker_ids = [tokenizer.added_tokens[text] for text in markers if text in tokenizer.added_tokens]
        ids = dict.fromkeys([*(token_id for token_id in stops if token_id >= 0), *marker_ids])
        characters = dict(zip(ids, FREE, strict=False))
        self._texts: dict[str, str] = {UNKNOWN: ""}
        for token_id, character in characters.items():
            self._texts[character] = texts[token_id].replace(UNKNOWN, "")
        narrow = {character: text for character, text in self._texts.items() if character <= "\xff"}
        # An int, because Python makes an error message before it searches for bytes in bytes.
        self._narrow_texts = [(ord(mark), text.encode("latin-1")) for mark, text in narrow.items()]
        # The table has no markers that take two bytes, and the end of a prompt can have any marker.
        self._has_wide = len(narrow) < len(self._texts)
        self._decoded: dict[str, str] = {}
        self._ids = {character: token_id for token_id, character in characters.items()}
        self._characters = {
            text: characters[token_id] for text, token_id in tokenizer.added_tokens.items() if token_id in characters
        }
        pattern = compile_alternation(frozenset(self._characters))
        self._split = re.compile(f"({pattern.pattern})").split if pattern else lambda text: [text]
        self._marks = dict(self._characters)
        self._piece_texts = PieceTexts(texts, characters)
        # Most vocabularies end with added tokens.
        size = max((0, *tokenizer.added_tokens.values())) + 1
        stored = tokenizer.stored is not None
        self._table = (
            PieceTable(texts, characters, lambda: tokenizer.byte_texts, stored=stored, size=size) if COMPILED else None
        )
        self.stops = frozenset(characters[token_id] for token_id in stops if token_id in characters)
        """The stop tokens, as characters of byte text."""

    def mark(self, text: str) -> str:
        """Return a marker as it occurs in byte text. It can consist of several tokens, and of text between them."""
        mark = self._marks.get(text)
        if mark is None:
            parts = [self._characters.get(part) or to_byte_text(part) for part in self._split(text)]
            self._marks[text] = mark = "".join(parts)
        return mark

    def is_token(self, text: str) -> bool:
        """Return True if a marker begins with a token, so that it is found by its id."""
        return self.mark(text)[:1] in self._texts

    def id_of(self, marker: str) -> int:
        return self._ids[marker]

    def ids_in(self, byte_text: str) -> tuple[int, ...]:
        """Return the ids of the tokens that stand in byte text as characters of their own."""
        return tuple([self._ids[character] for character in byte_text if character in self._ids])

    @property
    def texts(self) -> Mapping[int, str]:
        """The byte text of each id, looked up when first needed."""
        return self._piece_texts

    def pieces(self, token_ids: list[Any], first: int = 0) -> Pieces:
        """Return the byte text of ints, from a position of the input on. One that is not a token becomes `UNKNOWN`.

        Raises:
            TypeError: An item is not an int. Names its position.
        """
        pieces = self._table.join(token_ids, first) if self._table is not None else None
        if pieces is not None:
            return pieces
        # All items that the table has are ids, so only other lists need a check.
        ids = as_ids(token_ids, any_int=True)
        pieces = self._piece_texts.join(ids, first)
        if pieces is None:
            return Pieces.of([self._piece_texts[key] if key >= 0 else UNKNOWN for key in ids], first)
        return pieces

    def known_text(self, token_ids: list[Any]) -> str | None:
        """Return the byte text of items that are ids of known tokens. None if any of them is something else."""
        return self._table.text(token_ids) if self._table is not None and not self._has_wide else None

    def byte_text(self, ids: list[int]) -> str:
        """Return the byte text of ints without the positions in it. Takes less time for a few of them."""
        if self._table is not None and not self._has_wide:
            return self.pieces(ids).byte_text
        try:
            return "".join(map(self._piece_texts.__getitem__, array("I", ids)))
        except OverflowError:
            # A number that is not a token id.
            return self.pieces(ids).byte_text

    def decode(self, byte_text: str) -> str:
        """Decode byte text. Markers in it become their text."""
        if len(byte_text) > _SHORT_TEXT:
            return byte_text if byte_text.isascii() else self._decode(byte_text)
        text = self._decoded.get(byte_text)
        if text is None:
            if byte_text.isascii():
                return byte_text
            text = self._decode(byte_text)
            if len(self._decoded) < _KEPT_SHORT_TEXTS:
                self._decoded[byte_text] = text
        return text

    def decode_at(self, byte_text: str, start: int, end: int, marks: Iterable[int]) -> str:
        """Decode a part of byte text, as `decode` does, by the positions of the markers in it."""
        texts, parts, at = self._texts, list[str](), start
        for mark in marks:
            text = texts[byte_text[mark]]
            if not text:
                # Bytes before and after it do not form a character.
                return self.decode(byte_text[start:end])
            parts += byte_text[at:mark], text
            at = mark + 1
        parts.append(byte_text[at:end])
        return from_byte_text("".join(parts))

    def _decode(self, byte_text: str) -> str:
        try:
            data = byte_text.encode("latin-1")
        except UnicodeEncodeError:
            return self._decode_wide(byte_text)
        for mark, text in self._narrow_texts:
            if mark in data:
                if not text:
                    # Bytes before and after a marker do not form a character, even if the marker has no text.
                    return "".join(map(self.decode, byte_text.split(chr(mark))))
                # Faster than `bytes.replace`, which first counts the marks, byte by byte.
                data = text.join(data.split(bytes((mark,))))
        return data.decode("utf-8", "replace")

    def _decode_wide(self, byte_text: str) -> str:
        """Decode byte text with markers that take two bytes."""
        for character, text in self._texts.items():
            if character in byte_text:
                if not text:
                    return "".join(map(self.decode, byte_text.split(character)))
                byte_text = byte_text.replace(character, text)
        return from_byte_text(byte_text)


def split_at_marker_tokens(byte_text: str) -> list[str]:
    """Split byte text so that every marker that is a token becomes a piece.

    >>> split_at_marker_tokens("a\u0100\u0101b")
    ['a', 'Ā', 'ā', 'b']
    """
    return [piece for piece in _SPLIT_AT_MARKERS.split(byte_text) if piece]
