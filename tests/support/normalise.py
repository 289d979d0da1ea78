"""The losses of messages that are rendered and parsed back, as named functions.

Each function returns an assistant turn as a template with that loss writes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any


@dataclass(frozen=True, slots=True)
class AssistantTurn:
    """The fields of an assistant turn. Tool calls are pairs of a name and arguments."""

    content: str = ""
    reasoning_content: str = ""
    tool_calls: tuple[tuple[str, Any], ...] = ()


def trims_content(turn: AssistantTurn) -> AssistantTurn:
    """The template trims content."""
    return replace(turn, content=turn.content.strip())


def trims_content_before_calls(turn: AssistantTurn) -> AssistantTurn:
    """The template trims content before calls."""
    return trims_content(turn) if turn.tool_calls else turn


def trims_end_of_content(turn: AssistantTurn) -> AssistantTurn:
    """The template trims the end of content."""
    return replace(turn, content=turn.content.rstrip())


def trims_lines_before_content(turn: AssistantTurn) -> AssistantTurn:
    """The template trims line breaks before content."""
    return replace(turn, content=turn.content.lstrip("\n"))


def trims_reasoning(turn: AssistantTurn) -> AssistantTurn:
    """The template trims reasoning."""
    return replace(turn, reasoning_content=turn.reasoning_content.strip())


def trims_lines_around_reasoning(turn: AssistantTurn) -> AssistantTurn:
    """The template trims line breaks around reasoning."""
    return replace(turn, reasoning_content=turn.reasoning_content.strip("\n"))


def drops_blank_reasoning(turn: AssistantTurn) -> AssistantTurn:
    """The template writes no blank reasoning."""
    return turn if turn.reasoning_content.strip() else replace(turn, reasoning_content="")


def drops_reasoning(turn: AssistantTurn) -> AssistantTurn:
    """The template writes no reasoning."""
    return replace(turn, reasoning_content="")


def drops_reasoning_without_calls(turn: AssistantTurn) -> AssistantTurn:
    """The template writes reasoning only before calls."""
    return turn if turn.tool_calls else replace(turn, reasoning_content="")


def drops_content_with_calls(turn: AssistantTurn) -> AssistantTurn:
    """The template writes no content if there are calls."""
    return replace(turn, content="") if turn.tool_calls else turn


def drops_calls(turn: AssistantTurn) -> AssistantTurn:
    """The template writes no calls."""
    return replace(turn, tool_calls=())


NORMALISATIONS: MappingProxyType[str, Callable[[AssistantTurn], AssistantTurn]] = MappingProxyType(
    {
        function.__name__: function
        for function in (
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
            drops_calls,
        )
    }
)
"""All losses by name."""


def normalised(turn: AssistantTurn, names: Iterable[str]) -> tuple[AssistantTurn, list[str]]:
    """Return a turn after some losses, and the names of those that changed it.

    >>> normalised(AssistantTurn(content=" Hi "), ["trims_content", "drops_reasoning"])
    (AssistantTurn(content='Hi', reasoning_content='', tool_calls=()), ['trims_content'])
    """
    used = []
    for name in names:
        after = NORMALISATIONS[name](turn)
        if after != turn:
            used.append(name)
        turn = after
    return turn, used
