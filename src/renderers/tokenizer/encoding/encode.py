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
from renderers.tokenizer.foreign import ForeignTokenizer
from renderers.tokenizer.tokenizer import LoadedTokenizer

AnyTokenizer = LoadedTokenizer | ForeignTokenizer

# Python counts four more characters as spaces than the Rust library.
_SPACES = "".join(filter(str.isspace, map(chr, range(0x3001)))).translate(dict.fromkeys(range(0x1C, 0x20)))
_AFTER = re.compile(f"[{re.escape(_SPACES)}]*")
_NEAR = 48
"""Borders within this many characters of an end of a piece take a short cut."""


class Cuts(NamedTuple):
    """Matches that are one token each. With `plain`, no special tokens are matched between them."""

    marks: list[TokenMatch]
    plain: bool


def cut_at_isolating_tokens(tokenizer: AnyTokenizer, marks: Iterable[TokenMatch]) -> Cuts:
    """Return the cuts that leave the ids of the text unchanged: those at isolating tokens."""
    isolating = tokenizer.vocab.isolating_texts
    return Cuts([mark for mark in marks if mark.text in isolating], plain=False)


def cut_at_own(tokenizer: LoadedTokenizer, text: str, own: Iterable[TokenMatch]) -> Cuts:
    """Return the cuts with which only the given matches become special tokens."""
    return Cuts(list(_with_spaces(tokenizer, text, own)), plain=True)


def encode_text(tokenizer: AnyTokenizer, text: str, cuts: Cuts) -> list[int]:
    """Return the ids of a rendered text, adding no special tokens. All pieces are encoded in one call."""
    return list(itertools.chain.from_iterable(piece.ids for piece in _pieces(tokenizer, text, cuts)))


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
    ids = array("I")
    runs: list[TokenRun] = []
    straddling: set[int] = set()
    pieces = _pieces(tokenizer, text, cuts)
    piece, places = _Piece(0, "", (), plain=False), None
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
            near = _near_an_end(tokenizer, piece, border) if places is None else None
            if near is None:
                places = places or _places(tokenizer, piece)
                near = places.before(border), list(places.across(border))
            end = begun + near[0]
            if label.sampled != merged[at + 1].sampled:
                straddling.update(begun + token for token in near[1])
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
    for piece in _pieces(tokenizer, text, cuts):
        piece_end = piece.start + len(piece.text)
        places: _Places | None = None
        while len(located) < len(marks) and marks[len(located)].start < piece_end:
            mark = marks[len(located)]
            places = places or _places(tokenizer, piece)
            # A match that goes on in text of the template ends with its piece.
            end = places.before(min(mark.end, piece_end) - piece.start)
            located.append((begun + places.within(mark.start - piece.start), begun + end))
        begun += len(piece.ids)
    return located


class _Places(NamedTuple):
    """The start and end of each token of a piece, in bytes or in characters."""

    starts: list[int]
    ends: list[int]
    in_bytes: str | None = None
    """The text, if places are bytes and it is not ASCII."""

    def before(self, at: int) -> int:
        """Return the number of tokens that start before a character, which is not the first."""
        return bisect.bisect_left(self.starts, self._place(at))

    def within(self, at: int) -> int:
        """Return the index of the token in which a character starts."""
        return bisect.bisect_right(self.starts, self._place(at)) - 1

    def across(self, at: int) -> Iterator[int]:
        """Return the indices of the tokens that start before a character and end after it."""
        tokens = reversed(range(self.before(at)))
        return itertools.takewhile(lambda number: self.ends[number] > self._place(at), tokens)

    def _place(self, at: int) -> int:
        return at if self.in_bytes is None else len(self.in_bytes[:at].encode())


def _near_an_end(tokenizer: AnyTokenizer, piece: _Piece, at: int) -> tuple[int, list[int]] | None:
    """Return the number of tokens that start before a character, and those of them that end after it.

    None if the character is not near an end of the piece. Most borders are, and need the sizes of a few tokens only.
    """
    if not (isinstance(tokenizer, LoadedTokenizer) and tokenizer.vocab.sizes_hold and piece.text.isascii()):
        return None
    sizes = tokenizer.vocab.token_sizes
    if at <= _NEAR:
        end = 0
        for number, token in enumerate(piece.ids):
            end += sizes[token]
            if end >= at:
                return number + 1, [number] if end > at else []
    if len(piece.text) - at <= _NEAR:
        start = len(piece.text)
        for number in reversed(range(len(piece.ids))):
            end, start = start, start - sizes[piece.ids[number]]
            if start < at:
                return number + 1, [number] if end > at else []
    return None


class _Piece(NamedTuple):
    start: int
    text: str
    ids: Sequence[int]
    plain: bool


def _pieces(tokenizer: AnyTokenizer, text: str, cuts: Cuts) -> Iterator[_Piece]:
    """Yield all parts of a text with their ids: the matches, and the text between them."""
    if isinstance(tokenizer, ForeignTokenizer) or (not cuts.plain and not tokenizer.isolating_token_ids):
        yield _Piece(0, text, tokenizer.encode(text, add_special_tokens=False), plain=False)
        return
    borders = [0, *itertools.chain.from_iterable(mark[:2] for mark in cuts.marks), len(text)]
    # Matches have odd indices.
    parts = [text[start:end] for start, end in itertools.pairwise(borders)]
    between = [part for part in parts[::2] if part]
    vocab = tokenizer.vocab
    encoded = iter(vocab.plain.encode(between, first=bool(parts[0])) if cuts.plain else vocab.encode_pieces(between))
    for at, part in enumerate(parts):
        if at % 2:
            yield _Piece(borders[at], part, [tokenizer.added_tokens[cuts.marks[at // 2].text]], plain=False)
        elif part:
            yield _Piece(borders[at], part, next(encoded), plain=cuts.plain)


def _with_spaces(tokenizer: LoadedTokenizer, text: str, marks: Iterable[TokenMatch]) -> Iterator[TokenMatch]:
    """Yield matches with the surrounding spaces that their tokens absorb."""
    before = 0
    for mark in marks:
        left, right = tokenizer.vocab.stripping.get(mark.text, (False, False))
        start = before + len(text[before : mark.start].rstrip(_SPACES)) if left else mark.start
        end = _AFTER.match(text, mark.end).end() if right else mark.end  # type: ignore[union-attr]
        yield TokenMatch(start, end, mark.text)
        before = end


def _places(tokenizer: AnyTokenizer, piece: _Piece) -> _Places:
    if isinstance(tokenizer, LoadedTokenizer) and tokenizer.byte_level:
        borders = [0, *itertools.accumulate(map(tokenizer.vocab.token_sizes.__getitem__, piece.ids))]
        # If a normalizer changed the text, the sizes do not add up to it.
        if piece.text.isascii() and borders[-1] == len(piece.text):
            return _Places(borders[:-1], borders[1:])
        if borders[-1] == len(piece.text.encode()) and tokenizer.vocab.normalized(piece.text) == piece.text:
            return _Places(borders[:-1], borders[1:], in_bytes=piece.text)
    if piece.plain and isinstance(tokenizer, LoadedTokenizer):
        offsets = tokenizer.vocab.plain.offsets(piece.text, first=not piece.start)
    else:
        offsets = tokenizer.vocab.offsets(piece.text)
    return _Places([start for start, _ in offsets], [end for _, end in offsets])
