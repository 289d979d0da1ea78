"""Ids are joined to one text with the start of each, in C as in Python."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import threading
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from renderers.core.native import COMPILED
from renderers.parsing.pieces import Pieces, PieceTable, PieceTexts
from renderers.parsing.tool_formats import TOOL_FORMATS
from renderers.tokenizer.encoding.byte_text import FREE, UNKNOWN, ByteTexts, TokenTexts
from tests.support.completions import completions, grammar_of, one_by_one, read, reader_of_bytes

needs_c = pytest.mark.skipif(not COMPILED, reason="the part in C was not built")

TEXTS = st.lists(st.text(st.characters(max_codepoint=0x1000), max_size=20), max_size=12)
NARROW = st.lists(st.text(st.characters(max_codepoint=0xFF), max_size=20), max_size=12)


def in_python(texts: list[str], overrides: dict[int, str] | None = None) -> PieceTexts:
    return PieceTexts(TokenTexts(dict(enumerate(texts)).get), overrides or {})


def in_c(texts: list[str], overrides: dict[int, str] | None = None) -> PieceTable:
    return PieceTable(TokenTexts(dict(enumerate(texts)).get), overrides or {})


Joiner = Callable[..., PieceTexts | PieceTable]
JOINERS = [in_python, pytest.param(in_c, marks=needs_c)]


@given(texts=TEXTS, first=st.integers(0, 5))
def test_pieces_have_the_positions_of_tokens_and_markers(texts: list[str], first: int) -> None:
    pieces = Pieces.of(texts, first)
    assert pieces.byte_text == "".join(texts)
    assert list(pieces.starts) == [first + len("".join(texts[:number])) for number in range(len(texts))]
    markers = {UNKNOWN, *FREE}
    assert pieces.marks == [first + at for at, character in enumerate(pieces.byte_text) if character in markers]


@given(texts=TEXTS | NARROW, ids=st.lists(st.integers(-2, 13), max_size=30), first=st.integers(0, 2**40))
@example(texts=["a" * 15], ids=[0], first=0)
@example(texts=["a" * 16, "b" * 17], ids=[0, 0, 1], first=1)
@example(texts=["", "\u0fff"], ids=[1, 0, 1], first=0)
@example(texts=[UNKNOWN, FREE[0], "a" + UNKNOWN], ids=[0, 1, 0, 2], first=7)
@example(texts=[], ids=[], first=0)
def test_ids_are_joined(texts: list[str], ids: list[int], first: int) -> None:
    known = [number for number in ids if number in range(len(texts))]
    joined = in_python(texts).join(known, first)
    assert joined == Pieces.of([texts[number] for number in known], first)
    if COMPILED:
        table = in_c(texts)
        for _ in range(2):
            in_table = table.join(known, first)
            assert in_table == joined or (in_table is None and not all(has_entry(texts[number]) for number in known))


def has_entry(text: str) -> bool:
    markers = {UNKNOWN, *FREE}.intersection(text)
    return (not markers or len(text) == 1) and max(text, default="") <= "\xff"


@needs_c
def test_a_table_grows_to_the_largest_id_that_is_a_token() -> None:
    table = PieceTable(TokenTexts({0: "a", 200_000: "b"}.get), {})
    assert table.join([0, 1, 200_000]) == Pieces.of(["a", UNKNOWN, "b"])
    assert table.join([0, 199_999]) == Pieces.of(["a", UNKNOWN])
    for unknown in (2**20 - 1, 2**20, 2**31, 2**63):
        assert table.join([0, unknown]) is None


@needs_c
def test_a_table_has_no_entry_for_an_id_beyond_its_largest_size() -> None:
    table = PieceTable(TokenTexts({2**20: "b", 2**20 - 1: "a"}.get), {})
    assert table.join([2**20]) is None
    assert table.join([2**20 - 1]) == Pieces.of(["a"])


def test_an_id_that_is_not_in_the_vocabulary_is_unknown_and_not_kept() -> None:
    texts = in_python(["a"])
    assert texts.join([0, 1]) == Pieces.of(["a", UNKNOWN])
    assert texts._texts == {0: "a"}


@pytest.mark.parametrize("joiner", JOINERS)
@pytest.mark.parametrize("odd", [-1, 2**32, 2**70, -(2**70)])
def test_a_number_that_is_not_an_id_is_rejected(joiner: Joiner, odd: int) -> None:
    assert joiner(["a"], {1: "b"}).join([0, odd, 1]) is None


@pytest.mark.parametrize("joiner", JOINERS)
def test_long_texts_are_joined(joiner: Joiner) -> None:
    texts = [chr(65 + size % 26) * size for size in range(200)]
    ids = list(range(200)) * 50
    assert joiner(texts).join(ids) == Pieces.of([texts[number] for number in ids])


@needs_c
@given(
    texts=st.lists(st.text(st.characters(max_codepoint=0xFF), max_size=40), max_size=12), override=st.integers(0, 14)
)
@example(texts=["a" * 15, "b" * 16, "", UNKNOWN, "a" + FREE[0]], override=0)
def test_a_filled_table_is_as_one_with_all_ids_added(texts: list[str], override: int) -> None:
    overrides = {override: FREE[1]}
    added = in_c(texts, overrides)
    filled = PieceTable(TokenTexts(dict(enumerate(texts)).get), overrides, lambda: ByteTexts(texts))
    filled._new_until_filled = 0
    for number in range(len(texts)):
        assert filled.join([number] * 3) == added.join([number] * 3)
    assert filled._new_until_filled < 0 or not texts
    every = list(range(len(texts)))
    assert filled.join(every) == added.join(every)


@needs_c
@given(
    ends=st.lists(st.integers(0, 40) | st.integers(0, 2**32 - 1), max_size=9),
    texts=st.binary(max_size=40),
    room=st.integers(0, 100),
)
def test_a_table_is_not_filled_beyond_its_buffers(ends: list[int], texts: bytes, room: int) -> None:
    from renderers.core._native import fill

    entries = bytearray(b"\xaa" * room)
    fill(entries, texts, array("I", ends), b"\xc0")
    start, written = 0, 0
    for end in ends[: room // 16]:
        if not start <= end <= len(texts):
            break
        text = texts[start:end]
        marked = 0xC0 in text
        expected = None if marked and len(text) > 1 else text
        assert text_of(bytes(entries[written : written + 16]), texts) == expected
        start, written = end, written + 16
    assert entries[written:] == b"\xaa" * (room - written)


@needs_c
@pytest.mark.parametrize(("stored", "new_ids"), [(True, 2**12), (False, 2**15)])
def test_a_table_is_filled_after_fewer_ids_if_the_texts_are_in_a_file(stored: bool, new_ids: int) -> None:
    texts, reads = [f"{number:x}" for number in range(2**15 + 2)], []

    def vocabulary() -> ByteTexts:
        reads.append(1)
        return ByteTexts(texts)

    table = PieceTable(TokenTexts(dict(enumerate(texts)).get), {}, vocabulary, stored=stored, size=len(texts))
    # A part of the new ids counts once more, for the tokens that are joined.
    few, last = list(range(new_ids * 255 // 256)), [2**15 + 1]
    assert (table.join(few), reads) == (Pieces.of(texts[: len(few)]), [])
    assert table.text(last) is None
    rest = list(range(len(few), 2**12 + 1 if stored else 2**15 + 1))
    assert (table.join(rest), reads) == (Pieces.of(texts[rest[0] : rest[-1] + 1]), [1])
    assert table.text(last) == texts[last[0]]


@needs_c
def test_threads_can_share_a_table() -> None:
    texts = [f"{number:>{number % 40}}" for number in range(3_000)]
    table, wrong = PieceTable(TokenTexts(dict(enumerate(texts)).get), {}, lambda: ByteTexts(texts)), []
    table._new_until_filled = 5_000

    def join(seed: int) -> None:
        for start in range(seed, 3_000, 7):
            ids = list(range(start, min(start + 50, 3_000)))
            if table.join(ids) != Pieces.of(texts[start : start + 50]):
                wrong.append(start)

    threads = [threading.Thread(target=join, args=[seed]) for seed in range(7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def text_of(entry: bytes, texts: bytes) -> bytes | None:
    """Return the text of an entry of a table; None if it has none."""
    if 1 <= entry[0] <= 16:
        return entry[1:][: entry[0] - 1]
    if entry[0] == 0xFE:
        return entry[1:2]
    start, length = array("I", entry[4:12])
    return texts[start : start + length] if entry[0] == 0xFF and start + length <= len(texts) else None


ENTRIES = st.binary(min_size=16, max_size=16) | st.builds(
    lambda start, length: b"\xff\0\0\0" + array("I", [start, length]).tobytes() + b"rest",
    st.integers(0, 30) | st.integers(0, 2**32 - 1),
    st.integers(0, 30) | st.integers(0, 2**32 - 1),
)


@needs_c
@given(
    ids=st.lists(st.integers(-1, 6)),
    entries=st.lists(
        ENTRIES
        | st.builds(lambda kind, rest: bytes([kind]) + rest, st.integers(1, 17), st.binary(min_size=15, max_size=15))
    ),
    rest=st.binary(max_size=15),
    texts=st.binary(max_size=40),
)
def test_buffers_that_do_not_fit_are_not_read_beyond_their_ends(
    ids: list[Any], entries: list[bytes], rest: bytes, texts: bytes
) -> None:
    from renderers.core._native import join

    known = {number: text_of(entry, texts) for number, entry in enumerate(entries)}
    expected = [known.get(number) for number in ids]
    found = join(ids, b"".join(entries) + rest, texts, 3)
    if None in expected:
        assert found == [number for number in ids if known.get(number) is None]
    else:
        parts = [text or b"" for text in expected]
        starts = [3 + len(b"".join(parts[:number])) for number in range(len(parts))]
        marks = [start for start, number in zip(starts, ids, strict=True) if entries[number][0] == 0xFE]
        assert found == (b"".join(parts).decode("latin-1"), array("Q", starts).tobytes(), marks)


@pytest.mark.parametrize("joiner", JOINERS)
def test_texts_of_ids_can_be_overridden(joiner: Joiner) -> None:
    pieces = joiner(["a", "b", "c"], {5: "more", 1: "other", 3: FREE[0]})
    assert pieces.join([0, 1, 2, 3, 4, 5]) == Pieces.of(["a", "other", "c", FREE[0], UNKNOWN, "more"])


@needs_c
def test_only_lists_are_accepted() -> None:
    from renderers.core._native import join

    with pytest.raises(TypeError):
        join((1, 2), b"", b"", 0)  # type: ignore[arg-type]


@needs_c
@pytest.mark.parametrize("first", [-1, 2**64])
def test_a_position_that_is_not_a_uint64_is_rejected(first: int) -> None:
    from renderers.core._native import join

    with pytest.raises(OverflowError):
        join([], b"", b"", first)


@needs_c
@pytest.mark.parametrize("key", TOOL_FORMATS)
def test_completions_are_parsed_alike_in_c_and_in_python(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with_table = reader_of_bytes(grammar_of(key), marks=True)
    reader = reader_of_bytes(grammar_of(key), marks=True)
    monkeypatch.setattr(reader.compiled.marker_text, "_table", None)
    assert with_table.compiled.marker_text._table is not None
    for text in completions(key):
        ids = reader.encode(text)
        for chunks in ([ids], [[*ids, -1, 2**70, *ids]], list(one_by_one(ids))):
            assert repr(read(reader, chunks)) == repr(read(with_table, chunks))


def test_the_c_extension_is_used_if_it_can_be_built() -> None:
    compiler = shutil.which((sysconfig.get_config_var("CC") or "cc").split()[0])
    if compiler is None or not (Path(sysconfig.get_path("include")) / "Python.h").exists():
        pytest.skip("there is no compiler, or nothing to compile with")
    if os.environ.get("RENDERERS_PURE_PYTHON") or sysconfig.get_config_var("Py_GIL_DISABLED"):
        pytest.skip("it is not wanted, or there is no global lock")
    assert COMPILED


@needs_c
@pytest.mark.parametrize(
    "setting",
    ["import os; os.environ['RENDERERS_PURE_PYTHON'] = '1'", "from renderers.core import _native as c; c.VERSION = 0"],
)
def test_the_c_extension_is_not_used_if_disabled_or_of_another_version(setting: str) -> None:
    code = f"{setting}\nfrom renderers.core.native import COMPILED; print(COMPILED)"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "False\n"
