"""Token ids of a caller: lists, arrays and tensors become lists of plain ints, and anything else is an error."""

from __future__ import annotations

import operator
from array import array
from collections.abc import Iterable, Mapping, Set
from typing import Any

from renderers.core.native import native
from renderers.core.text import describe_type
from renderers.errors import TokenIdError

LARGEST_ID = 2**32 - 1
"""The largest number that a token id can be. Libraries keep ids as unsigned integers of 32 bits."""

_NO_SEQUENCE = (str, bytes, bytearray, Mapping, Set)


def find_invalid_id_in_python(ids: list[Any], /) -> int:
    """Return the index of the first item that is not a plain int from 0 to `LARGEST_ID`; -1 if all are.

    >>> find_invalid_id_in_python([5, 6]), find_invalid_id_in_python([5, True]), find_invalid_id_in_python([-1])
    (-1, 1, 0)
    """
    try:
        array("I", ids)
        # An array also accepts bools, and objects with an `__index__`.
        if set(map(type, ids)) <= {int}:
            return -1
    except Exception:
        # An object that is not a number can raise anything.
        pass
    valid = (type(value) is int and 0 <= value <= LARGEST_ID for value in ids)
    return next((index for index, is_valid in enumerate(valid) if not is_valid), -1)


def pack_ids_in_python(ids: list[Any], packed: array[int], /) -> int:
    """Write a list of ids to an array of its length. Return the result of `find_invalid_id`.

    If it is not -1, the items of the array are not specified.
    """
    if len(ids) != len(packed):
        raise ValueError("packed ids must have the length of the list")
    invalid = find_invalid_id_in_python(ids)
    if invalid < 0:
        packed[:] = array("I", ids)
    return invalid


def unpack_ids_in_python(ids: array[int], /) -> list[int]:
    """Return packed ids as a new list of ints.

    >>> unpack_ids_in_python(array("I", [5, 6]))
    [5, 6]
    """
    return ids.tolist()


def find_ids_in_python(ids: array[int], sequence: array[int], start: int, /) -> int:
    """Return the index of the first occurrence of a sequence in ids from `start` on; -1 if there is none.

    >>> find_ids_in_python(array("I", [7, 1, 2]), array("I", [1, 2]), 0)
    1
    """
    first, size = sequence[:1], len(sequence)
    places = (place for place in range(max(start, 0), len(ids) - size + 1) if first and ids[place] == first[0])
    return next((place for place in places if ids[place : place + size] == sequence), -1)


find_invalid_id, find_ids, pack_ids, unpack_ids = (
    (find_invalid_id_in_python, find_ids_in_python, pack_ids_in_python, unpack_ids_in_python)
    if native is None
    # In C, the lists of unpacked ids share their ints, which saves four fifths of the memory.
    else (native.find_invalid_id, native.find_ids, native.pack_ids, native.unpack_ids)
)


def equals_ids(listed: object, ids: array[int]) -> bool:
    """Return True if an object is a list that is equal to that of packed ids.

    >>> equals_ids([5, 6], array("I", [5, 6])), equals_ids((5, 6), array("I", [5, 6]))
    (True, False)
    """
    if type(listed) is not list or len(listed) != len(ids):
        return False
    packed = _pack(listed)
    # An item that is not a plain int may still be equal to one.
    return listed == ids.tolist() if packed is None else packed == ids


def as_ids(token_ids: Any, *, name: str = "token_ids", any_int: bool = False) -> list[int]:
    """Return token ids as a list of plain ints. The caller must not change it: it may be the argument.

    Accepts a list, tuple, range, generator, array or tensor of ints, an array of one row, as generation returns for a
    single sequence, and an array without dimensions. With `any_int`, numbers that cannot be ids are accepted too.

    Raises:
        TypeError: The argument is not a sequence, or an item is not an int. A bool is not an id. Names the item.
        TokenIdError: A number is negative or does not fit into 32 bits. Names the item.

    >>> as_ids(range(3)), as_ids([5, -1], any_int=True)
    ([0, 1, 2], [5, -1])
    """
    ids = list_ids(token_ids, name=name)
    if find_invalid_id(ids) < 0:
        return ids
    ids = [_as_int(value, name, index) for index, value in enumerate(ids)]
    invalid = -1 if any_int else find_invalid_id(ids)
    if invalid >= 0:
        raise TokenIdError(f"{name}[{invalid}] is {ids[invalid]}: token ids are from 0 to {LARGEST_ID}")
    return ids


def as_packed_ids(token_ids: Any, *, name: str) -> array[int]:
    """Return token ids as an array of their own. Accepts and raises the same as `as_ids`.

    An array of unsigned integers of 32 bits is only copied, and one of numpy is converted by numpy.
    """
    if type(token_ids) is array and token_ids.typecode == "I":
        return token_ids[:]
    packed = _pack_numpy(token_ids)
    if packed is not None:
        return packed
    listed = list_ids(token_ids, name=name)
    packed = _pack(listed)
    return array("I", as_ids(listed, name=name)) if packed is None else packed


def _pack(ids: list[Any]) -> array[int] | None:
    """Return a list of ids as an array; None if an item is not an id."""
    size = len(ids)
    # An array that shrinks keeps room for a sixteenth more, so most turns are appended to a long prompt without a copy.
    packed = array("I", (0,)) * (size + size // 16 + 7)
    del packed[size:]
    return packed if pack_ids(ids, packed) < 0 else None


def _pack_numpy(token_ids: Any) -> array[int] | None:
    """Return the packed ids of an array of numpy; None if it is none, or has several rows or invalid ids."""
    if type(token_ids).__module__ != "numpy" or type(token_ids).__name__ != "ndarray":
        return None
    if token_ids.ndim != 1 or token_ids.dtype.kind not in "iu" or not token_ids.size:
        return None
    is_valid = token_ids.min() >= 0 and token_ids.max() <= LARGEST_ID
    return array("I", token_ids.astype("uint32").tobytes()) if is_valid else None


def list_ids(token_ids: Any, *, name: str) -> list[Any]:
    """Return token ids as a list without inspecting them; see `as_ids`.

    Raises:
        TypeError: The argument is not a sequence, or has several rows.
    """
    if type(token_ids) is list:
        return token_ids
    if not hasattr(token_ids, "tolist") and callable(getattr(token_ids, "__array__", None)):
        token_ids = token_ids.__array__()
    if hasattr(token_ids, "tolist"):
        listed = token_ids.tolist()
        rows = listed if isinstance(listed, list) else [listed]
        if not rows or not isinstance(rows[0], list):
            return rows
        if len(rows) == 1:
            return rows[0]
        raise TypeError(f"{name} has {len(rows)} rows: pass the ids of one sequence")
    if isinstance(token_ids, Iterable) and not isinstance(token_ids, _NO_SEQUENCE):
        return list(token_ids)
    remedy = ""
    if isinstance(token_ids, str | bytes | bytearray):
        remedy = ": encode a text with the tokenizer"
    elif isinstance(token_ids, Mapping) and "input_ids" in token_ids:
        remedy = ": pass its input_ids"
    elif type(token_ids) is int:
        remedy = f": pass [{token_ids}]"
    raise TypeError(f"{name} must be a list, an array or a tensor of ints, not {describe_type(token_ids)}{remedy}")


def list_sequences(sequences: Any, *, name: str) -> list[Any]:
    """Return the sequences of ids of a batch as a list, without inspecting them.

    Raises:
        TypeError: The argument is not a list or another iterable of sequences.
    """
    # An array without dimensions has the method of an iterable, but cannot be iterated over.
    is_scalar = getattr(sequences, "ndim", 1) == 0
    if isinstance(sequences, Iterable) and not is_scalar and not isinstance(sequences, _NO_SEQUENCE):
        return list(sequences)
    raise TypeError(f"{name} must be a list with the ids of each sequence, not {describe_type(sequences)}")


def _as_int(value: Any, name: str, index: int) -> int:
    """Return a plain int for an int of any class, such as one of numpy.

    Raises:
        TypeError: The value is not an int, or is a bool.
    """
    try:
        if not isinstance(value, bool):
            return operator.index(value)
    except Exception:
        # A class of the caller's can raise anything.
        pass
    is_row = isinstance(value, list | tuple) or getattr(value, "ndim", 0) > 0
    remedy = ": pass the ids of one sequence" if is_row else ""
    raise TypeError(f"{name}[{index}] must be an int, not {describe_type(value)}{remedy}")
