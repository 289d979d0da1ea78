"""The text of every token, with one character for each byte: so half a character has a text as well.

Such text is called wire text. It is what a completion is read as: plain ASCII is itself. Bytes that are in no UTF-8
text are all written as one of them; the characters of the others, and those above U+00FF, are free to stand for tokens
that are known by their ids. The former are better, as a text with none of the latter takes half the memory.
"""

from __future__ import annotations

import itertools
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from tokenizers import Tokenizer

from renderers.tokenizer.ranks import BYTE_SYMBOLS

__all__ = ["FREE", "UNKNOWN", "ForeignTexts", "WireTexts", "from_wire", "texts_of_bytes", "texts_of_pieces", "to_wire"]

_NO_TEXT = (0xC0, 0xC1, *range(0xF5, 0x100))
"""The bytes that are in no UTF-8 text. Each is U+FFFD when it is decoded, whatever is around it."""
UNKNOWN, *_FREE = map(chr, _NO_TEXT[:-1])
"""What stands for an id that the vocabulary does not have."""
FREE = (*_FREE, *map(chr, range(0x100, 0x1000)))
"""The characters that are free, the better ones first."""

_BETWEEN = "\uffff"
_BYTES = {ord(symbol): 0xFF if byte in _NO_TEXT else byte for byte, symbol in enumerate(BYTE_SYMBOLS)}
_FALLBACK = re.compile(r"<0x([0-9A-Fa-f]{2})>")
_ANCHOR = "a"


def to_wire(text: str) -> str:
    """Returns a text as wire text.

    >>> to_wire("é")
    'Ã©'
    """
    return text if text.isascii() else text.encode().decode("latin-1")


def from_wire(wire: str) -> str:
    """Returns the text of wire text; bytes that are not UTF-8 give U+FFFD.

    >>> from_wire("Ã© Ã")
    'é \ufffd'
    """
    return wire if wire.isascii() else wire.encode("latin-1").decode("utf-8", "replace")


class WireTexts:
    """The wire text of every id of a vocabulary, all of them in one text; nothing about it changes.

    >>> texts = WireTexts(["Hel", "lo"])
    >>> len(texts), texts[1], texts.joined, list(texts.ends)
    (2, 'lo', 'Hello', [3, 5])
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self.joined = "".join(texts)
        self.ends = array("I", itertools.accumulate(map(len, texts)))
        """Where each text ends, and the next one begins."""

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, number: int) -> str:
        if not 0 <= number < len(self.ends):
            raise IndexError(f"there is no token {number}")
        return self.joined[self.ends[number - 1] if number else 0 : self.ends[number]]

    def __iter__(self) -> Iterator[str]:
        return (self.joined[start:end] for start, end in itertools.pairwise((0, *self.ends)))


def texts_of_bytes(backend: Tokenizer, added: Mapping[str, int]) -> WireTexts:
    """Returns the wire text of every id of a vocabulary whose tokens are bytes; ids that there are not have none."""
    vocabulary = backend.get_vocab(with_added_tokens=False)
    # In such a vocabulary each byte is written as one character. One long text is translated much faster than many.
    translated = _BETWEEN.join(vocabulary).translate(_BYTES).split(_BETWEEN)
    if len(translated) != len(vocabulary):
        # There are no tokens, or one has that character.
        translated = [token.translate(_BYTES) for token in vocabulary]
    texts = (
        # A token with other characters than those for bytes is its own text.
        text if text.isascii() or max(text) <= "\xff" else to_wire(token)
        for token, text in zip(vocabulary, translated, strict=True)
    )
    known = dict(zip(vocabulary.values(), texts, strict=True))
    return _texts_by_id(known | {number: to_wire(text) for text, number in added.items()})


def texts_of_pieces(backend: Tokenizer) -> WireTexts:
    """Returns the wire text of every id of another vocabulary, as the tokenizer itself decodes it after a letter."""
    vocabulary = backend.get_vocab(with_added_tokens=True)
    anchor = backend.encode(_ANCHOR, add_special_tokens=False).ids
    alone = backend.decode(anchor, skip_special_tokens=False)
    decoded = backend.decode_batch([[*anchor, number] for number in vocabulary.values()], skip_special_tokens=False)
    texts = []
    for token, text in zip(vocabulary, decoded, strict=True):
        byte = _FALLBACK.fullmatch(token)
        texts.append(chr(_BYTES[ord(BYTE_SYMBOLS[int(byte[1], 16)])]) if byte else to_wire(text.removeprefix(alone)))
    return _texts_by_id(dict(zip(vocabulary.values(), texts, strict=True)))


def _texts_by_id(known: Mapping[int, str]) -> WireTexts:
    listed = [UNKNOWN] * (max(known, default=-1) + 1)
    for number, text in known.items():
        listed[number] = text
    return WireTexts(listed)


class _Tokenizer(Protocol):
    def encode(self, text: str, add_special_tokens: bool = True) -> list[int]: ...
    def decode(self, token_ids: Iterable[int]) -> str: ...


class ForeignTexts(dict[int, str]):
    """The wire text of each id of a caller's own tokenizer, asked for when it is first met.

    What the tokenizer cannot decode alone, such as half a character, is U+FFFD.
    """

    def __init__(self, tokenizer: _Tokenizer) -> None:
        super().__init__()
        self._tokenizer = tokenizer
        self._anchor = tokenizer.encode(_ANCHOR, add_special_tokens=False)
        self._alone = tokenizer.decode(self._anchor)

    def text_of(self, ids: Sequence[int]) -> str:
        """Returns the text of some tokens."""
        return from_wire(self[ids[0]] if len(ids) == 1 else self._decoded(ids))

    def __missing__(self, number: int) -> str:
        self[number] = self._decoded([number])
        return self[number]

    def _decoded(self, ids: Sequence[int]) -> str:
        try:
            return to_wire(self._tokenizer.decode([*self._anchor, *ids]).removeprefix(self._alone))
        except Exception:
            # Whatever a caller's class raises for an id that it does not have, or for half a character.
            return UNKNOWN
