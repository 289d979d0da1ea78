"""The values of a renderer's options, the default date, and the rules of other packages for sampled text."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

ContentTokens = Literal["template", "text", "refuse"]
"""How special-token text in messages is encoded: as the template's text is, as ordinary text, or an error is raised."""

BpeEngineName = Literal["auto", "tokenizers", "native"]
"""The engine that encodes text: the one in C once its tables are worth their compilation, or the named one."""

Prefill = Literal["template", "kept"]
"""Whether empty reasoning of a generation prompt stays in the history: as the template decides, or always."""

NoneContent = Literal["omitted", "as_template"]
"""How the value None of a message field is passed to a template that would write it as a word: in a form that it writes
as nothing, or as None."""

ThinkingRetention = Literal["tool_cycle", "all"]
"""Which reasoning a bridge keeps in the history: up to the next user message, or all."""


def check_choice(name: str, value: object, choices: Sequence[object]) -> None:
    """Raise a `ValueError` if the value of an option is not one of its choices.

    >>> check_choice("prefill", "never", ("template", "kept"))
    Traceback (most recent call last):
    ValueError: prefill must be one of 'template', 'kept', not 'never'
    """
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, not {value!r}")


DEFAULT_DATE = datetime.datetime(2024, 7, 26)
"""The time that `strftime_now` gives by default. A fixed one, so that ids do not depend on the day."""


@dataclass(frozen=True, slots=True, init=False)
class SamplingConventions:
    """Differences from the default rule, by which everything between a turn's header and its stop token is sampled.

    Only text around the bodies is affected. The ids are not.

    >>> SamplingConventions(sampled_from="<think>")
    SamplingConventions(sampled_from='<think>', prompted=None)
    """

    sampled_from: str | None
    """Text of the header that counts as sampled, with all that follows: reasoning that the generation prompt opens."""
    prompted: str | None
    """A pattern (of `re`) for text of a turn that counts as part of the prompt: a line break after the header."""

    def __init__(
        self, *, sampled_from: str | None = None, prompted: str | None = None, given: str | None = None
    ) -> None:
        """`given` is the older name of `prompted`."""
        if sampled_from == "":
            raise ValueError("sampled_from is a text of the header, such as '<think>', and cannot be empty")
        pattern = given if prompted is None else prompted
        try:
            re.compile(pattern or "")
        except re.error as error:
            raise ValueError(f"prompted is not a pattern: {error}") from error
        object.__setattr__(self, "sampled_from", sampled_from)
        object.__setattr__(self, "prompted", pattern)

    @property
    def given(self) -> str | None:
        """The older name of `prompted`."""
        return self.prompted


Conventions = SamplingConventions
"""The older name of `SamplingConventions`."""
