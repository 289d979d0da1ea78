"""Running a chat template with provenance."""

from __future__ import annotations

from renderers.trace.template import ChatTemplate

__all__ = ["ChatTemplate"]
