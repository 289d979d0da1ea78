"""The shapes that say where rendered text came from."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Path", "Span", "Trace"]

Path = tuple[str | int, ...]
"""Where in a message a text stands: `("content",)`, `("tool_calls", 0, "function", "name")`; empty for no field."""


@dataclass(frozen=True, slots=True)
class Span:
    """A run of characters with one owner: a message's number and a field in it.

    Message -1 is nobody's; an empty path is text of the template's own.
    """

    start: int
    end: int
    message: int
    path: Path


@dataclass(frozen=True, slots=True)
class Trace:
    """A rendered text and the owners of all its characters.

    Spans are in order and leave no gap. Neighbours have different owners, and a span may be empty: a field
    that was rendered to nothing still has its place.
    """

    text: str
    spans: tuple[Span, ...]
