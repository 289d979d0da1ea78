"""The sizes of all benchmarks."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The number of rounds and the sizes of workloads."""

    rounds: int = 7
    items: int = 200
    """The chats or completions of a round."""
    turns: int = 50
    """The turns of a long conversation."""
    first_items: int = 2_000
    """The chats of a new process."""
    most_messages: int = 10_000
    """The messages of the longest conversation, of about 110 tokens each."""
    longest_completion: int = 100_000


QUICK = Options(rounds=2, items=20, turns=10, first_items=50, most_messages=100, longest_completion=10_000)
"""For development: the numbers mean nothing."""
