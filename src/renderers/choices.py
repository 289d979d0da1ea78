"""The words that options of a renderer are given as."""

from __future__ import annotations

from typing import Literal

__all__ = ["ContentTokens", "Prefill", "ThinkingRetention"]

ContentTokens = Literal["template", "text", "refuse"]
"""What becomes of control text in what callers give: what the template makes of it, ordinary text, or an error."""

Prefill = Literal["template", "kept"]
"""What becomes of empty reasoning that the prompt wrote, in the history: what the template does, or it is kept."""

ThinkingRetention = Literal["tool_cycle", "all"]
"""What of the reasoning in a history a bridge keeps: up to the user's next message, or all of it."""
