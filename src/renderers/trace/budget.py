"""What a template may use up: steps and characters, counted before they are spent.

A template is a program of somebody else's. Nothing can stop a single call into C, so every operation that can make much
out of little says beforehand how much it will make.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

from renderers.errors import TemplateLimitError

__all__ = ["LIMITS", "Budget", "Limits"]

_EACH = 16
"""How often a template may do something for each pair of messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one run of a template may use at most, and how large its text may be."""

    steps: int = 5_000_000
    """Iterations, calls, filters and pieces of output."""
    characters: int = 2**28
    """Characters of all strings that it makes; an item of a list counts as 64."""
    bits: int = 2**16
    """Bits of one number."""
    source: int = 2**20
    """Characters of the template's own text."""
    nesting: int = 100
    """Blocks and brackets of the template's own text that are open at the same time."""
    range: int = 100_000
    """Numbers that one `range` gives."""


LIMITS = Limits()


class Budget:
    """What one run has used so far.

    Some templates go through all messages for each of them, or write a text anew for each. So a long
    conversation gets more, for as many messages as there are: `messages` says how many, `size` how long
    they are, and is asked only where the limit alone does not do.
    """

    __slots__ = ("_extended", "_left", "_messages", "_most_steps", "_size", "_steps", "limits")

    def __init__(self, limits: Limits, *, messages: int = 0, size: Callable[[], int] = int) -> None:
        self.limits = limits
        self._messages = messages
        self._size = functools.cache(size)
        self._steps = 0
        self._most_steps = limits.steps
        self._left = limits.characters
        self._extended = False

    def step(self, count: int = 1) -> None:
        """Counts steps before they are taken."""
        self._steps += count
        if self._steps > self._most_steps and self._steps > self._all_steps():
            raise TemplateLimitError("steps", self.limits.steps)

    def _all_steps(self) -> int:
        # A step for every character, as some templates go through texts letter by letter.
        self._most_steps = self.limits.steps + _EACH * self._messages**2 + self._size()
        return self._most_steps

    def grow(self, size: int) -> None:
        """Counts characters before they are made."""
        self.check(size)
        self._left -= size
        if self._left < 0 and not self._extended:
            self._left += _EACH * self._messages * self._size()
            self._extended = True
        if self._left < 0:
            raise TemplateLimitError("characters", self.limits.characters)

    def number(self, bits: int) -> None:
        """Refuses a number that is too large."""
        if bits > self.limits.bits:
            raise TemplateLimitError("bits", self.limits.bits)

    def check(self, size: int) -> None:
        """Refuses a single thing that is too large."""
        if size > self.limits.characters:
            raise TemplateLimitError("characters", self.limits.characters)
