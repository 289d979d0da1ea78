"""Chat templates, run with provenance."""

from __future__ import annotations

from renderers.templating.limits import LIMITS, Limits, TemplateLimits
from renderers.templating.template import ChatTemplate

__all__ = ["LIMITS", "ChatTemplate", "Limits", "TemplateLimits"]
