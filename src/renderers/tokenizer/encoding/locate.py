"""Find the tokens at places of an encoded text, in C or in Python."""

from __future__ import annotations

import bisect
import itertools
from array import array
from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple

from renderers.core.native import native
from renderers.tokenizer.encoding.byte_text import to_byte_text
from renderers.tokenizer.encoding.normalized import NormalizedText, move_in_python
from renderers.tokenizer.encoding.piece_cache import TokenPlaces
from renderers.tokenizer.encoding.plain import PlainEncoder
from renderers.tokenizer.foreign import ForeignVocab
from renderers.tokenizer.vocab import Vocab

AnyVocab = Vocab | ForeignVocab


class EncodedText(NamedTuple):
    """The ids of a text that was cut into parts. Parts with odd numbers are one special token each."""

    text: str
    ids: array[int]
    borders: array[int]
    """The start of each part, and the end of the last."""
    ends: array[int]
    """The number of ids up to the end of each part."""
    plain: PlainEncoder | None
    """The encoder of the pieces; None for that of the vocabulary."""

    def piece_text(self, number: int) -> str:
        """Return the text of a part with an even number."""
        return self.text[self.borders[2 * number] : self.borders[2 * number + 1]]

    def piece_ids(self, number: int) -> array[int]:
        """Return the ids of a part with an even number."""
        return self.ids[self.ends[2 * number - 1] if number else 0 : self.ends[2 * number]]


class LocatedTokens(NamedTuple):
    """The tokens at some places of a text."""

    firsts: list[int]
    """The first token that starts before each place and ends after it; the next token if there is none."""
    stops: list[int]
    """The number of tokens that start before each place."""


def locate(vocab: AnyVocab, encoded: EncodedText, places: list[int]) -> LocatedTokens:
    """Return the tokens at places of a text, which must be in order."""
    located = call_native("locate", vocab, encoded, places)
    return locate_in_python(vocab, encoded, places) if located is None else LocatedTokens(*located)


def call_native(
    name: Literal["locate", "attribute", "attribute_spans"], vocab: AnyVocab, encoded: EncodedText, *arguments: Any
) -> Any:
    """Call a function of the C extension that needs the sizes of the tokens of a text.

    None if the extension is not used, if the function returns None, or if the sizes of tokens do not add up to the
    normalized text: a normalizer or a token that strips spaces may change it.
    """
    sizes = vocab.token_sizes
    if native is None or sizes is None or (normalized := _normalized(vocab, encoded)) is None:
        return None
    while True:
        function: Callable[..., Any] = getattr(native, name)
        text, ids, borders, ends, _ = encoded
        result = function(text, ids, sizes.table, borders, ends, *normalized, *arguments)
        if isinstance(result, tuple):
            return result
        if not isinstance(result, list):
            return None
        sizes.learn(result)


def locate_in_python(vocab: AnyVocab, encoded: EncodedText, places: list[int]) -> LocatedTokens:
    """Return the same as `locate`, for any vocabulary.

    Raises:
        UnalignedError: The offsets of a caller's tokenizer cannot be determined.
    """
    tokens = LocatedTokens([], [])
    part, inside = 0, None
    for place in places:
        while part < len(encoded.ends) - 1 and encoded.borders[part + 1] < place:
            part, inside = part + 1, None
        begun = encoded.ends[part - 1] if part else 0
        if place <= encoded.borders[part]:
            first = stop = begun
        elif place >= encoded.borders[part + 1]:
            first = stop = encoded.ends[part]
        elif part % 2:
            first, stop = begun, encoded.ends[part]
        else:
            inside = inside or _piece_tokens(vocab, encoded, part // 2)
            first, stop = (begun + token for token in inside.across(place - encoded.borders[part]))
        tokens.firsts.append(first)
        tokens.stops.append(stop)
    return tokens


class _PieceTokens(NamedTuple):
    places: TokenPlaces
    """The places of tokens in the normalized text."""
    normalized: NormalizedText

    def across(self, character: int) -> tuple[int, int]:
        """Return the first token that starts before a character and ends after it, and the number that start before."""
        (place,) = move_in_python(self.normalized.moves, [character])
        if self.places.in_bytes and not self.normalized.text.isascii():
            place = len(self.normalized.text[:place].encode())
        first = stop = bisect.bisect_left(self.places.starts, place)
        while first and self.places.ends[first - 1] > place:
            first -= 1
        return first, stop


def _normalized(vocab: AnyVocab, encoded: EncodedText) -> NormalizedText | None:
    """Return the text that the sizes of tokens can add up to; None if it is not known.

    The tokens of pieces that a normalizer changed have this text.
    """
    text, parts, moves, end, size = encoded.text, list[str](), array("q"), 0, 0
    numbers = () if text.isascii() else range(len(encoded.borders) // 2)
    for number in numbers:
        piece = encoded.piece_text(number)
        if _keeps(vocab, piece):
            continue
        normalized = _changed(vocab, piece, encoded.piece_ids(number))
        if normalized is None:
            return None
        start = encoded.borders[2 * number]
        parts += (text[end:start], normalized.text)
        size += start - end
        for place, moved in zip(normalized.moves[::2], normalized.moves[1::2], strict=True):
            moves.extend((start + place, size + moved))
        size += len(normalized.text)
        end = start + len(piece)
    return NormalizedText("".join([*parts, text[end:]]) if parts else text, moves)


def _changed(vocab: AnyVocab, text: str, ids: Iterable[int]) -> NormalizedText | None:
    """Return the normalized form of a text with these tokens; None if it is not known."""
    normalized = vocab.normalized(text)
    if normalized is None or not normalized.moves:
        return normalized
    # A token in the text that is matched before the normalizer cuts it, and the parts are composed apart.
    is_known = "".join(map(vocab.token_texts.__getitem__, ids)) == to_byte_text(normalized.text)
    return normalized if is_known else None


def _keeps(vocab: AnyVocab, text: str) -> bool:
    return text.isascii() or vocab.keeps(text)


def _piece_tokens(vocab: AnyVocab, encoded: EncodedText, number: int) -> _PieceTokens:
    text, ids = encoded.piece_text(number), encoded.piece_ids(number)
    own = NormalizedText(text, array("q"))
    normalized = own if _keeps(vocab, text) else _changed(vocab, text, ids)
    places = None if normalized is None else _sized(vocab, ids, normalized.text)
    if normalized is None or places is None:
        return _PieceTokens(_aligned(vocab, text, encoded.plain, first=not number), own)
    return _PieceTokens(places, normalized)


def _sized(vocab: AnyVocab, ids: Iterable[int], text: str) -> TokenPlaces | None:
    """Return the places of tokens by their sizes; None if these do not add up to the text."""
    sizes = vocab.token_sizes
    if sizes is None:
        return None
    borders = array("I", itertools.accumulate(map(sizes.__getitem__, ids), initial=0))
    if borders[-1] != len(text.encode()):
        return None
    return TokenPlaces(borders[:-1], borders[1:], in_bytes=True)


def _aligned(vocab: AnyVocab, text: str, plain: PlainEncoder | None, *, first: bool) -> TokenPlaces:
    return plain.places(text, first=first) if plain else vocab.places(text)
