"""Chat templates, run with provenance."""

from __future__ import annotations

from renderers.trace.budget import LIMITS, Limits
from renderers.trace.template import ChatTemplate

__all__ = ["LIMITS", "ChatTemplate", "Limits"]
