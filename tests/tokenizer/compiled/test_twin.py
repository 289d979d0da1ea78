"""The functions in C do what those in Python do, and survive damaged blocks."""

from __future__ import annotations

import functools
import gc
import itertools
import random
import struct
import unicodedata
from collections.abc import Callable
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from renderers import EMBEDDED, load_tokenizer
from renderers.core.native import COMPILED, native
from renderers.core.spans import TokenMatch
from renderers.tokenizer.compiled.block import SECTIONS, writable_sections
from renderers.tokenizer.compiled.compile import compile_vocabulary
from renderers.tokenizer.compiled.model import read_model
from renderers.tokenizer.compiled.twin import (
    encode_in_python,
    encode_parts_in_python,
    fill_in_python,
    keeps_in_python,
)
from renderers.tokenizer.encoding.byte_text import BYTE_SYMBOLS
from renderers.tokenizer.encoding.piece_cache import unpack_ids
from renderers.tokenizer.engines.huggingface import encode_batch
from renderers.tokenizer.engines.proof import probe_texts
from tests.support.corpus import nasty_texts

pytestmark = pytest.mark.skipif(not COMPILED, reason="the C extension was not built")
TEXTS = [
    "Hello, world! It's xyzzy_qwerty\n\n",
    "日本語 中文字 🙂👩\u200d👧 e\u0301",
    "a" * 300,
    "Ünïcödé " * 9,
    "",
    "\U0010ffff",
    "def f(x):\n    return 'it''s'  12345\n" * 40,
]


@functools.cache
def block_of(name: str) -> bytes:
    vocab = load_tokenizer(name).vocab
    return compile_vocabulary(vocab.backend, isolated=vocab.isolated_texts)


def example() -> bytes:
    return block_of(str(EMBEDDED))


def test_tables_are_filled_alike() -> None:
    backend = load_tokenizer(EMBEDDED).vocab.backend
    assert refilled(backend, example(), byte_level=True) == example()


def refilled(backend: Tokenizer, block: bytes, *, byte_level: bool) -> bytearray:
    model = read_model(backend, byte_level=byte_level)
    copy = bytearray(block)
    sections = writable_sections(copy)
    for name in ("words", "pairs", "joins", "byte_ranks"):
        sections[name][:] = bytes(len(sections[name]))
    fill_in_python(copy, model.merges, model.in_model)
    return copy


def random_tokenizer(seed: int, *, byte_level: bool) -> Tokenizer:
    """Return a tokenizer with random merges of what is next to each other in texts, across borders of characters."""
    chance = random.Random(seed)
    symbols = BYTE_SYMBOLS if byte_level else [f"<0x{byte:02X}>" for byte in range(256)]
    vocabulary = {symbol: number for number, symbol in enumerate(symbols)}
    lines = [text.replace(" ", "▁") for text in TEXTS]
    rows = [[BYTE_SYMBOLS[byte] for byte in text.encode()] for text in TEXTS] if byte_level else list(map(list, lines))
    for character in {character for row in rows for character in row} - vocabulary.keys():
        vocabulary[character] = len(vocabulary)
    merges: list[tuple[str, str]] = []
    for _ in range(200):
        row = chance.choice([row for row in rows if len(row) > 1])
        at = chance.randrange(len(row) - 1)
        merges.append((row[at], row[at + 1]))
        row[at : at + 2] = ["".join(merges[-1])]
        vocabulary.setdefault(row[at], len(vocabulary))
    ignores = byte_level and bool(seed % 2)
    backend = Tokenizer(models.BPE(vocabulary, merges, byte_fallback=not byte_level, ignore_merges=ignores))
    if byte_level:
        backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=seed % 3 != 0)
    else:
        backend.normalizer = normalizers.Replace(" ", "▁")
    return backend


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("byte_level", [True, False])
def test_random_vocabularies_are_filled_and_encoded_alike(seed: int, byte_level: bool) -> None:
    backend = random_tokenizer(seed, byte_level=byte_level)
    block = compile_vocabulary(backend, isolated=frozenset())
    assert refilled(backend, block, byte_level=byte_level) == block
    texts = [text for text in TEXTS if "\U0010ffff" not in text]
    own = native.encode_bpe(block, texts, bytearray(2**12), True)
    assert own == encode_in_python(block, texts, bytearray(), True)
    assert [list(unpack_ids(ids)) for ids in own if ids is not None] == encode_batch(backend, texts)


@pytest.mark.parametrize("name", ["google/gemma-4-31B-it", "deepseek-ai/DeepSeek-V3"])
def test_real_vocabularies_encode_alike(name: str, hub: object) -> None:
    texts = [text[:3_000] for text in (*nasty_texts(code_files=2, random_texts=40), *probe_texts(words=[])[::7])]
    for normalized in (True, False):
        own = native.encode_bpe(block_of(name), texts, bytearray(2**16), normalized)
        assert own == encode_in_python(block_of(name), texts, bytearray(), normalized)


MARKS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 3), st.sampled_from(["<a>", "<b>"])), max_size=5)
ADDED = {"<a>": 7, "<b>": 2**32 - 1}


@pytest.mark.parametrize("kind", ["bytes", "characters", "composing"])
def test_the_parts_of_a_text_are_encoded_alike(kind: str) -> None:
    if kind == "composing":
        block = composing_block()
    elif kind == "bytes":
        block = example()
    else:
        block = compile_vocabulary(random_tokenizer(0, byte_level=False), isolated=frozenset())
    cache, normalize = bytearray(2**16), normalizers.NFC().normalize_str

    @settings(deadline=None)
    @given(
        st.lists(st.tuples(st.text("aé中▁🙂\u0301\u0378 <\ud800", max_size=60), MARKS), max_size=3),
        st.integers(0, 8),
        st.lists(st.sampled_from([0, 1, 2])),
        st.sampled_from([0, 15, 16, 60, 400]),
    )
    def check(cut: list[tuple[str, list[tuple[int, int, str]]]], shortest: int, kept: list[int], size: int) -> None:
        texts, marks = tuple(text for text, _ in cut), tuple(marks_in(*pair) for pair in cut)
        young: dict[str, bytes] = {}
        old: dict[str, bytes] = {}
        seen, own_seen = bytearray(size), bytearray(size)
        for _ in range(2):
            arguments = (texts, marks, ADDED, young, old, shortest, normalize)
            found = native.encode_parts(block, cache, seen, *arguments)
            assert found == encode_parts_in_python(block, cache, own_seen, *arguments)
            assert seen == own_seen
            # In the second round, some pieces are known, with ids that only the dicts have.
            for place, piece in zip(kept, found[1], strict=False):
                [young, old, {}][place][piece] = bytes([place, 0, 0, 0] * 2)

    check()


@pytest.mark.parametrize("encode_parts", [native and native.encode_parts, encode_parts_in_python])
def test_pieces_of_one_set_that_come_in_turn_are_all_found(encode_parts: Callable[..., Any]) -> None:
    def found(seen: bytearray, *pieces: str) -> list[bool]:
        block, cache = example(), bytearray()
        return [bool(encode_parts(block, cache, seen, (piece,), ([],), {}, {}, {}, 0, str)[1]) for piece in pieces]

    def place_of(piece: str) -> int:
        seen = bytearray(512)
        found(seen, piece)
        return next(at for at, byte in enumerate(seen) if byte) // 4

    texts = [f"The system prompt {number} of several conversations." for number in range(1_500)]
    one, two, three, four, five = [text for text in texts if place_of(text) == place_of(texts[0])][:5]
    assert found(bytearray(512), *[one, two] * 2) == [False, False, True, True]
    seen = bytearray(512)
    assert found(seen, *[one, two, three, four] * 2) == [False] * 4 + [True] * 4
    # The mark of the piece that did not come for the longest time makes room.
    assert found(seen, one, five, one, three, four, two) == [True, False, True, True, True, False]
    assert found(bytearray(512), *[one, two, three, four, five] * 2) == [False] * 10


@pytest.mark.parametrize("places", list(itertools.product([0, 1], repeat=4)))
def test_any_marks_will_do(places: tuple[int, ...]) -> None:
    def arguments(seen: bytearray) -> Any:
        return example(), bytearray(), seen, ("a piece",), ([],), {}, {}, {}, 0, str

    mark = bytearray(16)
    native.encode_parts(*arguments(mark))
    seen = bytearray().join(mark[:4] if is_own else b"else" for is_own in places)
    own_seen = bytearray(seen)
    assert native.encode_parts(*arguments(seen)) == encode_parts_in_python(*arguments(own_seen))
    assert seen == own_seen


def marks_in(text: str, rows: list[tuple[int, int, str]]) -> list[TokenMatch]:
    """Return matches in a text, from the gap before each, its size and its token."""
    marks: list[TokenMatch] = []
    for gap, size, token in rows:
        start = gap + (marks[-1].end if marks else 0)
        marks += [TokenMatch(start, start + size, token)] if start + size <= len(text) else []
    return marks


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("block", b"", ValueError),
        ("seen", b"abcd", TypeError),
        ("texts", (b"",), TypeError),
        ("texts", ["abcd"], TypeError),
        ("texts", (), ValueError),
        ("marks", ((),), TypeError),
        ("marks", ([], []), ValueError),
        ("marks", ((1, 2, "<a>"),), TypeError),
        ("marks", ([(2, 1, "<a>")],), ValueError),
        ("marks", ([(0, 10, "<a>")],), ValueError),
        ("marks", ([(-1, 0, "<a>")],), ValueError),
        ("marks", ([(1, 2, "<a>"), (0, 1, "<a>")],), ValueError),
        ("marks", ([(0, 1)],), ValueError),
        ("marks", ([(0, 2**70, "<a>")],), ValueError),
        ("marks", ([(0, 1, "<c>")],), KeyError),
        ("added", {"<a>": 2**32}, OverflowError),
        ("added", {"<a>": "7"}, TypeError),
        ("young", {"bcde\u0301": "ids"}, TypeError),
        ("old", {"bcde\u0301": b"123"}, TypeError),
        ("old", [], TypeError),
        ("shortest", 2**70, OverflowError),
        ("normalize", None, TypeError),
        ("normalize", str.encode, TypeError),
        ("normalize", lambda _: "\ud800", UnicodeEncodeError),
    ],
)
def test_parts_that_do_not_fit_are_refused(name: str, value: object, error: type[Exception]) -> None:
    arguments: dict[str, object] = {
        "block": composing_block(),
        "cache": bytearray(),
        "seen": bytearray(),
        "texts": ("abcde\u0301",),
        "marks": ([(0, 1, "<a>")],),
        "added": ADDED,
        "young": {},
        "old": {},
        "shortest": 0,
        "normalize": str,
    }
    encode: Any = native.encode_parts
    assert encode(*arguments.values()) is not None
    with pytest.raises(error):
        encode(*{**arguments, name: value}.values())


def test_other_threads_do_not_find_results_that_are_not_complete() -> None:
    count = 1_237
    texts, marks = ("ab",) * count, ([TokenMatch(0, 1, Noticed("<a>"))],) * count

    def check() -> None:
        own = {id(texts), id(marks)}
        unknown = [item for item in gc.get_objects() if type(item) is tuple and len(item) == count]
        seen.extend(item for item in unknown if id(item) not in own)

    seen: list[object] = []
    monitors = iter([check])
    Noticed.notice = lambda: next(monitors, lambda: None)()
    rows, _ = native.encode_parts(example(), bytearray(), bytearray(), texts, marks, ADDED, {}, {}, 0, str)
    assert not seen
    assert next(monitors, None) is None
    assert len(rows) == count


class Noticed(str):
    """A text that calls a function when it is looked up."""

    __slots__ = ()
    notice: ClassVar[Callable[[], None]]

    def __hash__(self) -> int:
        type(self).notice()
        return super().__hash__()


def test_any_text_is_encoded_alike() -> None:
    block, cache = example(), bytearray(2**16)

    @settings(deadline=None)
    @given(st.lists(st.text() | st.text("aA '\n\t\r19.-é中🙂\u0301\u200d\U0010ffff")), st.booleans())
    def check(texts: list[str], normalized: bool) -> None:
        assert native.encode_bpe(block, texts, cache, normalized) == encode_in_python(block, texts, cache, normalized)

    check()


def test_long_texts_are_encoded_alike_wherever_their_lanes_begin() -> None:
    block, cache = example(), bytearray(2**16)
    pieces = st.sampled_from(
        ["a", " ", "  \n", "def f(x):\n", "\r\n", "'s", "12", "+=", "é", "word ", "x" * 40, " " * 40]
    )
    runs = st.builds(str.__mul__, pieces, st.integers(1, 60))

    @settings(deadline=None)
    @given(st.lists(runs, max_size=12).map("".join))
    def check(text: str) -> None:
        assert native.encode_bpe(block, [text], cache, False) == encode_in_python(block, [text], cache, False)

    check()


def test_a_place_where_a_word_may_end_is_kept_in_the_next_lane() -> None:
    sizes = itertools.product(range(225, 305), range(0, 40, 3))
    spaces = [("a" * before, "\n" + " " * count + "b") for before, count in sizes]
    texts = [start + end for start, end in spaces] + ["ab " * 80 + start + end + " word" * 60 for start, end in spaces]
    block = example()
    assert native.encode_bpe(block, texts, bytearray(), False) == encode_in_python(block, texts, bytearray(), False)


def test_a_scan_table_that_ends_words_within_characters_is_damaged() -> None:
    block = bytearray(example())
    (start,) = struct.unpack_from("<Q", block, 16 + 16 * SECTIONS.index("scans"))
    columns = list(struct.unpack_from("<256H", block, start + 4))
    columns[0x80:0xC0] = [columns[ord(" ")]] * 0x40
    columns[0xC0:] = [columns[ord("a")]] * 0x40
    struct.pack_into("<256H", block, start + 4, *columns)
    with pytest.raises(ValueError, match="damaged"):
        native.encode_bpe(block, ["a🙂🙂🙂"], bytearray(), True)


@functools.cache
def composing_block() -> bytes:
    backend = Tokenizer(models.BPE({symbol: number for number, symbol in enumerate(BYTE_SYMBOLS)}, []))
    backend.normalizer = normalizers.NFC()
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return compile_vocabulary(backend, isolated=frozenset())


def test_a_text_is_kept_only_if_nfc_keeps_it() -> None:
    chance = random.Random(0)
    marks = [chr(code) for code in range(0x1F000) if unicodedata.combining(chr(code))]
    composed = (chr(code) for code in range(0x1F000) if not unicodedata.is_normalized("NFD", chr(code)))
    decomposed = sorted({part for character in composed for part in unicodedata.normalize("NFD", character)})
    others = ["a", "é", "中", "🙂", "\u0378", "\u212b", "\u0958", "\ufe0f", "\u200d", "\n"]
    normalize, kept, wrong = normalizers.NFC().normalize_str, 0, 0
    for _ in range(10_000):
        pool = chance.choice((marks, decomposed, others))
        text = "".join(chance.choice(pool if chance.randrange(2) else chance.choice((marks, others))) for _ in range(4))
        found = native.keeps_bpe(composing_block(), text)
        assert found == keeps_in_python(composing_block(), text)
        same = normalize(text) == text
        assert same or not found, ascii(text)
        kept, wrong = kept + found, wrong + (same and not found)
    assert kept > 2 * wrong > 0


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("क्या लड़का बड़ी", True),
        ("ค\u0e39\u0e48", True),
        ("ค\u0e48\u0e39", False),
        ("\u0301a", True),
        ("e\u0301", False),
        ("é\u0327", False),
        ("é\u0316", True),
        ("b\u0301", False),
        ("ن\u0651\u064e", False),
        ("ن\u064e\u0651", True),
        ("한국어", True),
        ("\u1112\u1161", False),
        ("\ud55c\u11ab", False),
        ("👩\u200d💻 ❤\ufe0f 1\ufe0f\u20e3", True),
    ],
)
def test_marks_in_order_are_kept(text: str, kept: bool) -> None:
    assert native.keeps_bpe(composing_block(), text) == keeps_in_python(composing_block(), text) == kept
    assert native.encode_bpe(composing_block(), [text], bytearray(), True) != [None]
    assert (native.encode_bpe(composing_block(), [text], bytearray(), False) == [None]) != kept


@pytest.mark.parametrize(
    "cache",
    [
        *map(bytearray, (0, 63, 64, 128, 200, 256, 264, 400)),
        bytearray(64) + b"\xff" * 4096,
        bytearray(b"\xff" * 4096),
    ],
)
def test_any_cache_will_do(cache: bytearray) -> None:
    due = encode_in_python(example(), TEXTS, cache, False)
    for _ in range(2):
        assert native.encode_bpe(example(), TEXTS, cache, False) == due


@pytest.mark.parametrize("offset", range(0, 136, 8))
def test_words_of_any_number_of_tokens_are_found_again(offset: int) -> None:
    # Few tokens of the vocabulary have these characters.
    texts = ["é中" * count + "x" * extra for count in range(7) for extra in range(6)]
    due = encode_in_python(example(), texts, bytearray(), False)
    assert {len(ids or b"") // 4 for ids in due} >= set(range(16))
    for size in (2**9, 2**16):
        cache = memoryview(bytearray(size))[offset:]
        for _ in range(2):
            assert native.encode_bpe(example(), texts, cache, False) == due


def test_a_cache_in_use_is_left_alone() -> None:
    texts = [text for text in TEXTS if text.isascii()]
    due = encode_in_python(example(), texts, bytearray(), False)
    cache = bytearray(2**12)
    cache[0] = 1
    assert native.encode_bpe(example(), texts, cache, False) == due
    assert not any(cache[1:])
    cache[0] = 0
    assert native.encode_bpe(example(), texts, cache, False) == due
    assert any(cache[1:])


def test_a_call_that_fails_gives_the_cache_back() -> None:
    cache = bytearray(2**12)
    for block, texts in ((example(), ["a", "b\ud800"]), (example(), [1]), (b"", ["a"])):
        with pytest.raises((UnicodeEncodeError, TypeError, ValueError)):
            native.encode_bpe(block, texts, cache, False)  # type: ignore[arg-type]
        assert not any(cache[:64])


def test_a_lone_surrogate_is_an_error_of_both() -> None:
    for encode in (native.encode_bpe, encode_in_python):
        with pytest.raises(UnicodeEncodeError):
            encode(example(), ["a", "b\ud800"], bytearray(64), False)


def damaged(block: bytes, chance: random.Random) -> bytearray:
    copy = bytearray(block)
    kind = chance.randrange(4)
    if kind == 0:
        return copy[: chance.randrange(len(copy))]
    if kind == 1:
        for _ in range(3):
            copy[chance.randrange(16 + 16 * len(SECTIONS))] = chance.randrange(256)
        return copy
    start, size = struct.unpack_from("<QQ", copy, 16 + 16 * chance.randrange(1, len(SECTIONS)))
    for _ in range(30 if kind == 2 else 1):
        at = chance.randrange(size)
        length = min(1 if kind == 2 else chance.randrange(1, 5_000), size - at)
        copy[start + at : start + at + length] = bytes([chance.randrange(256)]) * length
    return copy


def test_damaged_blocks_are_errors_or_give_other_ids() -> None:
    chance = random.Random(0)
    outcomes: set[type | None] = set()
    for _ in range(1_500):
        block = damaged(example(), chance)
        try:
            found = native.encode_bpe(block, TEXTS, bytearray(2**12), True)
        except (ValueError, MemoryError) as error:
            outcomes.add(type(error))
        else:
            assert len(found) == len(TEXTS)
            outcomes.add(list)
        count = chance.randrange(2_000)
        try:
            native.fill_bpe(block, memoryview(chance.randbytes(8 * count)).cast("I"), chance.randbytes(count))  # type: ignore[arg-type]
        except ValueError:
            outcomes.add(None)
    assert {ValueError, list, None} <= outcomes


@pytest.mark.parametrize("covered", ["words", "starts"])
def test_a_block_with_overlapping_sections_is_damaged(covered: str) -> None:
    model = read_model(load_tokenizer(EMBEDDED).vocab.backend, byte_level=True)
    block = bytearray(example())
    (start,) = struct.unpack_from("<Q", block, 16 + 16 * SECTIONS.index(covered))
    struct.pack_into("<Q", block, 16 + 16 * SECTIONS.index("joins"), start)
    with pytest.raises(ValueError, match="damaged"):
        native.fill_bpe(block, model.merges, model.in_model)


def test_arguments_of_another_kind_are_errors() -> None:
    for arguments in ((b"", ["a"], b"", False), (b"", ("a",), bytearray(), False), ("", ["a"], bytearray(), False)):
        with pytest.raises((TypeError, BufferError)):
            native.encode_bpe(*arguments)
    with pytest.raises(TypeError):
        native.encode_bpe(example(), [1], bytearray(), False)  # type: ignore[list-item]
    with pytest.raises(ValueError, match="damaged"):
        native.encode_bpe(memoryview(bytes(1) + example())[1:], ["a"], bytearray(), False)
