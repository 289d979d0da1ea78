"""`CompletionVariants`: how completions differ from the turns that a chat template writes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionVariants:
    """How completions of a family's models differ from the turns that its templates write.

    A rule that is None is that of the tool-call format.
    """

    reasoning: tuple[str, str] | None = None
    """The markers around reasoning, if templates of the family write none."""
    reasoning_lead: str = ""
    """The text after the opening marker that is not reasoning."""
    reasoning_anywhere: bool = False
    """Reasoning can also follow content and calls, if its opening marker is a token."""
    ends_reasoning: bool | None = None
    """A call within reasoning ends it, unless the closing marker follows later."""
    keeps_text: bool | None = None
    """Text after a call is content. Otherwise it is skipped."""


AS_TEMPLATE = CompletionVariants()
"""Completions are like the turns that the template writes."""
