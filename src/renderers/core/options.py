"""The words that options of a renderer are given as, and the date that is told by default."""

from __future__ import annotations

import datetime
from typing import Literal

__all__ = ["DEFAULT_DATE", "ContentTokens", "Prefill", "ThinkingRetention"]

ContentTokens = Literal["template", "text", "refuse"]
"""What becomes of control text in what callers give: what the template makes of it, ordinary text, or an error."""

Prefill = Literal["template", "kept"]
"""What becomes of empty reasoning that the prompt wrote, in the history: what the template does, or it is kept."""

ThinkingRetention = Literal["tool_cycle", "all"]
"""What of the reasoning in a history a bridge keeps: up to the user's next message, or all of it."""

DEFAULT_DATE = datetime.datetime(2024, 7, 26)
"""What templates that ask for the time are told where nobody says: never the day on which a process was started."""
