"""Do what the functions `encode_bpe`, `encode_parts`, `keeps_bpe` and `fill_bpe` of the C extension do, in Python.

It is slow: tests compare the two.
"""

from __future__ import annotations

import heapq
import itertools
import re
import struct
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from renderers.core.spans import TokenMatch
from renderers.tokenizer.compiled.block import (
    ACCEPT,
    BY_CHARACTER,
    CHANGES,
    DROPS_GAPS,
    FIRST,
    IGNORES_MERGES,
    MARK,
    NO_ID,
    NO_RANK,
    PAGE,
    SECOND,
    STAGE,
    TORN_BOTH,
    TORN_LEFT,
    TORN_RIGHT,
    UNKNOWN,
    WRITES_SPACES,
    Buffer,
    read_sections,
    writable_sections,
)
from renderers.tokenizer.compiled.words import ID_SHIFT, PRODUCED, SLOT, find_slot, hash_long, key_of, mix
from renderers.tokenizer.encoding.piece_cache import PackedIds, pack_ids

_PAIR_BITS = 21
_RANK_BITS = 22
_EMPTY_PAIR = 2**64 - 1
_PARTIAL = 0x200000
_MARKS = struct.Struct("=4I")
"""A set of marks of pieces."""
_SAMPLE = 32
"""The bytes at each end of a piece by which it is recognized."""
_CHARACTER = re.compile(rb"(?s:(?:[^\x80-\xbf]|\A[\x80-\xbf])[\x80-\xbf]*)")


class Tables(NamedTuple):
    """The sections of a block, as numbers."""

    flags: int
    longest: int
    width: int
    torn: int
    starts: Sequence[int]
    texts: memoryview
    words: memoryview
    pairs: Sequence[int]
    results: Sequence[int]
    byte_ids: Sequence[int]
    joins: memoryview
    page_numbers: Sequence[int]
    pages: memoryview
    class_flags: memoryview
    orders: memoryview
    stages: Sequence[int]
    transitions: Sequence[int]

    @classmethod
    def of(cls, block: Buffer) -> Tables:
        """Read a block. `ValueError` if it is damaged."""
        sections = read_sections(block)
        flags, longest, width, torn = sections["settings"].cast("I")[:4]
        return cls(
            flags,
            longest,
            width,
            torn,
            sections["starts"].cast("I"),
            sections["bytes"],
            sections["words"],
            sections["pairs"].cast("Q"),
            sections["results"].cast("I"),
            sections["byte_ids"].cast("I"),
            sections["joins"],
            sections["index"].cast("H"),
            sections["pages"],
            sections["flags"],
            sections["orders"],
            sections["stages"].cast("I"),
            sections["transitions"].cast("I"),
        )

    def text_of(self, number: int) -> bytes:
        start, size = self.starts[2 * number], self.starts[2 * number + 1]
        return bytes(self.texts[start : start + size])

    def find_word(self, data: bytes) -> int:
        """Return the last number of the slot of a token, 0 if the bytes are not a token."""
        if len(data) > self.longest:
            return 0
        return find_slot(self.words, data, starts=self.starts, texts=self.texts)

    def find_rank(self, left: int, right: int) -> int:
        key = left << _PAIR_BITS | right
        place = mix(key)
        for tries in range(len(self.pairs)):
            entry = self.pairs[(place + tries) % len(self.pairs)]
            if entry >> _RANK_BITS == key:
                return entry & ((1 << _RANK_BITS) - 1)
            if entry == _EMPTY_PAIR:
                break
        return NO_RANK

    def join_bit(self, left: int, right: int) -> int:
        place = left << 7 | right if (left | right) < 0x80 else mix(left << 32 | right)
        return place % (8 * len(self.joins))

    def has_join(self, left: int, right: int) -> bool:
        bit = self.join_bit(left, right)
        return bool(self.joins[bit >> 3] >> (bit & 7) & 1)

    def class_of(self, character: str) -> int:
        code = ord(character)
        return self.pages[self.page_numbers[code // PAGE] * PAGE + code % PAGE]


def encode_in_python(block: Buffer, texts: list[str], _cache: bytearray, normalized: bool, /) -> list[PackedIds | None]:
    """Return what `encode_bpe` does. The cache is not used."""
    tables = Tables.of(block)
    return [_encode(tables, text, normalized) for text in texts]


def encode_parts_in_python(
    block: Buffer,
    _cache: bytearray,
    seen: bytearray,
    texts: tuple[str, ...],
    marks: tuple[list[TokenMatch], ...],
    added: Mapping[str, int],
    young: dict[str, PackedIds],
    old: dict[str, PackedIds],
    shortest: int,
    normalize: Callable[[str], str],
    /,
) -> tuple[tuple[tuple[PackedIds, bytes, bytes] | None, ...], dict[str, PackedIds]]:
    """Return what `encode_parts` does. The cache of words is not used."""
    tables, fresh = Tables.of(block), dict[str, PackedIds]()

    def encode_new(piece: str) -> PackedIds | None:
        ids = _encode(tables, piece, normalized=False)
        return _encode(tables, normalize(piece), normalized=True) if ids is None else ids

    def encode(piece: str) -> PackedIds | None:
        if len(piece) < max(shortest, 1) or not _was_seen(seen, piece.encode()):
            return encode_new(piece)
        own = young.get(piece)
        if own is None:
            own = old.get(piece, fresh.get(piece))
            own = encode_new(piece) if own is None else own
            if own is not None:
                fresh[piece] = own
        return own

    return tuple([_encode_parts(text, own, added, encode) for text, own in zip(texts, marks, strict=True)]), fresh


def _was_seen(seen: bytearray, data: bytes) -> bool:
    """Return True if a piece with this size and these ends was encoded before, or if no marks are kept. Mark it."""
    if len(seen) < _MARKS.size:
        return True
    value = hash_long(data)
    if len(data) > 2 * _SAMPLE:
        value = mix(hash_long(data[:_SAMPLE]) ^ mix(hash_long(data[-_SAMPLE:]) ^ len(data)))
    mark, place = value >> 32 | 1, (value & 0xFFFFFFFF) % (len(seen) // _MARKS.size) * _MARKS.size
    known = list(_MARKS.unpack_from(seen, place))
    is_known = mark in known
    del known[known.index(mark) if is_known else -1]
    _MARKS.pack_into(seen, place, mark, *known)
    return is_known


def _encode_parts(
    text: str, marks: list[TokenMatch], added: Mapping[str, int], encode: Callable[[str], PackedIds | None]
) -> tuple[PackedIds, bytes, bytes] | None:
    try:
        text.encode()
    except UnicodeEncodeError:
        return None
    ids, borders, ends, start = array("I"), array("q"), array("q"), 0
    for end, following, token in (*marks, TokenMatch(len(text), len(text), "")):
        own = encode(text[start:end])
        if own is None:
            return None
        ids.frombytes(own)
        borders.extend((start, end))
        ends.append(len(ids))
        if token:
            ids.append(added[token])
            ends.append(len(ids))
        start = following
    return ids.tobytes(), borders.tobytes(), ends.tobytes()


def keeps_in_python(block: Buffer, text: str, /) -> bool:
    """Return what `keeps_bpe` does."""
    text.encode()
    return _is_taken(Tables.of(block), text, normalized=False)


def _is_taken(tables: Tables, text: str, *, normalized: bool) -> bool:
    if not tables.stages:
        return True
    before = 0, 0
    for character in text:
        number = tables.class_of(character)
        flags, order = tables.class_flags[number], tables.orders[number]
        if not character.isascii() and flags & (UNKNOWN if normalized else UNKNOWN | CHANGES):
            return False
        if flags & (SECOND | MARK) and not normalized:
            if flags & SECOND and (before[0] & FIRST or before[1]):
                return False
            if order and before[1] > order:
                return False
        before = flags, order
    return True


def _encode(tables: Tables, text: str, normalized: bool) -> PackedIds | None:
    text.encode()
    if not _is_taken(tables, text, normalized=normalized):
        return None
    if tables.flags & WRITES_SPACES:
        text = text.replace("▁", " ")
    return pack_ids(itertools.chain.from_iterable(_encode_word(tables, word) for word in split_words(tables, text)))


def split_words(tables: Tables, text: str) -> Iterator[str]:
    """Return the words of a text."""
    return _split(tables, 0, text) if text else iter(())


def _split(tables: Tables, stage: int, text: str) -> Iterator[str]:
    """Yield the words of a text: the matches of all stages, and what is between them."""
    if STAGE * stage == len(tables.stages):
        yield text
        return
    start, flags, _ = tables.stages[STAGE * stage : STAGE * (stage + 1)]
    at = gap = 0
    while at < len(text):
        end = _match(tables, start, text, at)
        if end == at:
            at += 1
            continue
        if gap < at and not flags & DROPS_GAPS:
            yield from _split(tables, stage + 1, text[gap:at])
        yield from _split(tables, stage + 1, text[at:end])
        at = gap = end
    if gap < len(text) and not flags & DROPS_GAPS:
        yield from _split(tables, stage + 1, text[gap:])


def _match(tables: Tables, state: int, text: str, at: int) -> int:
    """Return the end of the match at a place of a text; the place itself if there is none."""
    last = at
    for place in range(at, len(text)):
        entry = tables.transitions[state + tables.class_of(text[place])]
        if entry & ACCEPT:
            last = place
        state = entry & ~ACCEPT
        if not state:
            return last
    return len(text) if tables.transitions[state + tables.width - 1] & ACCEPT else last


def _encode_word(tables: Tables, word: str) -> Iterator[int]:
    meta = tables.find_word(word.encode())
    if meta and (meta & PRODUCED or tables.flags & IGNORES_MERGES):
        yield meta >> ID_SHIFT
        return
    start = 0
    for at in range(1, len(word) + 1):
        if at == len(word) or not _may_join(tables, word[at - 1], word[at]):
            yield from merge(tables, word[start:at].encode())
            start = at


def _may_join(tables: Tables, left: str, right: str) -> bool:
    last, first = _PARTIAL | left.encode()[-1], _PARTIAL | right.encode()[0]
    return (
        tables.has_join(ord(left), ord(right))
        or bool(tables.torn & TORN_RIGHT and not right.isascii() and tables.has_join(ord(left), first))
        or bool(tables.torn & TORN_LEFT and not left.isascii() and tables.has_join(last, ord(right)))
        or bool(tables.torn & TORN_BOTH and not (left.isascii() or right.isascii()) and tables.has_join(last, first))
    )


def merge(tables: Tables, data: bytes) -> list[int]:
    """Return the ids that merges give for the bytes of a part of a word."""
    ids: list[int | None] = list(_first_ids(tables, data))
    after = [*range(1, len(ids)), -1]
    before = list(range(-1, len(ids) - 1))
    heap: list[tuple[int, int, int, int]] = []

    def add(left: int) -> None:
        right = after[left] if left >= 0 else -1
        if right >= 0:
            first, second = ids[left], ids[right]
            assert first is not None
            assert second is not None
            rank = tables.find_rank(first, second)
            if rank < len(tables.results):
                heapq.heappush(heap, (rank, left, first, second))

    for at in range(len(ids)):
        add(at)
    while heap:
        rank, left, first, second = heapq.heappop(heap)
        right = after[left]
        if ids[left] != first or right < 0 or ids[right] != second:
            continue
        ids[left], ids[right] = tables.results[rank], None
        after[left] = after[right]
        if after[left] >= 0:
            before[after[left]] = left
        add(left)
        add(before[left])
    return [number for number in ids if number is not None]


def _first_ids(tables: Tables, data: bytes) -> Iterator[int]:
    if not tables.flags & BY_CHARACTER:
        yield from (tables.byte_ids[byte] for byte in data)
        return
    for character in data.decode():
        encoded = character.encode()
        if meta := tables.find_word(encoded):
            yield meta >> ID_SHIFT
        else:
            yield from (tables.byte_ids[byte] for byte in encoded)


def fill_in_python(block: bytearray, merges: Sequence[int], model: bytes | bytearray, /) -> None:
    """Do what `fill_bpe` does."""
    sections = writable_sections(block)
    tables = Tables.of(block)
    pairs = sections["pairs"].cast("Q")
    pairs[:] = memoryview(b"\xff" * len(sections["pairs"])).cast("Q")
    for rank, (left, right) in enumerate(zip(merges[::2], merges[1::2], strict=True)):
        key = left << _PAIR_BITS | right
        place = mix(key) % len(pairs)
        # The last of equal pairs counts.
        while pairs[place] != _EMPTY_PAIR and pairs[place] >> _RANK_BITS != key:
            place = (place + 1) % len(pairs)
        pairs[place] = key << _RANK_BITS | rank
    if not tables.flags & BY_CHARACTER:
        ranks = sections["byte_ranks"].cast("I")
        for place, (left, right) in enumerate(itertools.product(tables.byte_ids[:256], repeat=2)):
            ranks[place] = NO_RANK if NO_ID in (left, right) else tables.find_rank(left, right)
    _fill_words(tables, sections["words"], model)
    _fill_joins(tables, sections, model)
    for place in range(0, len(sections["words"]), SLOT.size):
        low, high, meta = SLOT.unpack_from(sections["words"], place)
        if meta and merge(tables, tables.text_of(meta >> ID_SHIFT)) == [meta >> ID_SHIFT]:
            SLOT.pack_into(sections["words"], place, low, high, meta | PRODUCED)


def _fill_words(tables: Tables, words: memoryview, model: bytes | bytearray) -> None:
    slots = len(words) // SLOT.size
    words[:] = bytes(len(words))
    for number, own in enumerate(model):
        if not own or not tables.text_of(number):
            continue
        low, high, length, place = key_of(tables.text_of(number))
        while SLOT.unpack_from(words, place % slots * SLOT.size)[2]:
            place += 1
        SLOT.pack_into(words, place % slots * SLOT.size, low, high, number << ID_SHIFT | length)


def _fill_joins(tables: Tables, sections: dict[str, memoryview], model: bytes | bytearray) -> None:
    """Set the bits of the characters that are next to each other in a token, and the kinds of torn tokens."""
    torn = 0
    for number, own in enumerate(model):
        parts = _characters_in(tables.text_of(number)) if own else []
        for left, right in itertools.pairwise(parts):
            whole_left, whole_right = _is_whole(left), _is_whole(right)
            first = _code_of(left) if whole_left else _PARTIAL | left[-1]
            second = _code_of(right) if whole_right else _PARTIAL | right[0]
            bit = tables.join_bit(first, second)
            sections["joins"][bit >> 3] |= 1 << (bit & 7)
            if not (whole_left and whole_right):
                torn |= TORN_RIGHT if whole_left else TORN_LEFT if whole_right else TORN_BOTH
    sections["settings"].cast("I")[3] = torn


def _characters_in(data: bytes) -> list[bytes]:
    """Return the characters of a token. The first and the last may be torn."""
    return _CHARACTER.findall(data)


def _is_whole(character: bytes) -> bool:
    first = character[0]
    size = 1 if first < 0x80 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    return first & 0xC0 != 0x80 and len(character) == size


def _code_of(character: bytes) -> int:
    """Return the code point of a whole character, even if it is not valid UTF-8."""
    first, *rest = character
    code = first & (0x7F, 0x1F, 0x0F, 0x07)[len(rest)]
    for byte in rest:
        code = code << 6 | byte & 0x3F
    return code
