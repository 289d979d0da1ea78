"""Encode a rendered text piece by piece, and map its labels to tokens."""

from __future__ import annotations

import bisect
import itertools
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from renderers.core.spans import LabelledSpan, TokenMatch
from renderers.core.tokens import TokenRun
from renderers.tokenizer.encoding.piece_cache import EncodedPiece, TokenPlaces
from renderers.tokenizer.encoding.plain import PlainEncoder
from renderers.tokenizer.foreign import ForeignTokenizer, ForeignVocab
from renderers.tokenizer.tokenizer import LoadedTokenizer
from renderers.tokenizer.vocab import Vocab

AnyTokenizer = LoadedTokenizer | ForeignTokenizer

# Python counts four more characters as spaces than the Rust library.
_SPACES = "".join(filter(str.isspace, map(chr, range(0x3001)))).translate(dict.fromkeys(range(0x1C, 0x20)))
_AFTER = re.compile(f"[{re.escape(_SPACES)}]*")
_FAR = 2**62
_NEAR = 48
"""Borders within this many characters of an end of a piece take a short cut."""


class Cuts(NamedTuple):
    """Matches that are one token each. With `plain`, no special tokens are matched between them."""

    marks: list[TokenMatch]
    plain: PlainEncoder | None = None


def cut_at_isolating_tokens(tokenizer: AnyTokenizer, marks: Iterable[TokenMatch]) -> Cuts:
    """Return the cuts that leave the ids of the text unchanged: those at isolating tokens."""
    isolating = tokenizer.vocab.isolating_texts
    return Cuts([mark for mark in marks if mark.text in isolating])


def cut_at_own(tokenizer: LoadedTokenizer, text: str, own: Iterable[TokenMatch]) -> Cuts:
    """Return the cuts with which only the given matches become special tokens, with the spaces that they absorb."""
    marks: list[TokenMatch] = []
    before = 0
    for mark in own:
        left, right = tokenizer.vocab.stripping.get(mark.text, (False, False))
        start = before + len(text[before : mark.start].rstrip(_SPACES)) if left else mark.start
        before = _AFTER.match(text, mark.end).end() if right else mark.end  # type: ignore[union-attr]
        marks.append(TokenMatch(start, before, mark.text))
    return Cuts(marks, tokenizer.vocab.plain)


def encode_text(tokenizer: AnyTokenizer, text: str, cuts: Cuts) -> list[int]:
    """Return the ids of a rendered text, adding no special tokens. All pieces are encoded in one call."""
    ids: list[int] = []
    for piece in _pieces(tokenizer.vocab, text, cuts):
        ids += piece.ids
    return ids


class EncodedRuns(NamedTuple):
    """Ids, their attribution as runs, and the indices of tokens across a border of sampled text."""

    ids: array[int]
    runs: tuple[TokenRun, ...]
    straddling: tuple[int, ...]


def encode_labelled(tokenizer: AnyTokenizer, text: str, cuts: Cuts, labels: Sequence[LabelledSpan]) -> EncodedRuns:
    """Return the ids of a rendered text, and its labels as runs of tokens.

    A token across a border gets the label of its first character. `UnalignedError` if the offsets of a caller's
    tokenizer cannot be determined.
    """
    vocab = tokenizer.vocab
    ids = array("I")
    runs: list[TokenRun] = []
    straddling: set[int] = set()
    pieces = _pieces(vocab, text, cuts)
    piece, places = _Piece(0, "", (), None), None
    begun = piece_end = 0
    merged: list[TokenRun] = []
    for _, end, message, _, channel, sampled, content in labels:
        _append(merged, TokenRun(end, message, channel, sampled, content))
    for at, label in enumerate(merged):
        while piece_end < label.end:
            piece, places = next(pieces), None
            begun, piece_end = len(ids), piece.start + len(piece.text)
            ids.extend(piece.ids)
        end = len(ids)
        if label.end < piece_end:
            border = label.end - piece.start
            tokens = _near_an_end(vocab, piece, border) if places is None else None
            if tokens is None:
                places = places or _places(vocab, piece)
                tokens = places.across(border)
            end = begun + tokens.stop
            if label.sampled != merged[at + 1].sampled:
                straddling.update(begun + token for token in tokens)
        _append(runs, TokenRun(end, *label[1:]))
    return EncodedRuns(ids, tuple(runs), tuple(sorted(straddling)))


def _append(runs: list[TokenRun], run: TokenRun) -> None:
    """Append a run unless it is empty. Merge it with the last one if they differ only in their ends."""
    if run.end == (runs[-1].end if runs else 0):
        return
    if runs and runs[-1][1:] == run[1:]:
        runs.pop()
    runs.append(run)


def locate_marks(tokenizer: AnyTokenizer, text: str, cuts: Cuts, marks: Sequence[TokenMatch]) -> list[tuple[int, int]]:
    """Return the first token of each match, and the token after its last. The matches must be in order."""
    located: list[tuple[int, int]] = []
    begun = 0
    for piece in _pieces(tokenizer.vocab, text, cuts):
        piece_end = piece.start + len(piece.text)
        places: _Places | None = None
        while len(located) < len(marks) and marks[len(located)].start < piece_end:
            mark = marks[len(located)]
            places = places or _places(tokenizer.vocab, piece)
            # A match that goes on in text of the template ends with its piece.
            end = places.across(min(mark.end, piece_end) - piece.start).stop
            located.append((begun + places.within(mark.start - piece.start), begun + end))
        begun += len(piece.ids)
    return located


class _Piece(NamedTuple):
    start: int
    text: str
    ids: Sequence[int]
    encoded: EncodedPiece | None
    """None for a special token."""
    plain: PlainEncoder | None = None


def _pieces(vocab: Vocab | ForeignVocab, text: str, cuts: Cuts) -> Iterator[_Piece]:
    """Yield all parts of a text with their ids: the matches, and the text between them."""
    borders = [0, *itertools.chain.from_iterable(mark[:2] for mark in cuts.marks), len(text)]
    # Matches have odd indices.
    parts = [text[start:end] for start, end in itertools.pairwise(borders)]
    between = [part for part in parts[::2] if part]
    encoded = iter(cuts.plain.encode(between, first=bool(parts[0])) if cuts.plain else vocab.encode_pieces(between))
    for at, part in enumerate(parts):
        if at % 2:
            yield _Piece(borders[at], part, [vocab.added_tokens[cuts.marks[at // 2].text]], None)
        elif part:
            piece = next(encoded)
            yield _Piece(borders[at], part, piece.ids, piece, cuts.plain)


class _Places(NamedTuple):
    """The places of the tokens of a piece."""

    tokens: TokenPlaces
    text: str

    def within(self, at: int) -> int:
        """Return the index of the token in which a character starts."""
        return bisect.bisect_right(self.tokens.starts, self._place(at)) - 1

    def across(self, at: int) -> range:
        """Return the tokens that start before a character and end after it.

        The end of the range is the number of tokens that start before the character.
        """
        place = self._place(at)
        first = stop = bisect.bisect_left(self.tokens.starts, place)
        while first and self.tokens.ends[first - 1] > place:
            first -= 1
        return range(first, stop)

    def _place(self, at: int) -> int:
        return len(self.text[:at].encode()) if self.tokens.in_bytes and not self.text.isascii() else at


def _places(vocab: Vocab | ForeignVocab, piece: _Piece) -> _Places:
    if piece.encoded is None:
        return _Places(TokenPlaces(array("I", [0]), array("I", [len(piece.text)]), in_bytes=False), piece.text)
    if piece.encoded.places is None:
        piece.encoded.places = _sized(vocab, piece) or _aligned(vocab, piece)
    return _Places(piece.encoded.places, piece.text)


def _sized(vocab: Vocab | ForeignVocab, piece: _Piece) -> TokenPlaces | None:
    """Return the places of tokens by their sizes; None if these do not add up to the text."""
    if not isinstance(vocab, Vocab) or (sizes := vocab.token_sizes) is None:
        return None
    borders = array("I", itertools.accumulate(map(sizes.__getitem__, piece.ids), initial=0))
    # If a normalizer changed the text, the sizes do not add up to it.
    if borders[-1] != len(piece.text.encode()) or not (piece.text.isascii() or vocab.keeps(piece.text)):
        return None
    return TokenPlaces(borders[:-1], borders[1:], in_bytes=True)


def _aligned(vocab: Vocab | ForeignVocab, piece: _Piece) -> TokenPlaces:
    offsets = piece.plain.offsets(piece.text, first=not piece.start) if piece.plain else vocab.offsets(piece.text)
    starts, ends = ([place[at] for place in offsets] for at in (0, 1))
    return TokenPlaces(array("I", starts), array("I", ends), in_bytes=False)


def _near_an_end(vocab: Vocab | ForeignVocab, piece: _Piece, at: int) -> range | None:
    """Return the same as `_Places.across`; None if the character is not near an end of the piece.

    Most borders are, and need the sizes of a few tokens only.
    """
    text = piece.text
    from_end = len(text) - at
    if min(at, from_end) > _NEAR or not (isinstance(vocab, Vocab) and vocab.sizes_hold):
        return None
    if not text.isascii():
        if not vocab.drops_nothing or piece.encoded is None:
            return None
        if piece.encoded.unchanged is None:
            piece.encoded.unchanged = vocab.keeps(text)
        if not piece.encoded.unchanged:
            return None
        at, from_end = (len(part.encode()) if len(part) <= _NEAR else _FAR for part in (text[:at], text[at:]))
    sizes = vocab.token_sizes
    assert sizes is not None
    if at <= from_end:
        end = 0
        for number, token in enumerate(piece.ids):
            end += sizes[token]
            if end >= at:
                return range(number + (end == at), number + 1)
        return None
    # Places from the end of the text.
    start = 0
    for number in reversed(range(len(piece.ids))):
        end, start = start, start + sizes[piece.ids[number]]
        if start > from_end:
            return range(number + (end == from_end), number + 1)
    return None
