"""Where others draw the borders of what a model samples."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["Conventions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conventions:
    """What counts as sampled other than by our rule: what follows a turn's exact head, up to its stop token.

    Only the text around the bodies is affected. The ids are not.

    >>> Conventions(sampled_from="<think>")
    Conventions(sampled_from='<think>', given=None)
    """

    sampled_from: str | None = None
    """Text of a head that counts as sampled, and so does what follows: reasoning that the generation prompt opens."""
    given: str | None = None
    """A pattern (of `re`) for text of a turn that counts as given: a line break after the head, a channel's header."""

    def __post_init__(self) -> None:
        if self.sampled_from == "":
            raise ValueError("sampled_from is a text of the head, such as '<think>', and cannot be empty")
        try:
            re.compile(self.given or "")
        except re.error as error:
            raise ValueError(f"given is not a pattern: {error}") from error
