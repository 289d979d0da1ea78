"""`Grammar`: how a model writes a turn, as a frozen record. Texts only: what of it is tokens, a vocabulary says."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["SPACES", "Edges", "Grammar", "Pair", "ReasoningFormat"]

SPACES = " \t\n\r\x0b\x0c"

Pair = tuple[str, str]
"""The marker that opens something, and the one that closes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edges:
    """What is taken off the ends of a field: padding that a format writes, and what a template trims.

    Padding is taken off once where it is there, and is never required.

    >>> Edges(trail="\\n").end_in("Look:\\n\\n", 0, 7)
    6
    """

    lead: str = ""
    """Padding before the field."""
    trail: str = ""
    """Padding after it."""
    left: str = ""
    """Characters that are trimmed from its beginning."""
    right: str = ""
    """Characters that are trimmed from its end."""

    def end_in(self, text: str, start: int, end: int) -> int:
        """Returns where a field ends that goes up to `end`, without what is taken off."""
        if self.trail and text.endswith(self.trail, start, end):
            end -= len(self.trail)
        return _end_without(self.right, text, max(start, end - MOST_TRIMMED), end) if self.right else end

    def sure_in(self, text: str, start: int, end: int) -> int:
        """Returns up to where a field goes that is not known to end at `end`, wherever it ends."""
        most = len(self.trail) + (MOST_TRIMMED if self.right else 0)
        return _end_without(self.right + self.trail, text, max(start, end - most), end) if most else end


MOST_TRIMMED = 256
"""How many characters are trimmed from an end at most: nobody waits for the end of a text of nothing but space."""


def _end_without(characters: str, text: str, start: int, end: int) -> int:
    while end > start and text[end - 1] in characters:
        end -= 1
    return end


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningFormat:
    """The markers around reasoning."""

    markers: Pair
    edges: Edges = field(default_factory=Edges)
    after: str = ""
    """Padding between the marker that closes it and what follows."""
    after_empty: str = ""
    """The same, where there is no reasoning between the markers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """How a turn is written, from its header to its stop token.

    >>> Grammar(header="<|im_start|>assistant\\n", tools="hermes").reasoning is None
    True
    """

    header: str = ""
    """What the prompt opens a turn with, without reasoning that it may open as well."""
    lead: str = ""
    """Padding between the header and what the turn begins with."""
    reasoning: ReasoningFormat | None = None
    content: Edges = field(default_factory=Edges)
    """The ends of content that is all of a turn, or its last part."""
    content_before_calls: Edges = field(default_factory=Edges)
    """The ends of content that tool calls follow."""
    tools: str | None = None
    """The key of the syntax of tool calls."""
    section: Pair | None = None
    """The markers around all calls of a turn."""
    call: Pair | None = None
    """The markers around each call."""
    assumes_reasoning: bool = False
    """Without a prompt a completion is taken to begin within reasoning."""
