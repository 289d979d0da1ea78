"""Byte text: text with one character per byte (Latin-1), so that incomplete characters have a text as well."""

from __future__ import annotations

import codecs
import itertools
import re
from array import array
from collections.abc import Callable, Iterator, KeysView, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import Tokenizer


def _byte_symbols() -> tuple[str, ...]:
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    substitutes = iter(range(0x100, 0x200))
    return tuple(chr(byte if byte in printable else next(substitutes)) for byte in range(256))


BYTE_SYMBOLS = _byte_symbols()
"""The character for each byte in the tokens of a byte-level vocabulary."""

_NO_TEXT = (0xC0, 0xC1, *range(0xF5, 0x100))
"""The bytes that occur in no UTF-8 text. Each decodes to U+FFFD."""
UNKNOWN, *_FREE = map(chr, _NO_TEXT[:-1])
"""The byte text of an id that is not in the vocabulary."""
FREE = (*_FREE, *map(chr, range(0x100, 0x1000)))
"""The characters that are free to represent tokens. Those up to U+00FF come first: they take half the memory."""

NORMAL_BYTES = bytes(0xFF if byte in _NO_TEXT else byte for byte in range(256))
"""A translation table for bytes: those that occur in no UTF-8 text become one that represents no token."""
SYMBOL_CODEC = codecs.charmap_build("\0" + "".join(BYTE_SYMBOLS[1:]))
"""Encodes byte symbols to bytes. CPython has a fast codec only for tables that begin with NUL."""
_ABSENT = BYTE_SYMBOLS[0xFF]
_FALLBACK = re.compile(r"<0x([0-9A-Fa-f]{2})>")
ANCHOR = "a"
"""The text before a token that is decoded on its own. Some decoders drop spaces at the start of a text."""


def to_byte_text(text: str) -> str:
    """Convert a text to byte text.

    >>> to_byte_text("é")
    'Ã©'
    """
    return text if text.isascii() else text.encode().decode("latin-1")


def from_byte_text(byte_text: str) -> str:
    """Convert byte text to text. Bytes that are not UTF-8 become U+FFFD.

    >>> from_byte_text("Ã© Ã")
    'é \ufffd'
    """
    return byte_text if byte_text.isascii() else byte_text.encode("latin-1").decode("utf-8", "replace")


class ByteTexts:
    """The byte text of every id of a vocabulary, joined to one str. Immutable.

    >>> texts = ByteTexts(["Hel", "lo"])
    >>> len(texts), texts[1], texts.joined, list(texts.ends)
    (2, 'lo', 'Hello', [3, 5])
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self.joined = "".join(texts)
        self.ends = array("I", itertools.accumulate(map(len, texts)))
        """The end of each text, which is the start of the next one."""

    @classmethod
    def of_parts(cls, joined: str, ends: array[int]) -> ByteTexts:
        """Return the texts between these ends of a joined text."""
        texts = cls(())
        texts.joined, texts.ends = joined, ends
        return texts

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, number: int) -> str:
        if not 0 <= number < len(self.ends):
            raise IndexError(f"the vocabulary has no token {number}")
        return self.joined[self.ends[number - 1] if number else 0 : self.ends[number]]

    def __iter__(self) -> Iterator[str]:
        return (self.joined[start:end] for start, end in itertools.pairwise((0, *self.ends)))


class TokenTexts(Mapping[int, str]):
    """The byte text of each id of a vocabulary, looked up when it is first needed.

    A conversation has few different tokens, and the texts of a whole vocabulary take a tenth of a second. An id
    without a token is `UNKNOWN`. It is not stored, as any number may be asked for.

    >>> texts = TokenTexts({7: "seven"}.get)
    >>> texts[7], texts[8] == UNKNOWN, dict(texts)
    ('seven', True, {7: 'seven'})
    """

    def __init__(self, text_of: Callable[[int], str | None]) -> None:
        self._text_of = text_of
        # The garbage collector does not visit the entries of a dict of texts, but it does those of a subclass.
        self._kept: dict[int, str] = {}

    def __getitem__(self, number: int) -> str:
        # Most ids are looked up once, and an error takes longer than the rest.
        text = self._kept.get(number)
        return self._look_up(number) if text is None else text

    def __iter__(self) -> Iterator[int]:
        return iter(self._kept)

    def __len__(self) -> int:
        return len(self._kept)

    def keys(self) -> KeysView[int]:
        """Return the ids that were looked up so far, as a set."""
        return self._kept.keys()

    def _look_up(self, number: int) -> str:
        try:
            text = self._text_of(number)
        except OverflowError:
            # The id does not fit into 32 bits.
            text = None
        if text is None:
            return UNKNOWN
        return self._kept.setdefault(number, text)


def texts_of_bytes(backend: Tokenizer, added: Mapping[str, int]) -> ByteTexts:
    """Return the byte text of every id of a byte-level vocabulary; `UNKNOWN` for ids without a token."""
    symbols = _symbols_by_id(backend)
    symbols += [None] * (max(added.values(), default=-1) + 1 - len(symbols))
    for text, number in added.items():
        symbols[number] = "".join(map(BYTE_SYMBOLS.__getitem__, text.encode()))
    texts = ByteTexts([_ABSENT if token is None else token for token in symbols])
    # One call for all tokens, and a codec instead of `str.translate`, which takes ten times as long.
    joined = texts.joined.replace(BYTE_SYMBOLS[0], "\0")
    try:
        data = bytearray(codecs.charmap_encode(joined, "strict", SYMBOL_CODEC)[0].translate(NORMAL_BYTES))
    except UnicodeEncodeError:
        # A token with characters that are not byte symbols is its own text.
        return ByteTexts([UNKNOWN if token is None else _translated(token) for token in symbols])
    for number, token in enumerate(symbols):
        if token is None:
            data[texts.ends[number] - 1] = ord(UNKNOWN)
    texts.joined = data.decode("latin-1")
    return texts


def _symbols_by_id(backend: Tokenizer) -> list[str | None]:
    """Return every token of a vocabulary by id; None for ids without a token."""
    size = backend.get_vocab_size(with_added_tokens=True)
    tokens: list[str | None] = list(map(backend.id_to_token, range(size)))
    if None not in tokens:
        return tokens
    # The ids have gaps, so that some are above the number of tokens.
    by_id = {number: token for token, number in backend.get_vocab(with_added_tokens=True).items()}
    return list(map(by_id.get, range(max(by_id, default=-1) + 1)))


def _translated(token: str) -> str:
    if token.isascii():
        # The symbols of printable characters are themselves, and all others are not symbols.
        return token
    if "\0" not in token:
        try:
            data, _ = codecs.charmap_encode(token.replace(BYTE_SYMBOLS[0], "\0"), "strict", SYMBOL_CODEC)
            return data.translate(NORMAL_BYTES).decode("latin-1")
        except UnicodeEncodeError:
            pass
    # A token with characters that are not byte symbols is its own text.
    return to_byte_text(token)


def text_of_bytes(backend: Tokenizer, added: Mapping[str, int]) -> Callable[[int], str | None]:
    """Return a function that returns the byte text of an id of a byte-level vocabulary."""
    added_texts = {number: to_byte_text(text) for text, number in added.items() if text}
    id_to_token = backend.id_to_token

    def text_of(number: int) -> str | None:
        if number in added_texts:
            return added_texts[number]
        token = id_to_token(number)
        return None if token is None else _translated(token)

    return text_of


def text_of_pieces(backend: Tokenizer) -> Callable[[int], str | None]:
    """Return a function that returns the byte text of an id of another vocabulary: its text decoded after a letter."""
    anchor = backend.encode(ANCHOR, add_special_tokens=False).ids
    anchor_text = backend.decode(anchor, skip_special_tokens=False)

    def text_of(number: int) -> str | None:
        token = backend.id_to_token(number)
        if token is None:
            return None
        if byte := _FALLBACK.fullmatch(token):
            return chr(NORMAL_BYTES[int(byte[1], 16)])
        return to_byte_text(backend.decode([*anchor, number], skip_special_tokens=False).removeprefix(anchor_text))

    return text_of


def texts_of_pieces(backend: Tokenizer) -> ByteTexts:
    """Return the byte text of every id of another vocabulary: its text as decoded after a letter."""
    vocabulary = backend.get_vocab(with_added_tokens=True)
    anchor = backend.encode(ANCHOR, add_special_tokens=False).ids
    anchor_text = backend.decode(anchor, skip_special_tokens=False)
    decoded = backend.decode_batch([[*anchor, number] for number in vocabulary.values()], skip_special_tokens=False)
    texts = {
        number: chr(NORMAL_BYTES[int(byte[1], 16)])
        if (byte := _FALLBACK.fullmatch(token))
        else to_byte_text(text.removeprefix(anchor_text))
        for (token, number), text in zip(vocabulary.items(), decoded, strict=True)
    }
    return ByteTexts([texts.get(number, UNKNOWN) for number in range(max(texts, default=-1) + 1)])
