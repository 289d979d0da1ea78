"""Recognise, copy and compare JSON data of exact types, in C if the extension was built."""

from __future__ import annotations

import marshal
from collections.abc import Callable
from typing import Any, TypeVar

from renderers.core.native import native

T = TypeVar("T")
_SCALARS = frozenset({str, int, float, bool, type(None)})
_DEEPEST = 200
"""How many levels of containers `is_plain` accepts."""
_MARSHAL_VERSION = 2
"""The latest version of the `marshal` format without references. In it, the same data has the same bytes."""


def copy_json_in_python(value: Any, depth: int, untracked: bool, /) -> Any:
    """Return a deep copy of JSON data of exact types. Tuples become lists.

    Return NotImplemented if a value or a key in it has another type, or if containers are nested more than `depth`
    levels deep. In C, the garbage collector does not visit the copy if `untracked`: a copy that no caller gets.

    >>> copy_json_in_python({"x": (1, [2.0])}, 3, False), copy_json_in_python({"x": (1, [2.0])}, 2, False)
    ({'x': [1, [2.0]]}, NotImplemented)
    """
    kind = type(value)
    if kind in _SCALARS:
        return value
    if depth <= 0:
        return NotImplemented
    if kind is dict:
        copied = value.copy()
        for key, item in copied.items():
            if type(key) is not str:
                return NotImplemented
            if type(item) not in _SCALARS:
                # The key exists, so the dict can be changed while it is read.
                copied[key] = item = copy_json_in_python(item, depth - 1, untracked)
                if item is NotImplemented:
                    return item
        return copied
    if kind is list or kind is tuple:
        items = list(value)
        for index, item in enumerate(items):
            if type(item) not in _SCALARS:
                items[index] = item = copy_json_in_python(item, depth - 1, untracked)
                if item is NotImplemented:
                    return item
        return items
    return NotImplemented


def same_json_in_python(value: Any, plain: Any, /) -> bool:
    """Return True if a value is the same as JSON data of exact types: in values, in types and in the order of keys.

    >>> same_json_in_python([1, {"x": None}], [1, {"x": None}]), same_json_in_python([True], [1])
    (True, False)
    """
    try:
        return marshal.dumps(value, _MARSHAL_VERSION) == marshal.dumps(plain, _MARSHAL_VERSION)
    except ValueError:
        return False


def is_plain_in_python(value: Any, /) -> bool:
    """Return True if a value is JSON data of exact types in all depths, and not too deep.

    >>> is_plain_in_python({"x": [1, None]}), is_plain_in_python({"x": (1, None)})
    (True, False)
    """
    return _is_plain(value, 0)


def _is_plain(value: Any, depth: int) -> bool:
    kind = type(value)
    if kind in _SCALARS:
        return True
    if depth >= _DEEPEST:
        return False
    if kind is dict:
        for key, item in value.items():
            if type(key) is not str or (type(item) not in _SCALARS and not _is_plain(item, depth + 1)):
                return False
        return True
    return kind is list and all(type(item) in _SCALARS or _is_plain(item, depth + 1) for item in value)


def _same(value: T, /) -> T:
    return value


untrack: Callable[[T], T] = _same if native is None else native.untrack
"""Exclude a container from garbage collection, and return it. Nothing in it may lead back to it.

Each collection visits all items of all other containers.
"""
copy_json = copy_json_in_python if native is None else native.copy_json
same_json = same_json_in_python if native is None else native.same_json
is_plain = is_plain_in_python if native is None else native.is_plain
