"""Limits on the work of a chat template. Steps and characters are charged before they are spent.

Templates are untrusted programs, and a single call into C cannot be interrupted. Every operation with a result that
can be much larger than its inputs is therefore charged before it runs, with an upper bound on the size of the result.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

from renderers.errors import TemplateLimitError

_PER_MESSAGE_PAIR = 16
"""Extra steps for each pair of messages, and extra copies of the conversation for each message."""
_SLOW_CONVERSATION = 1_000
"""The number of messages from which a template with quadratic work needs seconds by itself."""
_STEPS_PER_CLOCK_CHECK = 256
_CHARACTERS_PER_CLOCK_CHECK = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateLimits:
    """Upper bounds on a chat template and on the work of one run."""

    steps: int = 2_000_000
    """Loop iterations, calls, filters and pieces of output."""
    characters: int = 2**28
    """Characters of all strings that are created. A list item counts as 64."""
    bits: int = 2**16
    """Bits of one integer."""
    seconds: float = 30
    """CPU time of the running thread. Checked between operations, as none can be interrupted."""
    source: int = 2**18
    """Characters of the template source."""
    nesting: int = 100
    """Depth of nested blocks and brackets in the template source."""
    range: int = 100_000
    """Length of one `range`."""


LIMITS = TemplateLimits()

Limits = TemplateLimits
"""The name of `TemplateLimits` in earlier releases."""


class Budget:
    """The steps, characters and seconds that one run has used.

    Some templates loop over all messages for each message, or rebuild a string for each. The limits therefore grow
    with the conversation: `messages` is the number of messages, `size` returns their length in characters. It is
    called only once a limit is exceeded.
    """

    __slots__ = (
        "_characters_left",
        "_extended",
        "_messages",
        "_next_character_check",
        "_next_step_check",
        "_size",
        "_started",
        "_steps",
        "limits",
    )

    def __init__(self, limits: TemplateLimits, *, messages: int = 0, size: Callable[[], int] = int) -> None:
        self.limits = limits
        self._messages = messages
        self._size = size
        self._started: float | None = None
        self._steps = 0
        self._next_step_check = _STEPS_PER_CLOCK_CHECK
        self._characters_left = characters = limits.characters
        # A short run does not read the clock, which is a system call. The result of `_check_below`, at less cost.
        unchecked = _CHARACTERS_PER_CLOCK_CHECK if limits.seconds > 0 else 0
        self._next_character_check = characters - unchecked if characters > unchecked else 0
        self._extended = False

    def tick(self, count: int = 1) -> None:
        """Charge steps before they are taken.

        Raises:
            TemplateLimitError: There are too many steps, or the time is up.
        """
        self._steps += count
        if self._steps > self._next_step_check:
            self._check_steps()

    def _check_steps(self) -> None:
        # One more step per character, as some templates loop over the characters of a text.
        if self._steps > self.limits.steps and (
            self._steps > self.limits.steps + _PER_MESSAGE_PAIR * self._messages**2 + self._size()
        ):
            self.exceeded("steps")
        self._check_clock()
        self._next_step_check = self._steps + _STEPS_PER_CLOCK_CHECK

    def charge(self, size: int) -> None:
        """Charge characters before they are created.

        Raises:
            TemplateLimitError: There are too many characters, or the time is up.
        """
        left = self._characters_left - size
        if left < self._next_character_check:
            self.check_size(size)
            self._characters_left = left
            self._check_characters()
        else:
            self._characters_left = left

    def _check_characters(self) -> None:
        if self._characters_left < 0 and not self._extended:
            self._characters_left += _PER_MESSAGE_PAIR * self._messages * self._size()
            self._extended = True
        if self._characters_left < 0:
            self.exceeded("characters")
        self._check_clock()
        self._next_character_check = self._check_below(self._characters_left)

    def _check_below(self, left: int) -> int:
        """Return the number of characters left below which a check is due. Each value that is too large causes one."""
        return max(left - min(_CHARACTERS_PER_CLOCK_CHECK, self.limits.characters), 0)

    def _check_clock(self) -> None:
        # Thread time, so that other busy threads do not count against the template. It is read for the first time at
        # the first check, as most runs have only one.
        now = time.thread_time()
        if self._started is None:
            self._started = now
        allowed = self.limits.seconds * (1 + (self._messages / _SLOW_CONVERSATION) ** 2)
        if now - self._started > allowed:
            self.exceeded("seconds")

    def exceeded(self, limit: str) -> NoReturn:
        """Raise TemplateLimitError for a limit."""
        raise TemplateLimitError(limit, getattr(self.limits, limit))

    def check_bits(self, bits: int) -> None:
        """Raise TemplateLimitError if an integer of `bits` bits is too large."""
        if bits > self.limits.bits:
            self.exceeded("bits")

    def check_size(self, size: int) -> None:
        """Raise TemplateLimitError if a single value of `size` characters is too large."""
        if size > self.limits.characters:
            self.exceeded("characters")
