"""The items that loops and filters iterate over, with their owners."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from jinja2 import Undefined

from renderers.templating.limits import Budget
from renderers.templating.lookups import attribute
from renderers.templating.sizes import ITEM
from renderers.templating.texts import cut, field_text, mixed_text, plain, runs_of
from renderers.templating.values import (
    DataDict,
    DataList,
    DictView,
    FieldText,
    GroupValue,
    LazyList,
    LoopValue,
    MessageList,
    SafeText,
)
from renderers.templating.wrapping import key_text, open_data

_METERED = 128
"""Longer loops are charged as they run, so that the clock is checked repeatedly."""
LOOP_ITEMS = "the items of `loop` cannot be read, because Jinja takes them from the loop: read the list of the loop"
"""The error of a loop, a filter or an unpacking that iterates over the variable `loop`."""


def iterate(budget: Budget, value: Any) -> Sequence[Any]:
    """Return the items of a value that a loop or a filter iterates over."""
    kind = value.__class__
    if kind is DataList or kind is list or kind is MessageList or kind is tuple or kind is range or kind is GroupValue:
        items: Sequence[Any] = value
        return items
    if kind is LazyList:
        opened: list[Any] = open_data(value)
        return opened
    if kind is DictView:
        return value.items  # type: ignore[no-any-return]
    if isinstance(value, DataDict):
        return [key_text(value, key) for key in value]
    if isinstance(value, str):
        budget.check_size(ITEM * len(value))
        # Markup iterates over texts that are not safe.
        return characters(mixed_text(plain(value), runs_of(value)) if kind is SafeText else value)
    if kind is dict or isinstance(value, Undefined):
        return list(value)
    if kind is LoopValue:
        raise TypeError(LOOP_ITEMS)
    if not isinstance(value, Iterator):
        raise TypeError(f"{type_name(value)!r} object is not iterable")
    read = []
    for entry in value:
        budget.tick()
        read.append(entry)
    return read


def need_items(value: Any) -> Any:
    """Return a value with items that can be read more than once, or raise an error for an iterator.

    Jinja reads an iterator step by step, so a loop and a use of the same iterator within it share its items. Here a
    loop reads all items before it starts.
    """
    if isinstance(value, Iterator):
        raise TypeError("the items of a loop are read again within it: make a list of them with `| list`")
    return value


def characters(text: str) -> list[str]:
    """Return the characters of a text with their owners."""
    if text.__class__ is str:
        return list(text)
    if text.__class__ is FieldText:
        return [field_text(character, text._owner) for character in str.__iter__(text)]
    return [cut(text, index, index + 1) for index in range(len(text))]


def metered(budget: Budget, items: Sequence[Any], steps: int) -> Any:
    """Return an iterable over the items of a loop with `steps` steps in its body, and charge the steps."""
    if len(items) <= _METERED:
        budget.tick(len(items) * steps)
        return items
    return charge_each(budget, items, steps)


def charge_each(budget: Budget, items: Iterable[Any], steps: int) -> Iterator[Any]:
    """Yield the items of a loop with `steps` steps in its body, and charge the steps of each."""
    for item in items:
        budget.tick(steps)
        yield item


def pairs_of(value: Any) -> list[tuple[Any, Any]]:
    """Return the pairs of keys and values of a dict."""
    if isinstance(value, DataDict):
        message, path = value._owner
        return [(field_text(key, (message, (*path, key))), item) for key, item in open_data(value).items()]
    return list(value.items())


def mapping_pairs(value: Any) -> list[tuple[Any, Any]]:
    """Return the items of a loop over `value | items`."""
    if isinstance(value, Undefined):
        return []
    if not isinstance(value, dict):
        raise TypeError("Can only get item pairs from a mapping.")
    return pairs_of(value)


def loop_pairs(budget: Budget, value: Any) -> Sequence[Any]:
    """Return the items of a loop over `value.items()`."""
    if isinstance(value, dict):
        return pairs_of(value)
    return iterate(budget, attribute(value, "items", Undefined(name="items"))())


def keywords(values: Any, prefix: str) -> dict[str, Any]:
    """Return the keyword arguments of `**values`, with a prefix."""
    return {f"{prefix}{name}": value for name, value in open_data(values).items()}


def type_name(value: Any) -> str:
    """Return the name of the plain type of a value."""
    for base in (str, bool, int, float, dict, list):
        if isinstance(value, base):
            return base.__name__
    return type(value).__name__
