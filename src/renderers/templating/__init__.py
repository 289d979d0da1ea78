"""Run Jinja chat templates with provenance: each character of the output is attributed to a message and a field."""

from __future__ import annotations

from renderers.templating.limits import LIMITS, Limits, TemplateLimits
from renderers.templating.template import ChatTemplate

__all__ = ["LIMITS", "ChatTemplate", "Limits", "TemplateLimits"]
