"""Text to token ids, piece by piece, and which token each character is in."""

from __future__ import annotations

import bisect
import functools
import itertools
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from renderers.rendered import TokenRun
from renderers.spans import Labelled
from renderers.tokenizer.adopt import ForeignTokenizer
from renderers.tokenizer.loaded import LoadedTokenizer

__all__ = ["EncodedRuns", "encode_labelled", "encode_text"]

AnyTokenizer = LoadedTokenizer | ForeignTokenizer


def encode_text(tokenizer: AnyTokenizer, text: str) -> list[int]:
    """Returns the ids of a rendered text, which has all its control tokens already: nothing is added.

    Where the tokenizer has hard walls, what lies between them is encoded as pieces, all in one call that
    other threads can run beside. Else the whole text is encoded at once. The ids are the same.

    >>> from renderers import EMBEDDED, load_tokenizer
    >>> tokenizer = load_tokenizer(EMBEDDED)
    >>> encode_text(tokenizer, "<|turn|>user") == tokenizer.encode("<|turn|>user", add_special_tokens=False)
    True
    """
    ids: list[int] = []
    for piece in _pieces(tokenizer, text):
        ids += piece.ids
    return ids


class EncodedRuns(NamedTuple):
    """Ids, their attribution as runs, and the numbers of tokens that are on both sides of a sampled border."""

    ids: array[int]
    runs: tuple[TokenRun, ...]
    straddling: tuple[int, ...]


def encode_labelled(tokenizer: AnyTokenizer, text: str, labels: Sequence[Labelled]) -> EncodedRuns:
    """Returns the ids of a rendered text, and its labels as runs of tokens.

    A token that straddles a border belongs to the side of its first character.

    Raises:
        TypeError: The tokenizer cannot say where its tokens are in a text.
    """
    labels = [label for label in labels if label.start < label.end]
    ids = array("I")
    runs: list[TokenRun] = []
    straddling: set[int] = set()
    at = 0
    for piece in _pieces(tokenizer, text):
        begun, piece_end = len(ids), piece.start + len(piece.text)
        ids.extend(piece.ids)
        places: _Places | None = None
        while at < len(labels):
            label = labels[at]
            end = len(ids)
            if label.end < piece_end:
                places = places or _places(tokenizer, piece)
                end = begun + places.before(label.end - piece.start)
                if label.sampled != labels[at + 1].sampled:
                    straddling.update(begun + token for token in places.across(label.end - piece.start))
            _add(runs, TokenRun(end, label.message, label.channel, label.sampled, label.content))
            if label.end > piece_end:
                break
            at += 1
            if label.end == piece_end:
                break
    return EncodedRuns(ids, tuple(runs), tuple(sorted(straddling)))


class _Places(NamedTuple):
    """Where each token of a piece begins and ends: its bytes, or its characters."""

    starts: list[int]
    ends: list[int]
    in_bytes: str | None
    """The text where places are bytes and it has characters of several."""

    def before(self, at: int) -> int:
        """Returns how many tokens begin before a character."""
        return bisect.bisect_left(self.starts, self._place(at))

    def across(self, at: int) -> Iterator[int]:
        """Yields the tokens that begin before a character and end after it."""
        for number in reversed(range(self.before(at))):
            if self.ends[number] <= self._place(at):
                return
            yield number

    def _place(self, at: int) -> int:
        return at if self.in_bytes is None else len(self.in_bytes[:at].encode())


class _Piece(NamedTuple):
    """A part of a text that is encoded for itself."""

    start: int
    text: str
    ids: Sequence[int]


def _pieces(tokenizer: AnyTokenizer, text: str) -> Iterator[_Piece]:
    """Yields all parts of a text with their ids: walls, and what lies between them."""
    if isinstance(tokenizer, ForeignTokenizer) or not tokenizer.wall_ids:
        yield _Piece(0, text, tokenizer.encode(text, add_special_tokens=False))
        return
    # Texts of walls are at the odd places.
    parts = _pattern(tokenizer.wall_texts).split(text)
    encoded = iter(tokenizer.encode_pieces([piece for piece in parts[::2] if piece]))
    start = 0
    for at, part in enumerate(parts):
        if part:
            yield _Piece(start, part, [tokenizer.added_tokens[part]] if at % 2 else next(encoded))
        start += len(part)


def _add(runs: list[TokenRun], run: TokenRun) -> None:
    """Appends a run, or lengthens the last one where that is the same; one without tokens is left out."""
    last = runs[-1] if runs else None
    if run.end == (last.end if last is not None else 0):
        return
    if last is not None and last[1:] == run[1:]:
        runs[-1] = run
    else:
        runs.append(run)


def _places(tokenizer: AnyTokenizer, piece: _Piece) -> _Places:
    if isinstance(tokenizer, LoadedTokenizer) and tokenizer.byte_level:
        ends = list(itertools.accumulate(map(tokenizer.token_sizes.__getitem__, piece.ids)))
        # Where a normaliser has changed the text, its tokens are not its bytes.
        if piece.text.isascii() and ends[-1] == len(piece.text):
            return _Places([0, *ends[:-1]], ends, None)
        if ends[-1] == len(piece.text.encode()) and tokenizer.normalized(piece.text) == piece.text:
            return _Places([0, *ends[:-1]], ends, piece.text)
    offsets = tokenizer.offsets(piece.text)
    return _Places([start for start, _ in offsets], [end for _, end in offsets], None)


@functools.lru_cache(maxsize=32)
def _pattern(texts: frozenset[str]) -> re.Pattern[str]:
    """Returns a pattern that finds any of the texts, the longest one where several begin at the same place."""
    return re.compile(f"({_alternatives(texts)})")


def _alternatives(texts: Iterable[str]) -> str:
    """Writes texts as a tree of their beginnings: a flat list of thousands would be tried one by one."""
    branches: dict[str, list[str]] = {}
    ends = False
    for text in texts:
        if text:
            branches.setdefault(text[0], []).append(text[1:])
        else:
            ends = True
    written = [re.escape(first) + _alternatives(rests) for first, rests in sorted(branches.items())]
    if not written:
        return ""
    if len(written) == 1 and not ends:
        return written[0]
    return f"(?:{'|'.join(written)})" + ("?" if ends else "")
