"""What a template may use up: steps and characters, counted before they are spent.

A template is a program of somebody else's. Nothing can stop a single call into C, so every operation that can make much
out of little says beforehand how much it will make.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass

from renderers.errors import TemplateLimitError

_EACH = 16
"""How often a template may do something for each pair of messages."""
_MANY = 1_000
"""From about how many messages on a template that goes through all of them for each takes seconds by itself."""
_OFTEN = 256
"""After how many steps the clock is looked at."""
_LARGE = 2**20
"""After how many characters the clock is looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateLimits:
    """What one run of a template may use at most, and how large its text may be."""

    steps: int = 2_000_000
    """Iterations, calls, filters and pieces of output."""
    characters: int = 2**28
    """Characters of all strings that it makes; an item of a list counts as 64."""
    bits: int = 2**16
    """Bits of one number."""
    seconds: float = 30
    """Time of the thread that runs it; looked at between operations, as none can be interrupted."""
    source: int = 2**18
    """Characters of the template's own text."""
    nesting: int = 100
    """Blocks and brackets of the template's own text that are open at the same time."""
    range: int = 100_000
    """Numbers that one `range` gives."""


LIMITS = TemplateLimits()

Limits = TemplateLimits
"""The name of `TemplateLimits` in earlier releases."""


class Budget:
    """What one run has used so far.

    Some templates go through all messages for each of them, or write a text anew for each. So a long
    conversation gets more, for as many messages as there are: `messages` says how many, `size` how long
    they are, and is asked only where the limit alone does not do.
    """

    __slots__ = ("_began", "_extended", "_left", "_look_again", "_messages", "_more_steps", "_size", "_steps", "limits")

    def __init__(self, limits: TemplateLimits, *, messages: int = 0, size: Callable[[], int] = int) -> None:
        self.limits = limits
        self._messages = messages
        self._size = functools.cache(size)
        self._began = time.thread_time()
        self._steps = self._more_steps = 0
        self._left = self._look_again = limits.characters
        self._extended = False

    def tick(self, count: int = 1) -> None:
        """Counts steps before they are taken."""
        self._steps += count
        if self._steps > self._more_steps:
            self._look_at_steps()

    def _look_at_steps(self) -> None:
        # A step for every character, as some templates go through texts letter by letter.
        if self._steps > self.limits.steps and (
            self._steps > self.limits.steps + _EACH * self._messages**2 + self._size()
        ):
            raise TemplateLimitError("steps", self.limits.steps)
        self._look_at_clock()
        self._more_steps = self._steps + _OFTEN

    def charge(self, size: int) -> None:
        """Counts characters before they are made."""
        self.check_size(size)
        self._left -= size
        if self._left < self._look_again:
            self._look_at_characters()

    def _look_at_characters(self) -> None:
        if self._left < 0 and not self._extended:
            self._left += _EACH * self._messages * self._size()
            self._extended = True
        if self._left < 0:
            raise TemplateLimitError("characters", self.limits.characters)
        self._look_at_clock()
        self._look_again = max(self._left - _LARGE, 0)

    def _look_at_clock(self) -> None:
        # The time of this thread alone: that others are busy is not the template's fault.
        most = self.limits.seconds * (1 + (self._messages / _MANY) ** 2)
        if time.thread_time() - self._began > most:
            raise TemplateLimitError("seconds", self.limits.seconds)

    def check_bits(self, bits: int) -> None:
        """Refuses a number that is too large."""
        if bits > self.limits.bits:
            raise TemplateLimitError("bits", self.limits.bits)

    def check_size(self, size: int) -> None:
        """Refuses a single thing that is too large."""
        if size > self.limits.characters:
            raise TemplateLimitError("characters", self.limits.characters)
