"""Encode a rendered text piece by piece, and map its labels to tokens."""

from __future__ import annotations

import bisect
import itertools
import re
from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from renderers.core.native import native
from renderers.core.spans import Channel, LabelledSpan, TokenMatch
from renderers.core.tokens import TokenRun
from renderers.tokenizer.encoding.locate import EncodedText, call_native, locate, locate_in_python
from renderers.tokenizer.encoding.piece_cache import PackedIds
from renderers.tokenizer.encoding.plain import PlainEncoder
from renderers.tokenizer.engines.native import EncodedParts
from renderers.tokenizer.foreign import ForeignTokenizer
from renderers.tokenizer.tokenizer import LoadedTokenizer

AnyTokenizer = LoadedTokenizer | ForeignTokenizer

# Python counts four more characters as spaces than the Rust library.
_SPACES = "".join(filter(str.isspace, map(chr, range(0x3001)))).translate(dict.fromkeys(range(0x1C, 0x20)))
_AFTER = re.compile(f"[{re.escape(_SPACES)}]*")


class Cuts(NamedTuple):
    """Matches that are one token each. With `plain`, no special tokens are matched between them."""

    marks: list[TokenMatch]
    plain: PlainEncoder | None = None


def cut_at_isolating_tokens(tokenizer: AnyTokenizer, marks: list[TokenMatch]) -> Cuts:
    """Return the cuts that leave the ids of the text unchanged: those of its reserved tokens that isolate."""
    vocab = tokenizer.vocab
    if vocab.isolates_reserved:
        return Cuts(marks)
    isolating = vocab.isolating_texts
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


def encode_texts(tokenizer: LoadedTokenizer, texts: Sequence[tuple[str, Cuts]]) -> list[EncodedText | None]:
    """Encode rendered texts, adding no special tokens. A text with a lone surrogate is None.

    The engine in C encodes all texts in one call. The pieces of those that it does not take are encoded in another,
    with `Cuts.plain` if they have one.
    """
    encoded = _encode_at_once(tokenizer, texts)
    left = [at for at, own in enumerate(encoded) if own is None and _has_utf8_form(texts[at][0])]
    if left:
        for at, own in zip(left, _encode_in_pieces(tokenizer, [texts[at] for at in left]), strict=True):
            encoded[at] = own
    return encoded


def encode_text(tokenizer: AnyTokenizer, text: str, cuts: Cuts) -> EncodedText:
    """Encode a rendered text, adding no special tokens. Raise `UnencodableTextError` if it has a lone surrogate."""
    (encoded,) = _encode_at_once(tokenizer, [(text, cuts)])
    return encoded or _encode_in_pieces(tokenizer, [(text, cuts)])[0]


def _has_utf8_form(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _encode_at_once(tokenizer: AnyTokenizer, texts: Sequence[tuple[str, Cuts]]) -> list[EncodedText | None]:
    """Encode texts with their special tokens. A text for which that is not possible is None."""
    marks = tuple([cuts.marks for _, cuts in texts if cuts.plain is None])
    if len(marks) < len(texts) or not isinstance(tokenizer, LoadedTokenizer):
        return [None] * len(texts)
    rows = tokenizer.vocab.encode_parts(tuple([text for text, _ in texts]), marks)
    return [parts and _unpack(text, parts) for (text, _), parts in zip(texts, rows, strict=True)]


def _unpack(text: str, parts: EncodedParts) -> EncodedText:
    ids, borders, ends = parts
    return EncodedText(text, array("I", ids), array("q", borders), array("q", ends), None)


class _Pieces(NamedTuple):
    """Texts to encode in one call, and the indices of those at the start of their whole text."""

    texts: list[str]
    first: set[int]


def _encode_in_pieces(tokenizer: AnyTokenizer, texts: Sequence[tuple[str, Cuts]]) -> list[EncodedText]:
    """Encode texts with one call for the vocabulary, and one for each encoder of plain text."""
    vocab = tokenizer.vocab
    split = [(text, *cuts, *split_text(text, cuts.marks)) for text, cuts in texts]
    pieces: dict[PlainEncoder | None, _Pieces] = {}
    places: list[int] = []
    for _, marks, plain, _, between in split:
        own = pieces.setdefault(plain, _Pieces([], set()))
        place = len(own.texts)
        if between and (not marks or marks[0].start > 0):
            own.first.add(place)
        own.texts.extend(between)
        places.append(place)
    encoded = {
        plain: plain.encode(own.texts, first=own.first) if plain else vocab.encode_pieces(own.texts)
        for plain, own in pieces.items()
    }
    joined = []
    for (text, marks, plain, borders, _), place in zip(split, places, strict=True):
        ids, ends = join_pieces(encoded[plain], place, borders, marks, vocab.added_tokens)
        joined.append(EncodedText(text, array("I", ids), array("q", borders), array("q", ends), plain))
    return joined


def split_in_python(text: str, marks: list[TokenMatch], /) -> tuple[bytes, list[str]]:
    """Return the borders of the parts of a text as signed integers of 64 bits, and the texts between the matches.

    Texts without characters are left out. The matches must be in order and within the text.
    """
    borders = array("q", [0])
    for start, end, _ in marks:
        borders.extend((start, end))
    borders.append(len(text))
    between = [text[start:end] for start, end in zip(borders[::2], borders[1::2], strict=True) if start < end]
    return borders.tobytes(), between


def join_in_python(
    pieces: list[PackedIds], first: int, borders: bytes, marks: list[TokenMatch], added_tokens: Mapping[str, int], /
) -> tuple[PackedIds, bytes]:
    """Return the ids of a text, and the number of ids up to the end of each part as signed integers of 64 bits.

    `pieces` from `first` on are the ids of the texts between the matches. Those without characters have none.
    """
    places = memoryview(borders).cast("q")
    own = itertools.islice(pieces, first, None)
    ids, ends = array("I"), array("q")
    for at, (start, end) in enumerate(zip(places[::2], places[1::2], strict=True)):
        if at:
            ids.append(added_tokens[marks[at - 1].text])
            ends.append(len(ids))
        ids.frombytes(next(own) if start < end else b"")
        ends.append(len(ids))
    return ids.tobytes(), ends.tobytes()


split_text, join_pieces = (
    (split_in_python, join_in_python) if native is None else (native.split_text, native.join_pieces)
)


Runs = tuple[tuple[TokenRun, ...], tuple[int, ...]]
"""Runs of tokens, and the indices of tokens across a border of sampled text."""


def attribute(tokenizer: AnyTokenizer, encoded: EncodedText, labels: Sequence[LabelledSpan]) -> Runs:
    """Return the labels of the tokens of a text as runs, and the indices of tokens across a border of sampled text.

    A token that is partly sampled gets the label of its first sampled character. Any other token across a border gets
    the label of its first character.

    Raises:
        UnalignedError: The offsets of a caller's tokenizer cannot be determined.
    """
    runs: Runs | None = call_native("attribute", tokenizer.vocab, encoded, tuple(labels), TokenRun)
    return attribute_in_python(tokenizer, encoded, labels) if runs is None else runs


def attribute_in_python(tokenizer: AnyTokenizer, encoded: EncodedText, labels: Sequence[LabelledSpan]) -> Runs:
    """Return the same as `attribute`, for any tokenizer."""
    places: list[int] = []
    kinds: list[tuple[int, Channel, bool, bool]] = []
    for start, end, message, _, channel, sampled, content in labels:
        kind = message, channel, sampled, content
        if places and kinds[-1] == kind:
            places[-1] = end
        elif start < end:
            places.append(end)
            kinds.append(kind)
    firsts, stops = locate_in_python(tokenizer.vocab, encoded, places)
    straddling: set[int] = set()
    for at, (first, stop) in enumerate(zip(firsts, stops, strict=True)):
        if first < stop and kinds[at][2] != kinds[at + 1][2]:
            straddling.update(range(first, stop))
    _claim_sampled([kind[2] for kind in kinds], firsts, stops)
    runs: list[TokenRun] = []
    before, last = 0, None
    for kind, stop in zip(kinds, stops, strict=True):
        if stop <= before:
            continue
        if kind == last:
            # There was a label without a token between two equal ones.
            runs.pop()
        runs.append(TokenRun._make((stop, *kind)))
        before, last = stop, kind
    return tuple(runs), tuple(sorted(straddling))


def _claim_sampled(sampled: Sequence[bool], firsts: Sequence[int], stops: list[int]) -> None:
    """Move the end of text before sampled text to the first token that is partly sampled."""
    claimed = None
    for at in range(len(sampled) - 2, -1, -1):
        if sampled[at]:
            claimed = None
        elif sampled[at + 1]:
            claimed = firsts[at]
        stops[at] = stops[at] if claimed is None else min(stops[at], claimed)


def locate_marks(tokenizer: AnyTokenizer, encoded: EncodedText, marks: Sequence[TokenMatch]) -> list[tuple[int, int]]:
    """Return the first token of each match, and the token after its last. The matches must be in order."""
    places: list[int] = []
    for mark in marks:
        part_end = encoded.borders[bisect.bisect_right(encoded.borders, mark.start)]
        # A match that goes on in text of the template ends with its part.
        places += (mark.start, min(mark.end, part_end))
    firsts, stops = locate(tokenizer.vocab, encoded, places)
    return list(zip(firsts[::2], stops[1::2], strict=True))
