"""Ids of a caller become plain ints, and anything else raises an error that names its position."""

from __future__ import annotations

import decimal
import enum
from array import array
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderers import EXAMPLE_MODEL, load_tokenizer
from renderers.core import token_ids
from renderers.core.native import COMPILED
from renderers.core.token_ids import as_ids, find_invalid_id_in_python, list_sequences
from renderers.errors import TokenIdError

FINDERS = [
    find_invalid_id_in_python,
    pytest.param(
        token_ids.find_invalid_id, marks=pytest.mark.skipif(not COMPILED, reason="the part in C was not built")
    ),
]


class Number(enum.IntEnum):
    ONE = 1


class Refusing:
    """An object that is not an id and raises errors of its own."""

    def __index__(self) -> int:
        raise RuntimeError("no index")

    def __lt__(self, other: object) -> bool:
        raise RuntimeError("no order")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no equality")

    def __hash__(self) -> int:
        raise RuntimeError("no hash")


class Tensor:
    """A tensor as other libraries have them, with `tolist`."""

    def __init__(self, values: Any) -> None:
        self._values = values

    def tolist(self) -> Any:
        return self._values


class ArrayLike:
    """A tensor without `tolist`, which converts itself to an array."""

    def __init__(self, values: Any) -> None:
        self._values = values

    def __array__(self) -> Any:
        return np.array(self._values)


NO_INTS: dict[str, list[Any]] = {
    "bools": [True, False],
    "floats": [1.0, 2.5, float("nan"), float("inf")],
    "None": [None, None],
    "strings": ["a", "1", ""],
    "bytes": [b"a", b""],
    "lists": [[1], [], [[2]]],
    "dicts": [{}, {1: 2}],
    "slices": [slice(0, 2), slice(None)],
    "arrays": [np.array([1, 2]), np.array([])],
    "numpy": [np.float64(1.0), np.bool_(True), np.str_("a")],
    "signalling numbers": [decimal.Decimal("sNaN"), decimal.Decimal(1)],
    "objects that raise": [Refusing(), Refusing()],
}
"""Values that are not ints, by kind."""

OUT_OF_RANGE = [-1, -100, -(2**70), 2**32, 2**40, 2**70]
"""Ints that cannot be token ids."""


@pytest.mark.parametrize(
    "ids",
    [
        [1, 2],
        (1, 2),
        range(1, 3),
        iter([1, 2]),
        array("q", [1, 2]),
        np.array([1, 2]),
        np.array([1, 2], dtype=np.uint16),
        np.array([[1, 2]]),
        np.array([1, 2], dtype=object),
        [np.int64(1), np.uint8(2)],
        [Number.ONE, np.array(2)],
        Tensor([1, 2]),
        Tensor([[1, 2]]),
        ArrayLike([1, 2]),
        ArrayLike([[1, 2]]),
    ],
    ids=lambda ids: type(ids).__name__,
)
def test_ids_can_be_in_any_sequence_array_or_tensor_and_become_plain_ints(ids: Any) -> None:
    found = as_ids(ids)
    assert found == [1, 2]
    assert {*map(type, found)} == {int}


@pytest.mark.parametrize("one", [np.array(7), np.int64(7), Tensor(7), ArrayLike(7)])
def test_an_array_without_dimensions_is_one_id(one: Any) -> None:
    assert as_ids(one) == [7]


@pytest.mark.parametrize("empty", [[], (), np.array([]), np.zeros((1, 0)), np.zeros((0, 3)), range(0)])
def test_there_can_be_no_ids(empty: Any) -> None:
    assert as_ids(empty) == []


def test_a_list_of_ids_is_not_copied() -> None:
    ids = [1, 2]
    assert as_ids(ids) is ids


@pytest.mark.parametrize(
    ("ids", "error"),
    [
        ("Hello", "not a str: encode a text with the tokenizer"),
        (b"Hello", "not a bytes: encode a text with the tokenizer"),
        (None, "not None"),
        (5, "not an int: pass [5]"),
        (True, "not a bool"),
        (2.5, "not a float"),
        ({"input_ids": [1]}, "not a dict: pass its input_ids"),
        (load_tokenizer(EXAMPLE_MODEL)("Hi"), "not a TokenizerOutput: pass its input_ids"),
        ({1: 2}, "not a dict"),
        ({1, 2}, "not a set"),
        (object(), "not an object"),
    ],
)
def test_an_argument_that_is_not_a_sequence_is_rejected(ids: Any, error: str) -> None:
    with pytest.raises(TypeError) as caught:
        as_ids(ids, name="prompt_ids", any_int=True)
    assert str(caught.value) == f"prompt_ids must be a list, an array or a tensor of ints, {error}"


@pytest.mark.parametrize(
    "rows", [np.zeros((2, 3), int), np.zeros((2, 3, 4), int), Tensor([[1], [2]]), ArrayLike([[1]] * 2)]
)
def test_several_rows_are_rejected(rows: Any) -> None:
    with pytest.raises(TypeError, match=r"^token_ids has 2 rows: pass the ids of one sequence$"):
        as_ids(rows, any_int=True)


@pytest.mark.parametrize("any_int", [False, True])
@pytest.mark.parametrize("kind", NO_INTS)
def test_a_value_that_is_not_an_int_is_rejected_with_its_position(kind: str, any_int: bool) -> None:
    for value in NO_INTS[kind]:
        for before in ([], [1, 2], [np.int64(5), -1, 2**70][: 3 if any_int else 1]):
            with pytest.raises(TypeError, match=rf"^completion_ids\[{len(before)}\] must be an int, not "):
                as_ids([*before, value, 3], name="completion_ids", any_int=any_int)


@pytest.mark.parametrize("row", [[1, 2], (1, 2), np.array([1, 2])])
def test_a_row_in_a_list_is_rejected_with_the_remedy(row: Any) -> None:
    with pytest.raises(TypeError, match=r"^token_ids\[0\] must be an int, not an? \w+: pass the ids of one sequence$"):
        as_ids([row])


@pytest.mark.parametrize("number", OUT_OF_RANGE)
def test_a_number_that_cannot_be_an_id_is_rejected_with_its_position(number: int) -> None:
    with pytest.raises(TokenIdError) as caught:
        as_ids([1, 2, 3, number], name="previous_completion_ids")
    assert str(caught.value) == f"previous_completion_ids[3] is {number}: token ids are from 0 to 4294967295"
    assert as_ids((1, number), any_int=True) == [1, number]


@pytest.mark.parametrize("largest", [0, 2**31, 2**32 - 1])
def test_any_number_of_32_bits_is_an_id(largest: int) -> None:
    assert as_ids([largest]) == [largest]


COMPARABLE = [value for kind, values in NO_INTS.items() if kind != "objects that raise" for value in values]
VALUES = st.integers() | st.integers(0, 2**33) | st.sampled_from(COMPARABLE)


@pytest.mark.parametrize("finder", FINDERS)
@given(st.lists(VALUES, max_size=6))
def test_the_first_value_that_is_not_an_id_is_found(finder: Any, values: list[Any]) -> None:
    valid = [type(value) is int and 0 <= value < 2**32 for value in values]
    assert finder(values) == (valid.index(False) if False in valid else -1)


@pytest.mark.parametrize("finder", FINDERS)
def test_the_last_of_many_values_is_found(finder: Any) -> None:
    ids = list(range(100_000))
    assert finder(ids) == -1
    assert finder([*ids, True]) == 100_000


@pytest.mark.parametrize("sequences", [[[1], [2]], ([1], [2]), iter([[1], [2]]), np.array([[1], [2]])])
def test_the_sequences_of_a_batch_can_be_in_any_iterable(sequences: Any) -> None:
    assert [list(row) for row in list_sequences(sequences, name="completions")] == [[1], [2]]


@pytest.mark.parametrize("sequences", ["Hello", None, 5, {"input_ids": [[1]]}, np.array(5)], ids=str)
def test_an_argument_that_is_not_a_batch_is_rejected(sequences: Any) -> None:
    with pytest.raises(TypeError, match=r"^completions must be a list with the ids of each sequence, not "):
        list_sequences(sequences, name="completions")


IDS = st.lists(st.integers(0, 2**32 - 1), max_size=5)


PACKED = [
    (token_ids.pack_ids_in_python, token_ids.unpack_ids_in_python, token_ids.find_ids_in_python),
    pytest.param(
        (token_ids.pack_ids, token_ids.unpack_ids, token_ids.find_ids),
        marks=pytest.mark.skipif(not COMPILED, reason="the part in C was not built"),
    ),
]


@pytest.mark.parametrize("functions", PACKED)
@given(ids=IDS | st.lists(st.integers(0, 2**18 + 2), max_size=40))
def test_packed_ids_are_unpacked(functions: Any, ids: list[int]) -> None:
    pack, unpack, _ = functions
    packed = array("I", [7]) * len(ids)
    assert pack(ids, packed) == -1
    assert packed == array("I", ids)
    # Once more: the numbers in the table are used then.
    assert unpack(packed) == unpack(packed) == ids


@pytest.mark.parametrize("functions", PACKED)
@pytest.mark.parametrize("kind", NO_INTS)
def test_the_first_item_that_cannot_be_packed_is_named(functions: Any, kind: str) -> None:
    for value in (*NO_INTS[kind], -1, 2**32, 2**70, Refusing()):
        assert functions[0]([5, 2**32 - 1, value, value], array("I", bytes(16))) == 2


@pytest.mark.parametrize("functions", PACKED)
@pytest.mark.parametrize("size", [511, 512, 513, 520, 2_003])
def test_long_lists_are_packed_up_to_the_first_invalid_item(functions: Any, size: int) -> None:
    ids = [number * 2_097_143 % 2**32 for number in range(size)]
    packed = array("I", bytes(4 * size))
    assert functions[0](ids, packed) == -1
    assert packed == array("I", ids)
    for place in (0, 7, 8, 255, size - 1):
        assert functions[0]([*ids[:place], -1, *ids[place + 1 :]], packed) == place


@pytest.mark.parametrize("functions", PACKED)
@pytest.mark.parametrize("size", [0, 1, 3])
def test_ids_are_packed_only_into_an_array_of_their_number(functions: Any, size: int) -> None:
    with pytest.raises(ValueError, match="length of the list"):
        functions[0]([5, 6], array("I", bytes(4 * size)))


@pytest.mark.parametrize("functions", PACKED)
@given(
    ids=st.lists(st.integers(0, 3), max_size=12),
    sequence=st.lists(st.integers(0, 3), max_size=4),
    start=st.integers(-2, 14),
)
def test_a_sequence_is_found_in_packed_ids(functions: Any, ids: list[int], sequence: list[int], start: int) -> None:
    size = len(sequence)
    places = [at for at in range(max(start, 0), len(ids) - size + 1) if sequence and ids[at : at + size] == sequence]
    assert functions[2](array("I", ids), array("I", sequence), start) == next(iter(places), -1)


@pytest.mark.skipif(not COMPILED, reason="the part in C was not built")
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("pack_ids", [(1,), array("I", [0])]),
        ("pack_ids", [[1], [0]]),
        ("pack_ids", [[1], bytes(4)]),
        ("unpack_ids", [[1]]),
        ("unpack_ids", [5]),
        ("find_ids", [[1], array("I", [1]), 0]),
        ("find_ids", [array("I"), array("I"), "0"]),
    ],
)
def test_arguments_of_other_types_are_rejected(name: str, arguments: list[Any]) -> None:
    with pytest.raises(TypeError):
        getattr(token_ids, name)(*arguments)


@pytest.mark.skipif(not COMPILED, reason="the part in C was not built")
def test_an_incomplete_id_at_the_end_is_ignored() -> None:
    assert token_ids.unpack_ids(memoryview(bytes(7))) == [0]  # type: ignore[arg-type]
    assert token_ids.find_ids(bytes(7), bytes(5), 0) == 0
    assert token_ids.find_ids(bytes(7), bytes(3), 0) == token_ids.find_ids(bytes(3), bytes(4), 0) == -1


def test_lists_of_unpacked_ids_share_their_ints() -> None:
    ids = array("I", [5, 70_000, 2**32 - 1])
    lists = [token_ids.unpack_ids(ids) for _ in range(2)]
    assert lists[0] == lists[1] == ids.tolist()
    assert lists[0] is not lists[1]
    assert not COMPILED or lists[0][1] is lists[1][1]


@pytest.mark.skipif(not COMPILED, reason="the part in C was not built")
def test_only_ints_below_a_limit_are_shared() -> None:
    ids = array("I", [0, 2**18 - 1, 2**18, 2**32 - 1])
    first, second = token_ids.unpack_ids(ids), token_ids.unpack_ids(ids)
    assert [one is other for one, other in zip(first, second, strict=True)] == [True, True, False, False]


@pytest.mark.parametrize(
    "given_ids",
    [
        pytest.param([5, 70_000], id="list"),
        pytest.param((5, 70_000), id="tuple"),
        pytest.param(array("I", [5, 70_000]), id="array"),
        pytest.param(array("q", [5, 70_000]), id="wide array"),
        pytest.param(np.array([5, 70_000]), id="numpy"),
        pytest.param(np.array([5, 70_000], dtype=np.uint32), id="numpy uint32"),
        pytest.param(np.array([5, 0, 70_000, 0])[::2], id="numpy view"),
        pytest.param(np.array([[5, 70_000]]), id="numpy row"),
        pytest.param([np.int64(5), 70_000], id="numpy ints"),
        pytest.param(Tensor([5, 70_000]), id="tensor"),
    ],
)
def test_ids_of_any_form_are_packed(given_ids: Any) -> None:
    packed = token_ids.as_packed_ids(given_ids, name="ids")
    assert packed == array("I", [5, 70_000])
    assert packed is not given_ids
    assert (
        token_ids.as_packed_ids([], name="ids") == token_ids.as_packed_ids(np.array([], int), name="ids") == array("I")
    )


@pytest.mark.parametrize("ids", [[5, -1], np.array([5, -1]), np.array([5, 2**32]), np.array([5, 2**64 - 1], np.uint64)])
def test_invalid_ids_are_not_packed(ids: Any) -> None:
    with pytest.raises(TokenIdError, match=r"^ids\[1\] is "):
        token_ids.as_packed_ids(ids, name="ids")


@pytest.mark.parametrize(
    "ids", [[5, True], np.array([5, 1.5]), np.array([True]), array("d", [1.0]), np.array([[1], [2]])]
)
def test_other_values_are_not_packed(ids: Any) -> None:
    with pytest.raises(TypeError, match=r"^ids"):
        token_ids.as_packed_ids(ids, name="ids")


@pytest.mark.parametrize("listed", [[5, 6], [np.int64(5), 6.0]])
def test_equal_lists_are_equal_to_packed_ids(listed: Any) -> None:
    assert token_ids.equals_ids(listed, array("I", [5, 6]))


@pytest.mark.parametrize("listed", [[5], [5, 7], [5, None], [5, -1], (5, 6), None])
def test_other_objects_are_not_equal_to_packed_ids(listed: Any) -> None:
    assert not token_ids.equals_ids(listed, array("I", [5, 6]))
