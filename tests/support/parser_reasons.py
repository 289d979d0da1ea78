"""The reasons of differences between our reading of a completion and that of vLLM's parsers.

A reason is a fact about the two readings that can be checked, and a text for the table. A reason that explains no
recorded case is an error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.support.parser_agreement import Outcome

__all__ = ["REASONS", "Reason"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """A reason to read completions of some formats in another way than vLLM."""

    key: str
    text: str
    holds: Callable[[Outcome], bool]
    """Return True for an outcome that the reason explains."""
    formats: tuple[str, ...] = ()
    """The formats that it is about. Default: all."""

    def applies(self, outcome: Outcome) -> bool:
        """Return True if the reason explains a difference."""
        return (not self.formats or outcome.case.format in self.formats) and self.holds(outcome)


REASONS: tuple[Reason, ...] = (
    Reason(
        key="harmony-headers",
        text="A header that no marker ends is skipped, with its reason. vLLM returns it as text of the answer.",
        holds=lambda outcome: "<|channel|>" in outcome.expected.content and "<|" not in outcome.actual.content,
        formats=("harmony",),
    ),
    Reason(
        key="harmony-built-in-tools",
        text="A message to a built-in tool is a call. vLLM leaves it out of the message, because its server runs it.",
        holds=lambda outcome: {call[0] for call in outcome.actual.tool_calls} == {"browser"},
        formats=("harmony",),
    ),
)
"""All reasons. The first one that applies counts."""
