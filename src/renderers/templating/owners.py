"""Whose is a value: the owners of all that is in it."""

from __future__ import annotations

from collections.abc import Iterator

from renderers.templating.runs import NOBODY, Owned, Owner, Run, Runs, Spoken, Unsettled, coarse_owner

__all__ = ["message_of", "owner_of", "owner_runs", "owners_in"]


def owner_runs(value: object, size: int) -> Runs:
    """Returns the runs of a text that was made of a value: one over all of it where the value is of one message."""
    owner = coarse_owner(owners_in(value))
    return () if owner is None else (Run(0, size, owner),)


def owners_in(value: object) -> Iterator[Owner | Unsettled]:
    """Yields whatever owns a value or a part of it, once for each part, however often it is there."""
    seen: set[int] = set()
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Spoken):
            yield from (run.owner for run in part._runs)
        elif isinstance(part, Owned):
            yield owner_of(part)
        elif isinstance(part, dict | list | tuple) and id(part) not in seen:
            seen.add(id(part))
            waiting.extend((*part.keys(), *part.values()) if isinstance(part, dict) else part)


def message_of(value: object) -> int | None:
    """Returns the message that a value is, or is a part of, or was made from; None for none or several.

    >>> from renderers.templating.traced_values import trace_value
    >>> message_of(("city", trace_value("Paris", Owner(2, ("tool_calls",)))))
    2
    """
    found: int | None = None
    for owner in owners_in(value):
        if isinstance(owner, Owner) and owner.message >= 0:
            if found is not None and owner.message != found:
                return None
            found = owner.message
    return found


def owner_of(value: Owned) -> Owner:
    """Returns the owner; nobody for what a template made with a method of the type, such as `fromkeys`."""
    return getattr(value, "_owner", NOBODY)
