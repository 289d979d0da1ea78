"""Lists and ints are read from memory as the limited API reads them."""

from __future__ import annotations

import enum
import itertools
import struct
import sys
from array import array
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderers.core.native import COMPILED, native
from renderers.core.token_ids import find_invalid_id_in_python
from renderers.core.tokens import expand_in_python

pytestmark = pytest.mark.skipif(not COMPILED, reason="the part in C was not built")


class Number(enum.IntEnum):
    ONE = 1


class OwnInt(int):
    pass


class Run(NamedTuple):
    end: int
    value: object


EDGES = [0, 1, 255, 256, 257, 1023, 1024, 2**15, 2**15 - 1, 2**30 - 1, 2**30, 2**31, 2**32 - 1, 2**32, 2**60, 2**70]
NUMBERS = st.sampled_from([*EDGES, *(-number for number in EDGES)]) | st.integers(0, 200_000)
OTHERS: list[Any] = [True, False, None, 1.0, "1", Number.ONE, OwnInt(5), [1], (1,)]


@pytest.fixture(params=[True, False], ids=["memory", "API"], scope="module")
def by_memory(request: pytest.FixtureRequest) -> Any:
    known = native.find_layout(request.param)
    yield known
    native.find_layout(True)


def test_the_layout_of_checked_releases_is_known() -> None:
    is_checked = sys.implementation.name == "cpython" and sys.version_info < (3, 15) and sys.maxsize > 2**32
    assert native.find_layout(True) is is_checked
    assert native.find_layout(False) is False
    assert native.find_layout(True) is is_checked


@given(ids=st.lists(NUMBERS | st.sampled_from(OTHERS), max_size=40))
def test_ids_are_packed_and_checked_alike(by_memory: bool, ids: list[Any]) -> None:
    invalid, packed = find_invalid_id_in_python(ids), array("I", [7]) * len(ids)
    assert native.find_invalid_id(ids) == native.pack_ids(ids, packed) == invalid
    if invalid < 0:
        assert packed.tolist() == ids
    else:
        assert packed[:invalid].tolist() == ids[:invalid]


@given(ids=st.lists(st.integers(0, 3) | NUMBERS | st.sampled_from(OTHERS), max_size=300))
def test_texts_of_ids_are_joined_alike(by_memory: bool, ids: list[Any]) -> None:
    # Entries of the texts "a", "b" and "c"; the fourth is empty, which stands for no text.
    entries = b"".join(bytes([1 + len(text)]) + text.ljust(15, b"\0") for text in (b"a", b"b", b"c")) + bytes(16)
    joined = native.join(ids, entries, b"", 0)
    known = [number for number in ids if type(number) is int and 0 <= number < 3]
    if len(known) < len(ids):
        assert joined == [number for number in ids if not (type(number) is int and 0 <= number < 3)]
    else:
        starts = struct.pack(f"{len(ids)}Q", *range(len(ids)))
        assert joined == ("".join("abc"[number] for number in known), starts, [])


@pytest.mark.parametrize("kind", [int, OwnInt])
@pytest.mark.parametrize("offset", [0, 250, 2**30 - 3, 2**32 - 3, 2**60])
def test_marks_are_found_alike(by_memory: bool, offset: int, kind: type[int]) -> None:
    text = "ab|/" * 4
    marks = [kind(offset + at) for at, character in enumerate(text) if character in "|/"]
    for start in range(len(text) + 1):
        assert native.find_mark(text, marks, "/", start, offset) == text.find("/", start)


@given(ids=st.lists(st.sampled_from([0, 1, 256, 2**18 - 1, 2**18, 2**32 - 1]) | st.integers(0, 200_000)))
def test_ids_are_unpacked_alike(by_memory: bool, ids: list[int]) -> None:
    assert native.unpack_ids(array("I", ids)) == ids


@given(counts=st.lists(st.integers(0, 4)))
def test_runs_are_expanded_alike(by_memory: bool, counts: list[int]) -> None:
    runs: Any = tuple((end, object()) for end in itertools.accumulate(counts))
    due: Any = tuple(Run(*run) for run in runs)
    assert native.expand(runs, 1) == expand_in_python(due, 1)


def test_objects_keep_their_references(by_memory: bool) -> None:
    number, other = 123_456_789, object()
    ids, packed = [number] * 1000, array("I", [0]) * 1000
    before = sys.getrefcount(number), sys.getrefcount(other)
    native.pack_ids(ids, packed)
    native.find_invalid_id(ids)
    native.join(ids, bytes(16), b"", 0)
    assert (sys.getrefcount(number), sys.getrefcount(other)) == before
    expanded = native.expand(((3, other), (8, number), (10, other)), 1)
    assert (sys.getrefcount(number), sys.getrefcount(other)) == (before[0] + 5, before[1] + 5)
    del expanded
    assert (sys.getrefcount(number), sys.getrefcount(other)) == before
