"""The type of an entry, and predicates that entries share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from scripts.compare.differences import Difference

__all__ = [
    "BROKEN_ARGUMENTS",
    "IDS",
    "MASKS",
    "NEMOTRON",
    "OUTCOME",
    "OWNER",
    "Entry",
    "has_role",
    "is_added",
    "is_removed",
    "stripped",
]

BROKEN_ARGUMENTS = (
    "[text, or no arguments](../reference/message-formats.md#broken-arguments), with a `BrokenArgumentsWarning`"
)
OUTCOME, IDS, OWNER = ("outcome",), ("token_ids",), ("message_indices",)
MASKS = ("sampled_mask", "is_content", "loss_mask")
NEMOTRON = ("nemotron-3", "nemotron-3-ultra", "nemotron-3.5")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A known difference: a predicate, and the row of the table in the docs."""

    name: str
    fields: tuple[str, ...]
    """The fields of `Difference` that it can explain."""
    kinds: tuple[str, ...] = ("render", "sample", "bridge")
    """The kinds of cases."""
    families: tuple[str, ...] = ()
    """The families of release 0.1; empty for all."""
    matches: Callable[[Difference], bool] = lambda _: True
    old: str
    """The behavior of release 0.1."""
    new: str
    """The behavior of this release."""
    reason: str
    remedy: str = "–"
    """The way to get the old behavior."""

    def explains(self, difference: Difference) -> bool:
        """Return whether this entry explains a difference."""
        return (
            difference.field in self.fields
            and difference.case.kind in self.kinds
            and (not self.families or difference.family in self.families)
            and self.matches(difference)
        )


def has_role(difference: Difference, role: str) -> bool:
    """Return whether a message of the case has a role."""
    return any(message.get("role") == role for message in difference.case.messages)


def is_removed(difference: Difference) -> bool:
    """Return whether a flag is set in release 0.1 only."""
    return (difference.new, difference.old) == (0, 1)


def is_added(difference: Difference) -> bool:
    """Return whether a flag is set in this release only."""
    return (difference.new, difference.old) == (1, 0)


def stripped(value: Any) -> Any:
    """Return a value without whitespace around texts, also inside lists and objects."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, list):
        return [stripped(item) for item in value]
    return {key: stripped(item) for key, item in value.items()} if isinstance(value, dict) else value
