"""What templates lose of a message, as named functions: rendered and read again, it is equal up to these.

A message here is what a turn says: `content`, `reasoning_content` and `tool_calls` as pairs of a name and arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

__all__ = ["NORMALISATIONS", "Said", "normalised"]


@dataclass(frozen=True, slots=True)
class Said:
    """What an assistant's turn says."""

    content: str = ""
    reasoning_content: str = ""
    tool_calls: tuple[tuple[str, Any], ...] = ()


def trims_content(said: Said) -> Said:
    """The template trims content."""
    return replace(said, content=said.content.strip())


def trims_content_before_calls(said: Said) -> Said:
    """The template trims content that calls follow."""
    return trims_content(said) if said.tool_calls else said


def trims_end_of_content(said: Said) -> Said:
    """The template trims the end of content."""
    return replace(said, content=said.content.rstrip())


def trims_lines_before_content(said: Said) -> Said:
    """The template trims line breaks before content."""
    return replace(said, content=said.content.lstrip("\n"))


def trims_reasoning(said: Said) -> Said:
    """The template trims reasoning."""
    return replace(said, reasoning_content=said.reasoning_content.strip())


def trims_lines_around_reasoning(said: Said) -> Said:
    """The template trims line breaks around reasoning."""
    return replace(said, reasoning_content=said.reasoning_content.strip("\n"))


def drops_blank_reasoning(said: Said) -> Said:
    """The template writes no reasoning that is nothing but space."""
    return said if said.reasoning_content.strip() else replace(said, reasoning_content="")


def drops_reasoning(said: Said) -> Said:
    """The template writes no reasoning."""
    return replace(said, reasoning_content="")


def drops_reasoning_without_calls(said: Said) -> Said:
    """The template writes reasoning only where calls follow."""
    return said if said.tool_calls else replace(said, reasoning_content="")


def drops_content_with_calls(said: Said) -> Said:
    """The template writes no content where there are calls."""
    return replace(said, content="") if said.tool_calls else said


def keeps_first_call(said: Said) -> Said:
    """The template writes one call."""
    return replace(said, tool_calls=said.tool_calls[:1])


def calls_content_reasoning(said: Said) -> Said:
    """The template writes content as reasoning where calls follow."""
    return replace(said, content="", reasoning_content=said.content) if said.tool_calls and said.content else said


def drops_calls(said: Said) -> Said:
    """The template writes no calls."""
    return replace(said, tool_calls=())


NORMALISATIONS: MappingProxyType[str, Callable[[Said], Said]] = MappingProxyType(
    {
        one.__name__: one
        for one in (
            trims_content,
            trims_content_before_calls,
            trims_end_of_content,
            trims_lines_before_content,
            trims_reasoning,
            trims_lines_around_reasoning,
            drops_blank_reasoning,
            drops_reasoning,
            drops_reasoning_without_calls,
            drops_content_with_calls,
            keeps_first_call,
            calls_content_reasoning,
            drops_calls,
        )
    }
)
"""All of them by name."""


def normalised(said: Said, names: Iterable[str]) -> tuple[Said, list[str]]:
    """Returns what is left of a turn after some normalisations, and the names of those that changed it.

    >>> normalised(Said(content=" Hi "), ["trims_content", "drops_reasoning"])
    (Said(content='Hi', reasoning_content='', tool_calls=()), ['trims_content'])
    """
    used = []
    for name in names:
        after = NORMALISATIONS[name](said)
        if after != said:
            used.append(name)
        said = after
    return said, used
