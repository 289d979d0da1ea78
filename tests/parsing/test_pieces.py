"""Ids are joined to one text with the start of each, in C as in Python."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from renderers.core.native import COMPILED
from renderers.parsing import markers
from renderers.parsing.pieces import NO_PIECES, Pieces, PieceTable, PieceTexts
from renderers.parsing.tool_formats import TOOL_FORMATS
from renderers.tokenizer.encoding.byte_text import UNKNOWN, ByteTexts, TokenTexts
from tests.support.completions import completions, grammar_of, one_by_one, read, reader_of_bytes

needs_c = pytest.mark.skipif(not COMPILED, reason="the part in C was not built")

TEXTS = st.lists(st.text(st.characters(max_codepoint=0x1000), max_size=20), max_size=12)
NARROW = st.lists(st.text(st.characters(max_codepoint=0xFF), max_size=20), max_size=12)
ODD = [None, "1", 1.5, object(), [1], -1, -(2**70), 2**32, 2**63, 2**70]


def in_python(texts: list[str], overrides: dict[int, str] | None = None) -> PieceTexts:
    return PieceTexts(TokenTexts(dict(enumerate(texts)).get), overrides or {})


def in_c(texts: list[str], overrides: dict[int, str] | None = None) -> PieceTable:
    return PieceTable(ByteTexts(texts), overrides or {})


Joiner = Callable[..., PieceTexts | PieceTable]
JOINERS = [in_python, pytest.param(in_c, marks=needs_c)]


def expected(texts: list[str], ids: list[Any]) -> Pieces | None:
    return Pieces.of([texts[number] for number in ids]) if all(number in range(len(texts)) for number in ids) else None


@pytest.mark.parametrize("joiner", JOINERS)
@given(texts=TEXTS | NARROW, ids=st.lists(st.integers(-2, 13), max_size=30))
@example(texts=["a" * 9], ids=[0])
@example(texts=["a" * 8, "b"], ids=[0, 0, 1])
@example(texts=["", "\u0fff"], ids=[1, 0, 1])
@example(texts=[], ids=[])
def test_ids_are_joined(joiner: Joiner, texts: list[str], ids: list[int]) -> None:
    known = [number for number in ids if number in range(len(texts))]
    assert joiner(texts).join(known) == expected(texts, known)


@needs_c
def test_a_table_rejects_an_id_that_is_not_in_the_vocabulary() -> None:
    assert in_c(["a"]).join([0, 1]) is None


def test_an_id_that_is_not_in_the_vocabulary_is_unknown_and_not_kept() -> None:
    texts = in_python(["a"])
    assert texts.join([0, 1]) == Pieces.of(["a", UNKNOWN])
    assert texts._texts == {0: "a"}


@pytest.mark.parametrize("joiner", JOINERS)
@pytest.mark.parametrize("odd", ODD, ids=lambda odd: f"{type(odd).__name__}")
def test_an_object_that_is_not_an_id_is_rejected(joiner: Joiner, odd: Any) -> None:
    assert joiner(["a"], {1: "b"}).join([0, odd, 1]) is None


@pytest.mark.parametrize("joiner", JOINERS)
def test_long_texts_are_joined(joiner: Joiner) -> None:
    texts = [chr(65 + size % 26) * size for size in range(200)]
    ids = list(range(200)) * 50
    assert joiner(texts).join(ids) == expected(texts, ids)


@needs_c
@given(
    ids=st.lists(st.integers(-1, 6)),
    texts=st.binary(max_size=40),
    spans=st.lists(st.integers(0, 30) | st.integers(0, 2**32 - 1), max_size=11),
)
def test_buffers_that_do_not_fit_are_not_read_beyond_their_ends(ids: list[Any], texts: bytes, spans: list[int]) -> None:
    from renderers.core._native import join

    found = join(ids, texts, array("I", spans))
    units = len(texts) // 2
    pairs = list(zip(spans[::2], spans[1::2], strict=False))
    fits = all(0 <= number < len(pairs) and pairs[number][0] <= pairs[number][1] <= units for number in ids)
    assert (found is not None) == fits
    if found is not None:
        assert len(found[0]) <= sum(pairs[number][1] - pairs[number][0] for number in ids)


@pytest.mark.parametrize("joiner", JOINERS)
def test_texts_of_ids_can_be_overridden(joiner: Joiner) -> None:
    pieces = joiner(["a", "b", "c"], {5: "more", 1: "other", 3: "\u0100"})
    assert pieces.join([0, 1, 2, 3, 4, 5]) == Pieces.of(["a", "other", "c", "\u0100", UNKNOWN, "more"])


@needs_c
def test_only_lists_are_accepted() -> None:
    from renderers.core._native import join

    with pytest.raises(TypeError):
        join((1, 2), b"", array("I"))  # type: ignore[arg-type]


@given(st.lists(st.lists(st.sampled_from(["", "a", "bc"]))), st.integers(0, 40))
def test_pieces_are_joined_and_cut(parts: list[list[str]], place: int) -> None:
    texts = [text for part in parts for text in part]
    whole = Pieces.joined([Pieces.of(part) for part in parts])
    assert whole == Pieces.of(texts)
    assert whole.after(place) == (Pieces.of(texts[place:]) if texts[place:] else NO_PIECES)


@needs_c
@pytest.mark.parametrize("key", TOOL_FORMATS)
def test_completions_are_parsed_alike_in_c_and_in_python(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = reader_of_bytes(grammar_of(key), marks=True)
    monkeypatch.setattr(markers, "_TOKENS_UNTIL_TABLE", 0)
    with_table = reader_of_bytes(grammar_of(key), marks=True)
    for text in completions(key):
        ids = reader.encode(text)
        for chunks in ([ids], [[*ids, -1, None, *ids]], list(one_by_one(ids))):
            assert repr(read(reader, chunks)) == repr(read(with_table, chunks))
    assert reader.compiled.marker_text._table is None
    assert with_table.compiled.marker_text._table is not None


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
