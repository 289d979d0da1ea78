"""Run a function over the items of a batch, and keep or raise their errors."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Literal, TypeVar, get_args

from renderers.core.exceptions import copy_exception
from renderers.core.messages import list_messages
from renderers.core.text import describe_type

Item = TypeVar("Item")
Result = TypeVar("Result")

BatchErrors = Literal["raise", "return"]
"""How a batch treats an item that fails: raise its exception, or return it in place of the result."""


def run_batch(
    run: Callable[[Item], Result], items: Iterable[Item], *, errors: BatchErrors, kind: str
) -> list[Result | Exception]:
    """Return the results of a function for all items, in order.

    With `errors="raise"` a copy of the exception of the first item that fails is raised, and its text has the kind and
    the index of the item. With `errors="return"` an exception takes the place of the result, without its frames.

    >>> run_batch(int, ["1", "x"], errors="return", kind="number")
    [1, ValueError("invalid literal for int() with base 10: 'x'")]
    >>> run_batch(int, ["1", "x"], errors="raise", kind="number")
    Traceback (most recent call last):
    ValueError: number 1: invalid literal for int() with base 10: 'x'
    """
    check_errors(errors)
    results: list[Result | Exception] = []
    for index, item in enumerate(items):
        outcome = _attempt(run, item)
        if isinstance(outcome, Exception):
            if errors == "raise":
                raise _with_place(outcome, f"{kind} {index}")
            _drop_frames(outcome)
        results.append(outcome)
    return results


def _drop_frames(error: BaseException) -> None:
    """Remove the frames of an error and of the errors that led to it. They keep everything that a call used alive."""
    pending: list[BaseException | None] = [error]
    seen: set[int] = set()
    while pending:
        current = pending.pop()
        if current is not None and id(current) not in seen:
            seen.add(id(current))
            current.__traceback__ = None
            pending += current.__cause__, current.__context__


def attempt_each(run: Callable[[Item], Result], items: Iterable[Item | Exception]) -> list[Result | Exception]:
    """Return the result of a function for each item, or the exception that it raises.

    An item that is an exception is its own result.

    >>> attempt_each(int, ["1", KeyError("x"), "2"])
    [1, KeyError('x'), 2]
    """
    return [item if isinstance(item, Exception) else _attempt(run, item) for item in items]


def _attempt(run: Callable[[Item], Result], item: Item) -> Result | Exception:
    # The traceback of the error has this frame, which must not refer to the results.
    try:
        return run(item)
    except Exception as error:
        return error


def _with_place(error: Exception, place: str) -> Exception:
    """Return a copy of an error with a place before its text, and with its traceback, cause and context.

    An error that makes its text from other attributes than a single argument gets a note. The error itself may be
    raised again, so it is not changed, unless its class cannot be copied.
    """
    with contextlib.suppress(Exception):
        placed = copy_exception(error)
        if not _prefix(placed, place):
            placed.add_note(place)
        placed.__cause__, placed.__context__ = error.__cause__, error.__context__
        placed.__suppress_context__ = error.__suppress_context__
        return placed.with_traceback(error.__traceback__)
    with contextlib.suppress(Exception):
        error.add_note(place)
    return error


def _prefix(error: Exception, place: str) -> bool:
    """Put a place before the text of a new error. Return False if its text does not come from a single argument."""
    given = error.args
    # A class may make its text from an argument of another type.
    with contextlib.suppress(Exception):
        text = str(error)
        if isinstance(error, OSError) and error.strerror is not None:
            error.strerror = f"{place}: {error.strerror}"
            error.args = error.errno, error.strerror, *given[2:]
        elif len(given) < 2:
            error.args = (f"{place}: {text}",)
        if str(error) != text:
            return True
    with contextlib.suppress(Exception):
        error.args = given
    return False


def check_errors(errors: object) -> None:
    """Raise a `ValueError` if a policy for errors is none of `BatchErrors`."""
    if errors not in get_args(BatchErrors):
        raise ValueError(f"errors must be 'raise' or 'return', not {errors!r}")


def check_shared(**options: object) -> None:
    """Check that options have one value for all conversations, as a list would count as True.

    Raises:
        TypeError: An option is a list or a tuple.
    """
    for name, value in options.items():
        if isinstance(value, list | tuple):
            kind = describe_type(value)
            raise TypeError(f"{name} is one value for all conversations, not {kind}: call the method for each value")


def tools_of_items(tools: Iterable[Any] | None, count: int) -> list[Any]:
    """Return the tools of each item of a batch: the same for all, or those of a list with an entry for each item.

    The entries for items are None, lists, and anything else that a call takes as a list of tools.

    Raises:
        ValueError: There is an entry for another number of items.

    >>> tools_of_items([{"name": "search"}], 2)
    [[{'name': 'search'}], [{'name': 'search'}]]
    >>> tools_of_items([[{"name": "search"}], None], 2)
    [[{'name': 'search'}], None]
    """
    if tools is None:
        return [None] * count
    entries = list_messages(tools, kind="tools")
    if not any(entry is None or _is_list(entry) for entry in entries):
        return [entries] * count
    check_count("tools", entries, count)
    return entries


def _is_list(entry: object) -> bool:
    return isinstance(entry, Collection | Iterator) and not isinstance(entry, Mapping | str | bytes)


def check_count(name: str, entries: list[Any], count: int) -> None:
    """Check that an argument has an entry for each item of a batch.

    Raises:
        ValueError: It has more entries or fewer.
    """
    if len(entries) != count:
        entry, item = ("entry" if len(entries) == 1 else "entries"), ("item" if count == 1 else "items")
        raise ValueError(f"{name} has {len(entries)} {entry} for {count} {item}")
