"""The known differences, by topic."""

from __future__ import annotations

from dataclasses import dataclass

from scripts.compare.entries import accepted_input, attribution, bridging, facts, ids, parsing
from scripts.compare.entries.base import Entry

__all__ = ["TOPICS", "Entry", "Topic"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A section of the table of differences."""

    title: str
    entries: tuple[Entry, ...]


TOPICS = (
    Topic(title="Input", entries=accepted_input.ENTRIES),
    Topic(title="Ids", entries=ids.ENTRIES),
    Topic(title="Masks and message indices", entries=attribution.ENTRIES),
    Topic(title="Parsing", entries=parsing.ENTRIES),
    Topic(title="Bridging", entries=bridging.ENTRIES),
    Topic(title="Properties", entries=facts.ENTRIES),
)
