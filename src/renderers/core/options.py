"""The values of a renderer's options, and the default date."""

from __future__ import annotations

import datetime
from typing import Literal

__all__ = ["DEFAULT_DATE", "ContentTokens", "Prefill", "ThinkingRetention"]

ContentTokens = Literal["template", "text", "refuse"]
"""How special-token text in messages is encoded: as the template's text is, as ordinary text, or not at all."""

Prefill = Literal["template", "kept"]
"""Whether empty reasoning of a generation prompt stays in the history: as the template decides, or always."""

ThinkingRetention = Literal["tool_cycle", "all"]
"""Which reasoning a bridge keeps in the history: up to the next user message, or all."""

DEFAULT_DATE = datetime.datetime(2024, 7, 26)
"""The time that `strftime_now` gives by default. A fixed one, so that ids do not depend on the day."""
