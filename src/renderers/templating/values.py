"""The values of a template run: texts with owners, wrapped JSON data, namespaces, macros, loops and methods.

A template can hold these values, plain Python scalars, and the lists, tuples and dicts that it builds. Nothing else is
ever passed to it. An owner is a pair: the index of a message (-1 for none), and the path of a field in it.

Data is wrapped lazily. The contents of a `LazyDict` or `LazyList` are raw until `open_data` wraps them in place.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from renderers.core.native import COMPILED, native
from renderers.core.plain_json import is_plain
from renderers.core.spans import Path
from renderers.errors import MessageError

Owner = tuple[int, Path]
NO_MESSAGE: Owner = (-1, ())
"""The owner of text that belongs to no message."""
Run = tuple[int, Any]
"""The end of a part of a text, and its owner: an `Owner`, a scope that is resolved later, or None for template text."""

plain = str.__str__
"""Return a text as an exact `str`, without its owners."""
_new_text = str.__new__


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


# ==================
# JSON data
# ==================

_SCALARS = frozenset({str, int, float, bool, type(None)})


def wrap_message(message: dict[str, Any], index: int) -> DataDict:
    """Wrap a message. Its fields are wrapped at once, and containers in them when they are read."""
    owner = (index, ())
    if message.__class__ is not dict or not is_plain(message):
        fields = [(_plain_key(key, owner), value) for key, value in dict.items(message)]
        wrapped = DataDict([(key, wrap(value, (index, (key,)))) for key, value in fields])
        wrapped._owner = owner
        return wrapped
    wrapped = DataDict(message)
    wrapped._owner = owner
    wrap_contents(wrapped, index, (), _TYPES)
    return wrapped


def wrap_plain_messages(messages: list[Any], wrapped: MessageList) -> None:
    """Append messages of exact types from the number of wrapped ones on, as `wrap_message` returns them.

    It ends at the first message of another type. Without the C extension, it leaves all of them to `wrap_message`.
    """
    if COMPILED:
        native.wrap_messages(messages, wrapped, DataDict, _TYPES)


def wrap(value: Any, owner: Owner) -> Any:
    """Wrap JSON data. Booleans and None stay as they are.

    Values of subclasses are copied to the base type without a call of their methods.

    Raises:
        MessageError: The value is not JSON data.

    >>> open_data(wrap({"content": "Hi"}, (0, ())))["content"]._owner
    (0, ('content',))
    """
    if is_plain(value):
        return _wrap_plain(value, owner)
    if isinstance(value, str):
        return field_text(plain(value), owner)
    if isinstance(value, int):
        return _wrap_plain(int.__int__(value), owner)
    if isinstance(value, float):
        return _wrap_plain(float.__float__(value), owner)
    message, path = owner
    wrapped: Any
    if isinstance(value, dict):
        wrapped = DataDict()
        for key, item in dict.items(value):
            name = _plain_key(key, owner)
            wrapped[name] = wrap(item, (message, (*path, name)))
    elif isinstance(value, list | tuple):
        items = list.__iter__(value) if isinstance(value, list) else tuple.__iter__(value)
        wrapped = DataList([wrap(item, (message, (*path, index))) for index, item in enumerate(items)])
    else:
        raise _message_error(f"is a {type(value).__name__}, but chat templates accept only JSON data", owner)
    wrapped._owner = owner
    return wrapped


def _wrap_plain(value: Any, owner: Owner) -> Any:
    kind = value.__class__
    wrapped: Any
    if kind is str:
        return field_text(value, owner)
    if kind is dict:
        wrapped = LazyDict(value)
    elif kind is list:
        wrapped = LazyList(value)
    elif kind is int:
        wrapped = FieldInt(value)
    elif kind is float:
        wrapped = FieldFloat(value)
    else:
        return value
    wrapped._owner = owner
    return wrapped


def _wrap_contents(container: Any, message: int, path: Path, _: tuple[type, ...]) -> None:
    """Wrap the values of a dict, or the items of a list, in place. Those that are wrapped stay as they are."""
    for key, item in container.items() if isinstance(container, dict) else enumerate(container):
        if item.__class__ is str:
            container[key] = text = _new_text(FieldText, item)
            text._owner = (message, (*path, key))
        elif item is not None:
            container[key] = _wrap_plain(item, (message, (*path, key)))


_TYPES = (FieldText, FieldInt, FieldFloat, LazyDict, LazyList)
wrap_contents = native.wrap_contents if COMPILED else _wrap_contents


def open_data(value: Any) -> Any:
    """Wrap the contents of a lazy container in place, and return it. Other values are returned unchanged."""
    kind = value.__class__
    if kind is LazyDict or kind is LazyList:
        message, path = value._owner
        wrap_contents(value, message, path, _TYPES)
        value.__class__ = DataDict if kind is LazyDict else DataList
    return value


def key_text(data: DataDict, key: str) -> FieldText:
    """Return a key of a dict as a text of its field."""
    message, path = data._owner
    return field_text(key, (message, (*path, key)))


def _plain_key(key: Any, owner: Owner) -> str:
    if not isinstance(key, str):
        raise _message_error(f"has the key {key!r}, but JSON keys must be strings", owner)
    return plain(key)


def _message_error(fault: str, owner: Owner) -> MessageError:
    return MessageError(fault, message=owner[0] if owner[0] >= 0 else None, path=owner[1])


def message_index(value: Any) -> int | None:
    """Return the index of the message that a value is; None if it is not a message."""
    if value.__class__ is not DataDict or value._owner[1] or value._owner[0] < 0:
        return None
    index: int = value._owner[0]
    return index


# ==================
# Texts
# ==================


def _field_text(text: str, owner: Owner) -> FieldText:
    """Return a text of one field."""
    wrapped = _new_text(FieldText, text)
    wrapped._owner = owner
    return wrapped


field_text: Callable[[str, Owner], FieldText] = (
    functools.partial(native.field_text, FieldText, "_owner") if COMPILED else _field_text
)


def mixed_text(text: str, runs: tuple[Run, ...], *, safe: bool = False) -> str:
    """Return a text with runs, as the simplest type that can hold them."""
    if not safe:
        if not runs:
            return text
        if len(runs) == 1:
            owner = runs[0][1]
            if owner is None:
                return plain(text)
            if owner.__class__ is tuple:
                return field_text(text, owner)
    wrapped = _new_text(SafeText if safe else MixedText, text)
    wrapped._runs = runs
    return wrapped


def safe_text(text: str) -> SafeText:
    """Return a text that is marked as safe."""
    wrapped = _new_text(SafeText, text)
    wrapped._runs = runs_of(text)
    return wrapped


def runs_of(text: str) -> tuple[Run, ...]:
    """Return the runs of a text.

    >>> runs_of("ab"), runs_of(field_text("ab", (0, ("content",))))
    (((2, None),), ((2, (0, ('content',))),))
    """
    if text.__class__ is FieldText:
        return ((len(text), text._owner),)
    if isinstance(text, MixedText):
        return text._runs
    return ((len(text), None),) if text else ()


def cut(text: str, start: int, end: int) -> str:
    """Return the slice of a text from `start` up to `end`, which are not negative.

    Empty runs stay. An empty slice keeps the first owner in an empty run: an empty system message owns the
    delimiters around it.
    """
    part = str.__getitem__(text, slice(start, end))
    kind = text.__class__
    if part and len(part) == len(text):
        return text
    if kind is str:
        return part
    if kind is FieldText:
        return field_text(part, text._owner)  # type: ignore[attr-defined]
    runs: tuple[Run, ...] = text._runs  # type: ignore[attr-defined]
    kept = []
    begin = 0
    for stop, owner in runs:
        if begin > end:
            break
        if (stop > start and begin < end) or (begin == stop and begin >= start):
            kept.append((min(stop, end) - start, owner))
        begin = stop
    if not kept and start >= end:
        kept = [(0, owner) for _, owner in runs[:1]]
    return mixed_text(part, tuple(kept), safe=kind is SafeText)


def join_runs(parts: Iterable[str]) -> tuple[Run, ...]:
    """Return the runs of concatenated texts."""
    runs: list[Run] = []
    offset = 0
    for part in parts:
        kind = part.__class__
        if kind is str:
            if part:
                offset += len(part)
                if runs and runs[-1][1] is None:
                    runs[-1] = (offset, None)
                else:
                    runs.append((offset, None))
        elif kind is FieldText:
            offset += len(part)
            runs.append((offset, part._owner))  # type: ignore[attr-defined]
        else:
            runs.extend([(offset + end, owner) for end, owner in part._runs])  # type: ignore[attr-defined]
            offset += len(part)
    return tuple(runs)


def join_texts(parts: Sequence[str]) -> str:
    """Concatenate texts, and keep their owners."""
    return mixed_text("".join(parts), join_runs(parts))


def fill_gaps(text: str, owner: Any) -> str:
    """Return a text with its template text given to an owner.

    >>> runs_of(fill_gaps(join_texts(["<", field_text("Hi", (0, ("content",)))]), (-1, ())))
    ((1, (-1, ())), (3, (0, ('content',))))
    """
    kind = text.__class__
    if kind is FieldText or not text:
        return text
    runs = runs_of(text)
    if None not in [own for _, own in runs]:
        return text
    filled = tuple([(end, owner if own is None else own) for end, own in runs])
    return mixed_text(plain(text), filled, safe=kind is SafeText)


# ==================
# Common owners
# ==================


def owners_in(value: Any) -> Iterator[Owner]:
    """Yield the owners of a value and of its parts. Each container is visited once."""
    seen: set[int] = set()
    stack = [value]
    while stack:
        part = stack.pop()
        if isinstance(part, str):
            yield from (owner for _, owner in runs_of(part) if owner.__class__ is tuple)
        elif isinstance(part, DataDict | DataList | FieldInt | FieldFloat):
            yield part._owner
        elif isinstance(part, dict | list | tuple) and id(part) not in seen:
            seen.add(id(part))
            stack.extend((*part.keys(), *part.values()) if isinstance(part, dict) else part)


def common_owner(value: Any) -> Owner | None:
    """Return the smallest field that contains all owners in a value; None for several messages, or for no owner.

    >>> common_owner([field_text("a", (0, ("tool_calls", 0, "id"))), field_text("b", (0, ("tool_calls", 1)))])
    (0, ('tool_calls',))
    """
    owners = set(owners_in(value))
    if len({message for message, _ in owners}) != 1:
        return None
    paths = [path for _, path in owners]
    same = itertools.takewhile(lambda keys: len(set(keys)) == 1, zip(*paths, strict=False))
    return next(iter(owners))[0], tuple(keys[0] for keys in same)


_OWNED: frozenset[Any] = frozenset({FieldText, FieldInt, FieldFloat, DataDict, LazyDict, DataList, LazyList})
_OWNED_OR_SCALAR = _OWNED | _SCALARS


def common_message(value: Any) -> int | None:
    """Return the index of the message that a value is derived from; None for no message, or for several.

    >>> common_message(("city", field_text("Paris", (2, ("tool_calls",)))))
    2
    """
    common: int | None = None
    parts: tuple[Any, ...] = value if value.__class__ is tuple else (value,)
    owners: Iterable[Owner]
    if _OWNED_OR_SCALAR.issuperset(map(type, parts)):
        owners = [part._owner for part in parts if part.__class__ in _OWNED]
    else:
        owners = owners_in(value)
    for message, _ in owners:
        if message >= 0:
            if common is not None and message != common:
                return None
            common = message
    return common


def coarse_text(text: str, value: Any, *, safe: bool = False) -> str:
    """Return a text that was derived from a value, with the common owner of the value."""
    return mixed_text(text, ((len(text), common_owner(value)),), safe=safe)
