"""Text to token ids, piece by piece, and which token each character is in."""

from __future__ import annotations

import bisect
import functools
import itertools
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from renderers.core.spans import Channel, LabelledSpan, TokenMatch
from renderers.core.tokens import TokenRun
from renderers.tokenizer.adopt import ForeignTokenizer
from renderers.tokenizer.loaded import LoadedTokenizer

__all__ = ["Cuts", "EncodedRuns", "cut_at_own", "cut_at_walls", "encode_labelled", "encode_text", "locate_marks"]

AnyTokenizer = LoadedTokenizer | ForeignTokenizer

_NEAR = 48
"""How many characters from an end of a piece are near it."""


class Cuts(NamedTuple):
    """Marks that are one token each, and whether what lies between them is ordinary text, whatever it looks like."""

    marks: list[TokenMatch]
    plain: bool


def cut_at_walls(tokenizer: AnyTokenizer, marks: Iterable[TokenMatch]) -> Cuts:
    """Returns the cuts with which the ids are those of the whole text: at hard walls, where there are any."""
    walls: frozenset[str] = frozenset() if isinstance(tokenizer, ForeignTokenizer) else tokenizer.wall_texts
    return Cuts([mark for mark in marks if mark.text in walls], plain=False)


def cut_at_own(tokenizer: LoadedTokenizer, text: str, own: Iterable[TokenMatch]) -> Cuts:
    """Returns the cuts with which no marks but the given ones become tokens of their own."""
    return Cuts(list(_with_spaces(tokenizer, text, own)), plain=True)


def encode_text(tokenizer: AnyTokenizer, text: str, cuts: Cuts) -> list[int]:
    """Returns the ids of a rendered text, which has all its control tokens already: nothing is added.

    What lies between the cuts is encoded as pieces, all in one call that other threads can run beside.

    >>> from renderers import EMBEDDED, load_tokenizer
    >>> tokenizer, text = load_tokenizer(EMBEDDED), "<|turn|>user"
    >>> cuts = cut_at_walls(tokenizer, [TokenMatch(0, 8, "<|turn|>")])
    >>> encode_text(tokenizer, text, cuts) == tokenizer.encode(text, add_special_tokens=False)
    True
    """
    ids: list[int] = []
    for piece in _pieces(tokenizer, text, cuts):
        ids += piece.ids
    return ids


class EncodedRuns(NamedTuple):
    """Ids, their attribution as runs, and the numbers of tokens that are on both sides of a sampled border."""

    ids: array[int]
    runs: tuple[TokenRun, ...]
    straddling: tuple[int, ...]


def encode_labelled(tokenizer: AnyTokenizer, text: str, cuts: Cuts, labels: Sequence[LabelledSpan]) -> EncodedRuns:
    """Returns the ids of a rendered text, and its labels as runs of tokens.

    A token that straddles a border belongs to the side of its first character.

    Raises:
        UnalignedError: A caller's own tokenizer does not say where its tokens are in the text.
    """
    ids = array("I")
    runs: list[TokenRun] = []
    straddling: set[int] = set()
    pieces = _pieces(tokenizer, text, cuts)
    piece, places = _Piece(0, "", (), plain=False), None
    begun = piece_end = 0
    merged = _merged(labels)
    for at, (label_end, kind) in enumerate(merged):
        while piece_end < label_end:
            piece, places = next(pieces), None
            begun, piece_end = len(ids), piece.start + len(piece.text)
            ids.extend(piece.ids)
        end = len(ids)
        if label_end < piece_end:
            border = label_end - piece.start
            near = _near_an_end(tokenizer, piece, border) if places is None else None
            if near is None:
                places = places or _places(tokenizer, piece)
                near = places.before(border), list(places.across(border))
            end = begun + near[0]
            if kind.sampled != merged[at + 1][1].sampled:
                straddling.update(begun + token for token in near[1])
        _add(runs, end, kind)
    return EncodedRuns(ids, tuple(runs), tuple(sorted(straddling)))


class _Kind(NamedTuple):
    """What tokens of a run have in common."""

    message: int
    channel: Channel
    sampled: bool
    content: bool


def _merged(labels: Iterable[LabelledSpan]) -> list[tuple[int, _Kind]]:
    """Returns where labels end, and what they say; those that follow each other and say the same are one."""
    merged: list[tuple[int, _Kind]] = []
    for start, end, message, _, channel, sampled, content in labels:
        if start < end:
            kind = _Kind(message, channel, sampled, content)
            if merged and merged[-1][1] == kind:
                merged.pop()
            merged.append((end, kind))
    return merged


def locate_marks(tokenizer: AnyTokenizer, text: str, cuts: Cuts, marks: Sequence[TokenMatch]) -> list[tuple[int, int]]:
    """Returns for each of some marks, which are in order, the token that it begins in, and the one after its last."""
    found: list[tuple[int, int]] = []
    begun = 0
    for piece in _pieces(tokenizer, text, cuts):
        piece_end = piece.start + len(piece.text)
        places: _Places | None = None
        while len(found) < len(marks) and marks[len(found)].start < piece_end:
            mark = marks[len(found)]
            places = places or _places(tokenizer, piece)
            # One that the template goes on with ends with its piece.
            end = places.before(min(mark.end, piece_end) - piece.start)
            found.append((begun + places.within(mark.start - piece.start), begun + end))
        begun += len(piece.ids)
    return found


class _Places(NamedTuple):
    """Where each token of a piece begins and ends: its bytes, or its characters."""

    ends: list[int]
    starts: list[int] | None = None
    """None where each token begins where the one before it ends."""
    in_bytes: str | None = None
    """The text where places are bytes and it has characters of several."""

    def before(self, at: int) -> int:
        """Returns how many tokens begin before a character that is not the first."""
        place = self._place(at)
        return (
            bisect.bisect_left(self.ends, place) + 1 if self.starts is None else bisect.bisect_left(self.starts, place)
        )

    def within(self, at: int) -> int:
        """Returns the number of the token that a character begins in."""
        place = self._place(at)
        return (
            bisect.bisect_right(self.ends, place)
            if self.starts is None
            else bisect.bisect_right(self.starts, place) - 1
        )

    def across(self, at: int) -> Iterator[int]:
        """Yields the tokens that begin before a character and end after it."""
        for number in reversed(range(self.before(at))):
            if self.ends[number] <= self._place(at):
                return
            yield number

    def _place(self, at: int) -> int:
        return at if self.in_bytes is None else len(self.in_bytes[:at].encode())


def _near_an_end(tokenizer: AnyTokenizer, piece: _Piece, at: int) -> tuple[int, list[int]] | None:
    """Returns how many tokens begin before a character, and which of them end after it; None where that is not near.

    Most borders are: the end of a header, and what closes a turn. There only a few tokens have to be looked at.
    """
    if not (isinstance(tokenizer, LoadedTokenizer) and tokenizer.sizes_hold and piece.text.isascii()):
        return None
    sizes = tokenizer.token_sizes
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
    """A part of a text that is encoded for itself."""

    start: int
    text: str
    ids: Sequence[int]
    plain: bool


def _pieces(tokenizer: AnyTokenizer, text: str, cuts: Cuts) -> Iterator[_Piece]:
    """Yields all parts of a text with their ids: marks, and what lies between them."""
    if isinstance(tokenizer, ForeignTokenizer) or (not cuts.plain and not tokenizer.wall_ids):
        yield _Piece(0, text, tokenizer.encode(text, add_special_tokens=False), plain=False)
        return
    borders = [0, *itertools.chain.from_iterable(mark[:2] for mark in cuts.marks), len(text)]
    # Marks are at the odd places.
    parts = [text[start:end] for start, end in itertools.pairwise(borders)]
    between = [part for part in parts[::2] if part]
    encode = functools.partial(tokenizer.plain.encode, first=bool(parts[0])) if cuts.plain else tokenizer.encode_pieces
    encoded = iter(encode(between))
    for at, part in enumerate(parts):
        if at % 2:
            yield _Piece(borders[at], part, [tokenizer.added_tokens[cuts.marks[at // 2].text]], plain=False)
        elif part:
            yield _Piece(borders[at], part, next(encoded), plain=cuts.plain)


def _with_spaces(tokenizer: LoadedTokenizer, text: str, marks: Iterable[TokenMatch]) -> Iterator[TokenMatch]:
    """Yields marks with the spaces around them that their tokens take in."""
    before = 0
    for mark in marks:
        left, right = tokenizer.stripping.get(mark.text, (False, False))
        start = _spaces_before(text, before, mark.start) if left else mark.start
        end = _spaces_after(text, mark.end) if right else mark.end
        yield TokenMatch(start, end, mark.text)
        before = end


def _spaces_before(text: str, least: int, at: int) -> int:
    while at > least and _is_space(text[at - 1]):
        at -= 1
    return at


def _spaces_after(text: str, at: int) -> int:
    while at < len(text) and _is_space(text[at]):
        at += 1
    return at


def _is_space(character: str) -> bool:
    # Python has four more than the Rust library.
    return character.isspace() and character not in "\x1c\x1d\x1e\x1f"


def _add(runs: list[TokenRun], end: int, kind: _Kind) -> None:
    """Appends a run, or lengthens the last one where that is the same; one without tokens is left out."""
    if end == (runs[-1].end if runs else 0):
        return
    if runs and runs[-1][1:] == kind:
        runs.pop()
    runs.append(TokenRun(end, *kind))


def _places(tokenizer: AnyTokenizer, piece: _Piece) -> _Places:
    if isinstance(tokenizer, LoadedTokenizer) and tokenizer.byte_level:
        ends = list(itertools.accumulate(map(tokenizer.token_sizes.__getitem__, piece.ids)))
        # Where a normaliser has changed the text, its tokens are not its bytes.
        if piece.text.isascii() and ends[-1] == len(piece.text):
            return _Places(ends)
        if ends[-1] == len(piece.text.encode()) and tokenizer.normalized(piece.text) == piece.text:
            return _Places(ends, in_bytes=piece.text)
    if piece.plain and isinstance(tokenizer, LoadedTokenizer):
        offsets = tokenizer.plain.offsets(piece.text, first=not piece.start)
    else:
        offsets = tokenizer.offsets(piece.text)
    return _Places([end for _, end in offsets], [start for start, _ in offsets])
