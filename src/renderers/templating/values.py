"""The types of values in a template run: texts with owners, wrapped JSON data, namespaces, macros, loops and methods.

A template can hold these values, plain Python scalars, and the lists, tuples and dicts that it builds. Nothing else is
ever passed to it. An owner is a pair: the index of a message (-1 for none), and the path of a field in it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from renderers.core.spans import Path

Owner = tuple[int, Path]
NO_MESSAGE: Owner = (-1, ())
"""The owner of text that belongs to no message."""
Run = tuple[int, Any]
"""The end of a part of a text, and its owner: an `Owner`, a scope that is resolved later, or None for template text."""


class FieldText(str):
    """A text of one field."""

    __slots__ = ("_owner",)
    _owner: Owner


class MixedText(str):
    """A text with several owners. Its runs are in order and cover all of it."""

    __slots__ = ("_runs",)
    _runs: tuple[Run, ...]


class SafeText(MixedText):
    """A text that is marked as safe. It escapes the texts that it is combined with, as `Markup` does."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Markup({str.__repr__(self)})"


class FieldInt(int):
    """An integer of a field."""

    _owner: Owner


class FieldFloat(float):
    """A float of a field."""

    _owner: Owner


class DataDict(dict[str, Any]):
    """A dict that the caller passed, with wrapped values. `_json` caches its JSON texts."""

    __slots__ = ("_json", "_owner")
    _owner: Owner
    _json: dict[Any, FieldText]


class LazyDict(DataDict):
    """A `DataDict` with raw values."""

    __slots__ = ()


class DataList(list[Any]):
    """A list that the caller passed, with wrapped items. `_sections` are the outputs of loops over tools."""

    __slots__ = ("_json", "_owner", "_sections")
    _owner: Owner
    _json: dict[Any, FieldText]
    _sections: dict[object, list[str]]


class MessageList(list[DataDict]):
    """The messages of the caller. Unlike a list of its own, a template cannot change it."""

    __slots__ = ()


class LazyList(DataList):
    """A `DataList` with raw items."""

    __slots__ = ()


@dataclass(slots=True, eq=False)
class NamespaceValue:
    """A `namespace` of a template."""

    values: dict[Any, Any]

    def __repr__(self) -> str:
        return f"<Namespace {self.values!r}>"


@dataclass(slots=True)
class DictView:
    """The keys, values or items of a dict: `kind` is the name of the method that returned it."""

    items: list[Any]
    kind: str

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)

    def __repr__(self) -> str:
        return f"dict_{self.kind}({self.items!r})"


class GroupValue(NamedTuple):
    """A group of the filter `groupby`."""

    grouper: Any
    list: Any

    def __repr__(self) -> str:
        return tuple.__repr__(self)


@dataclass(slots=True, eq=False)
class MacroValue:
    """A macro as a value. `write` appends its output to a list."""

    write: Callable[..., None]
    name: str
    arguments: tuple[str, ...]
    """The names of its parameters."""
    uses: tuple[str, ...]
    """The special variables that it reads: `caller`, `varargs` and `kwargs`."""

    def __repr__(self) -> str:
        return f"<Macro {self.name!r}>"


class SelectedItems(Sequence[Any]):
    """The items of a loop with a test, each selected when it is needed."""

    __slots__ = ("_rest", "_selected")

    def __init__(self, items: Iterator[Any]) -> None:
        self._rest = items
        self._selected: list[Any] = []

    def __len__(self) -> int:
        self._selected += self._rest
        return len(self._selected)

    def __getitem__(self, key: Any) -> Any:
        last = key.stop if isinstance(key, slice) else key + 1
        missing = None if last is None else max(last - len(self._selected), 0)
        self._selected += itertools.islice(self._rest, missing)
        return self._selected[key]


@dataclass(slots=True, eq=False)
class LoopValue:
    """The variable `loop` as a value. `recurse` writes a recursive loop to a list."""

    items: Sequence[Any]
    depth0: int
    recurse: Callable[..., None] | None
    index0: int = 0
    last_changed: Any = None

    def __len__(self) -> int:
        return len(self.items)

    def __repr__(self) -> str:
        return f"<LoopContext {self.index0 + 1}/{len(self.items)}>"


@dataclass(slots=True, eq=False)
class MethodValue:
    """A method of a value that is not called yet."""

    receiver: Any
    name: str


@dataclass(slots=True, eq=False)
class FunctionValue:
    """A global function. `call` takes the budget of the run first."""

    name: str
    call: Callable[..., Any]


MISSING = object()
"""The value of a macro parameter that was not passed."""
